"""Folders and files that only their owner can read."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

__all__ = ["FILE", "close_below", "close_to_others", "make_private"]

_log = logging.getLogger("gateleg.objects")
#: Modes of what is made: for the owner alone.
FOLDER, FILE = 0o700, 0o600


def make_private(folder: Path) -> None:
    """Make a folder that only its owner can enter, or close one that is there to others.

    A folder that others may have to enter stays as it is: a shared one (`/tmp`), the working folder or one above it, somebody's home.
    """
    if not folder.exists():
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
    elif not _is_shared(folder):
        close_to_others(folder, FOLDER)


def close_to_others(path: Path, mode: int) -> None:
    """Take a path's permissions for others away, if it has any and is ours, and say so in the log."""
    try:
        found = path.stat()
        if stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.getuid():
            path.chmod(mode)
            _log.warning("%s could be read by other users of this machine; it is closed to them now.", path)
    except (OSError, AttributeError) as error:
        # A file system, or a system, without such permissions.
        _log.debug("The permissions of %s stay as they are: %s", path, error)


def close_below(folder: Path) -> None:
    """Take the permissions of others from all that is below a folder, and say so once in the log. Links are not followed."""
    closed = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        for names, mode in ((folders, FOLDER), (files, FILE)):
            for name in names:
                closed += _close(os.path.join(place, name), mode)
    if closed:
        _log.warning("%d files and folders in %s could be read by other users; they are closed to them now.", closed, folder)


def _close(path: str, mode: int) -> bool:
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or not stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.getuid():
            return False
        os.chmod(path, mode)
    except (OSError, AttributeError):
        # It is gone meanwhile; or a file system, or a system, without such permissions.
        return False
    return True


def _is_shared(folder: Path) -> bool:
    place, here = folder.resolve(), Path.cwd()
    return place in (here, *here.parents, Path.home()) or bool(place.stat().st_mode & stat.S_ISVTX)
