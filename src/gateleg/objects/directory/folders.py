"""Folders that are open by descriptor, so that names are resolved in the folder itself, not along a path that could be redirected.

Symbolic links are not followed. On systems that cannot resolve names in an open folder (Windows), paths are joined and checked for links.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, Self

from gateleg.objects.errors import OutsideRoot
from gateleg.objects.private import FILE, FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence

_BY_DESCRIPTOR = {os.open, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd and os.listdir in os.supports_fd
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
#: Without O_NONBLOCK, a pipe that somebody put into the folder would block its reader for ever.
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
#: An invalid descriptor, which the system refuses; None would mean to resolve the path instead.
_MARKER = -1
_ASTRAY = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})


def sync(descriptor: int) -> None:
    """Flush written data to the disk."""
    if sys.platform == "darwin":  # pragma: no cover
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


class Folder:
    """An open folder of the store."""

    __slots__ = ("_fd", "_path")

    def __init__(self, path: str, *, by_descriptor: bool = _BY_DESCRIPTOR) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDONLY | _DIRECTORY) if by_descriptor else None

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode, which change if the folder is replaced by another one."""
        found = os.stat(self._path if self._fd is None else self._fd)
        return found.st_dev, found.st_ino

    def enter(self, name: str) -> Folder:
        """Open a folder within this one. Raises `FileNotFoundError`."""
        inner = object.__new__(Folder)
        inner._path = os.path.join(self._path, name)
        if self._fd is None:
            found = os.lstat(inner._path)
            if not stat.S_ISDIR(found.st_mode):
                raise OutsideRoot(f"{inner._path} is not a folder.")
            inner._fd = None
            return inner
        try:
            inner._fd = os.open(name, os.O_RDONLY | _DIRECTORY | _NO_LINKS, dir_fd=self._fd)
        except OSError as error:
            raise self._outside_root(error, name) from None
        return inner

    def descend(self, names: Sequence[str]) -> Folder:
        """Open a folder further down, or this one if `names` is empty. The caller closes it."""
        folder = self.reopen()
        for name in names:
            with folder:
                folder = folder.enter(name)
        return folder

    def reopen(self) -> Folder:
        """Open this folder a second time, to be closed separately."""
        other = object.__new__(Folder)
        other._path = self._path
        other._fd = None if self._fd is None else os.dup(self._fd)
        return other

    def make(self, name: str) -> None:
        """Create a folder unless it exists."""
        try:
            os.mkdir(self._at(name), FOLDER, dir_fd=self._fd)
        except FileExistsError:
            return

    def create(self, name: str, mode: int = FILE) -> int:
        """Create a file and open it for writing."""
        return os.open(self._at(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS | _BINARY, mode, dir_fd=self._fd)

    def read(self, name: str) -> int:
        """Open a file for reading. Raises `FileNotFoundError`; anything but a regular file is refused."""
        try:
            if not _NO_LINKS and os.path.islink(self._at(name)):
                raise OutsideRoot(f"{os.path.join(self._path, name)} is not a file.")
            descriptor = os.open(self._at(name), os.O_RDONLY | _NO_LINKS | _NO_WAITING | _BINARY, dir_fd=self._fd)
        except OSError as error:
            raise self._outside_root(error, name) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OutsideRoot(f"{os.path.join(self._path, name)} is not a file.")
        return descriptor

    def move_in(self, source: Folder, name: str, new: str) -> None:
        """Move a file from another folder into this one, replacing a file of the same name."""
        os.replace(source._at(name), self._at(new), src_dir_fd=source._fd, dst_dir_fd=self._fd)

    def move_in_if_absent(self, source: Folder, name: str, new: str) -> bool:
        """Move a file from another folder into this one unless the name is taken. Returns whether it was moved."""
        moved = True
        try:
            os.link(source._at(name), self._at(new), src_dir_fd=source._fd, dst_dir_fd=self._fd)
        except FileExistsError:
            moved = False
        except FileNotFoundError:
            raise
        except OSError:
            # The file system has no hard links: of two concurrent writers, the last one wins.
            if new in self.names():
                moved = False
            else:
                self.move_in(source, name, new)
                return True
        source.remove(name)
        return moved

    def names(self) -> list[str]:
        """The names in the folder, unordered."""
        if self._fd is None:
            return os.listdir(self._path)
        # Duplicated descriptors share their position in the folder: threads that list it concurrently would each miss names.
        descriptor = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=self._fd)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)

    def modified(self, name: str) -> float:
        """The modification time of a file, in epoch seconds."""
        return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False).st_mtime

    def remove(self, name: str) -> None:
        """Remove a file. Raises `FileNotFoundError`."""
        os.unlink(self._at(name), dir_fd=self._fd)

    def remove_folder(self, name: str) -> bool:
        """Remove a folder if it is empty. Returns whether it no longer exists."""
        try:
            os.rmdir(self._at(name), dir_fd=self._fd)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def sync(self) -> None:
        """Flush the folder's names to the disk. Windows has no equivalent."""
        if self._fd is not None:
            sync(self._fd)

    def close(self) -> None:
        if self._fd is not None and self._fd >= 0:
            os.close(self._fd)
            self._fd = _MARKER

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name) if self._fd is None else name

    def _outside_root(self, error: OSError, name: str) -> Exception:
        if error.errno in _ASTRAY:
            return OutsideRoot(f"{os.path.join(self._path, name)} is a link, or was not created by this store.")
        return error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()
