"""Folders and files that only their owner can read."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

__all__ = ["FILE", "close_to_others", "make_private"]

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


def _is_shared(folder: Path) -> bool:
    place, here = folder.resolve(), Path.cwd()
    return place in (here, *here.parents, Path.home()) or bool(place.stat().st_mode & stat.S_ISVTX)
