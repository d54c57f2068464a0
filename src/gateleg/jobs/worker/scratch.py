"""Scratch folders: temporary folders of attempts, which are removed when the attempt ends.

    <root>/<worker>.lock            locked by the worker while it lives
    <root>/<worker>/<job>.<claim>/  the folder of an attempt

The operating system releases the lock when the worker ends, however it ends. This tells other workers which folders are abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.jobs.tables.job import Job

#: The age at which folders are removed on a file system without locks, where other workers cannot tell whether their worker lives.
MAX_AGE_SECONDS = 7 * 86_400.0


def default_root() -> Path:
    """The default root of scratch folders, in the system's temporary folder: one for each user."""
    return Path(tempfile.gettempdir()) / f"gateleg-scratch-{os.getuid()}"


class ScratchFolders:
    """The scratch folders of one worker. `name` is unique among the workers that share the root."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root.absolute()
        self._name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
        self._lock = threading.Lock()
        self._lock_file_descriptor: int | None = None
        self._used: set[Path] = set()

    @property
    def _folder(self) -> Path:
        return self.root / self._name

    def make(self, job: Job) -> Path:
        """Create the folder of an attempt and return it."""
        folder = self._folder / f"{job.job_id}.{job.attempt}"
        with self._lock:
            if self._lock_file_descriptor is None:
                self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Lock before the folder exists, so that no other worker considers it abandoned.
                self._lock_file_descriptor = _locked(self._lock_file(self._folder), wait=True)
                self._folder.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            self._used.add(folder)
        return folder

    def remove(self, folder: Path) -> None:
        """Remove the folder of an attempt. If that fails, a later sweep removes the rest."""
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            self._used.discard(folder)

    def sweep(self) -> int:
        """Remove the folders of ended attempts and lost workers, and return how many."""
        removed = 0
        for folder in self._worker_folders():
            if folder == self._folder:
                abandoned = [entry for entry in _entries(folder) if entry not in self._used]
                removed += len(abandoned)
                for entry in abandoned:
                    shutil.rmtree(entry, ignore_errors=True)
            else:
                removed += self._sweep_other(folder)
        return removed

    def _worker_folders(self) -> list[Path]:
        """The folders of all workers, including workers that were killed between creating the lock and the folder."""
        return sorted({entry.with_suffix("") if entry.suffix == ".lock" else entry for entry in _entries(self.root)})

    def _sweep_other(self, folder: Path) -> int:
        lock_file = self._lock_file(folder)
        try:
            lock = _locked(lock_file, wait=False)
        except BlockingIOError:
            return 0
        except OSError:
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > MAX_AGE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
                    return 1
            return 0
        try:
            removed = len(_entries(folder))
            shutil.rmtree(folder, ignore_errors=True)
            lock_file.unlink(missing_ok=True)
            return removed
        finally:
            os.close(lock)

    def _lock_file(self, folder: Path) -> Path:
        return self.root / f"{folder.name}.lock"

    def close(self) -> None:
        """Remove all folders of the worker."""
        with self._lock:
            if self._lock_file_descriptor is None:
                return
            descriptor, self._lock_file_descriptor = self._lock_file_descriptor, None
            shutil.rmtree(self._folder, ignore_errors=True)
            self._lock_file(self._folder).unlink(missing_ok=True)
            os.close(descriptor)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _locked(path: Path, *, wait: bool) -> int:
    """Open and lock a file, and return its descriptor, which child processes do not inherit. Closing it releases the lock."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException as error:
        if wait and isinstance(error, OSError):
            # The file system has no locks: folders are removed by age only.
            return file
        os.close(file)
        raise
    return file
