"""Scratch folders: one for each attempt that wants it, gone when the attempt ends.

    <root>/<worker>.lock            held by the worker while it lives
    <root>/<worker>/<job>.<claim>/  the folder of an attempt

The lock is the system's: it ends with its worker, however that ends, and so tells the next worker which folders are left over.
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

#: Seconds after which folders are removed whose worker cannot be told to be alive, because their file system has no locks.
MAX_AGE = 7 * 86_400.0


def default_root() -> Path:
    """Where scratch folders are unless the worker is given another place: in the system's temporary folder, for each user apart."""
    return Path(tempfile.gettempdir()) / f"gateleg-scratch-{os.getuid()}"


class ScratchFolders:
    """The scratch folders of one worker. `name` is the worker's, unique among all that share the root."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root.absolute()
        self._name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
        self._lock = threading.Lock()
        self._held: int | None = None
        self._used: set[Path] = set()

    @property
    def _own(self) -> Path:
        return self.root / self._name

    def make(self, job: Job) -> Path:
        """The folder of an attempt, empty when it is made first."""
        folder = self._own / f"{job.job_id}.{job.attempt}"
        with self._lock:
            if self._held is None:
                self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Locked before there is a folder, so that nobody takes it for left over.
                self._held = _locked(self._lock_file(self._own), wait=True)
                self._own.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            self._used.add(folder)
        return folder

    def remove(self, folder: Path) -> None:
        """Remove the folder of an attempt with all that is in it. What cannot be removed now is swept later."""
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            self._used.discard(folder)

    def sweep(self) -> int:
        """Remove what attempts and workers that are gone have left behind; how many folders there were."""
        removed = 0
        for place in self._places():
            if place == self._own:
                left = [one for one in _inside(place) if one not in self._used]
                removed += len(left)
                for folder in left:
                    shutil.rmtree(folder, ignore_errors=True)
            else:
                removed += self._sweep_other(place)
        return removed

    def _places(self) -> list[Path]:
        """The folders of all workers; a lock without one is left by a worker that was killed before it made it."""
        return sorted({one.with_suffix("") if one.suffix == ".lock" else one for one in _inside(self.root)})

    def _sweep_other(self, place: Path) -> int:
        lock_file = self._lock_file(place)
        try:
            lock = _locked(lock_file, wait=False)
        except BlockingIOError:
            return 0
        except OSError:
            with contextlib.suppress(OSError):
                if time.time() - place.stat().st_mtime > MAX_AGE:
                    shutil.rmtree(place, ignore_errors=True)
                    return 1
            return 0
        try:
            removed = len(_inside(place))
            shutil.rmtree(place, ignore_errors=True)
            lock_file.unlink(missing_ok=True)
            return removed
        finally:
            os.close(lock)

    def _lock_file(self, place: Path) -> Path:
        return self.root / f"{place.name}.lock"

    def close(self) -> None:
        """Remove all folders of the worker."""
        with self._lock:
            if self._held is None:
                return
            held, self._held = self._held, None
            shutil.rmtree(self._own, ignore_errors=True)
            self._lock_file(self._own).unlink(missing_ok=True)
            os.close(held)


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _locked(path: Path, *, wait: bool) -> int:
    """A file that this process has locked until it is closed. Processes that it starts do not inherit it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException as error:
        if wait and isinstance(error, OSError):
            # A file system without locks: its folders are swept by age alone.
            return file
        os.close(file)
        raise
    return file
