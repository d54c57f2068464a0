"""Files and folders that only their owner can access, whatever the umask. Imports no room.

What Gateleg creates is private from the start: folders have the mode 0700 and files 0600. What exists already is never changed, because it
may be shared on purpose. If other users can access it, that is logged, with the command that ends it; `gateleg doctor` says so too.
"""

from __future__ import annotations

import logging
import os
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["FILE_MODE", "FOLDER_MODE", "exposure", "make_file", "make_folder", "warn_of_exposure", "write_file"]

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_log = logging.getLogger("gateleg.private_files")
#: What has been logged: once in each process.
_warned: set[Path] = set()


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents. Existing folders are left as they are."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            continue  # another process created it first
        folder.chmod(FOLDER_MODE)
    if not path.is_dir():
        raise NotADirectoryError(20, "not a folder", str(path))


def make_file(path: Path) -> None:
    """Create an empty file unless it exists.

    It is created under a temporary name and renamed after closing: closing a file that SQLite has open in this process would release
    SQLite's locks on it.
    """
    if path.exists():
        return
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.fchmod(handle, FILE_MODE)
        os.close(handle)
        with suppress(FileExistsError):
            _name(draft, path)
    finally:
        os.unlink(draft)


def _name(draft: str, path: Path) -> None:
    """Rename a closed file to a name that must be free."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links. Another thread of this process is unlikely to open the same new file at this very moment.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        path.chmod(FILE_MODE)


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, replacing one that may exist."""
    handle, draft = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, FILE_MODE)
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def exposure(path: Path) -> str | None:
    """Who else can access a file or folder of this user, and the command that ends it. None if nobody can, or if others have to."""
    try:
        status = path.stat()
    except OSError:
        return None
    if status.st_uid != os.geteuid() or not status.st_mode & 0o077:
        return None
    if stat.S_ISDIR(status.st_mode):
        if status.st_mode & stat.S_ISVTX or _is_above(path.resolve()):
            return None
        access, private = "enter", FOLDER_MODE
    else:
        access, private = "open", FILE_MODE
    return (
        f"other users of this machine can {access} {path} (mode {status.st_mode & 0o777:04o}). "
        f"Unless that is intended, run: chmod {private:03o} {shlex.quote(str(path))}"
    )


def _is_above(folder: Path) -> bool:
    """Whether others have to enter a folder to reach their own: it is above the working folder or the home folders."""
    return folder in (*Path.cwd().parents, *Path.home().parents, Path(folder.anchor))


def warn_of_exposure(*paths: Path) -> None:
    """Log the existing paths that other users can access, each once."""
    for path in paths:
        text = exposure(path)
        if text is not None and path not in _warned:
            _warned.add(path)
            _log.warning("%s", text[0].upper() + text[1:])
