"""Folders and files that only their owner can read."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

__all__ = ["FILE", "make_private", "restrict_to_owner", "restrict_tree_to_owner"]

_log = logging.getLogger("gateleg.objects")
#: Permissions of created folders and files: accessible to the owner only.
FOLDER, FILE = 0o700, 0o600


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter, or remove the permissions of others from an existing one.

    Folders that others may need are not changed: shared ones (`/tmp`), the working folder, the folders above it, and home folders.
    """
    if not folder.exists():
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
    elif not _is_shared(folder):
        restrict_to_owner(folder, FOLDER)


def restrict_to_owner(path: Path, mode: int) -> None:
    """Remove the permissions of other users from a path that this user owns, and log it."""
    try:
        found = path.stat()
        if stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.getuid():
            path.chmod(mode)
            _log.warning("Removed the permissions of other users from %s: they could read it.", path)
    except (OSError, AttributeError) as error:
        # The file system or the operating system has no such permissions.
        _log.debug("Could not change the permissions of %s: %s", path, error)


def restrict_tree_to_owner(folder: Path) -> None:
    """Remove the permissions of other users from everything below a folder, and log it once. Links are not followed."""
    closed = 0
    for place, folders, files in os.walk(folder, followlinks=False):
        for names, mode in ((folders, FOLDER), (files, FILE)):
            for name in names:
                closed += _restrict(os.path.join(place, name), mode)
    if closed:
        _log.warning("Removed the permissions of other users from %d files and folders in %s: they could read them.", closed, folder)


def _restrict(path: str, mode: int) -> bool:
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or not stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.getuid():
            return False
        os.chmod(path, mode)
    except (OSError, AttributeError):
        # The file was deleted, or the file system or the operating system has no such permissions.
        return False
    return True


def _is_shared(folder: Path) -> bool:
    place, here = folder.resolve(), Path.cwd()
    return place in (here, *here.parents, Path.home()) or bool(place.stat().st_mode & stat.S_ISVTX)
