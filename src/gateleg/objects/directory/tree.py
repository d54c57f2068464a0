"""The folder tree of a store: opens, creates, syncs and removes the folders that contain objects, and keeps the secret that signs links.

Folders are open by descriptor, so that names are resolved in the folder itself, not along a path that could be redirected. Symbolic links
are not followed. On systems that cannot resolve names in an open folder, paths are joined and checked for links.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import threading
from typing import TYPE_CHECKING, Self

from gateleg.objects.errors import OutsideRoot
from gateleg.private_files import FILE_MODE, FOLDER_MODE, make_folder, warn_of_exposure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
        status = os.stat(self._path if self._fd is None else self._fd)
        return status.st_dev, status.st_ino

    def enter(self, name: str) -> Folder:
        """Open a folder within this one. Raises `FileNotFoundError`."""
        inner = object.__new__(Folder)
        inner._path = os.path.join(self._path, name)
        if self._fd is None:
            if not stat.S_ISDIR(os.lstat(inner._path).st_mode):
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
            os.mkdir(self._at(name), FOLDER_MODE, dir_fd=self._fd)
        except FileExistsError:
            return

    def create(self, name: str, mode: int = FILE_MODE) -> int:
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


#: The maximum number of folders to remember as synced. Beyond that, all are forgotten, and each is synced once more.
_MAX_SYNCED_FOLDERS = 10_000
#: Attempts to use a folder that a concurrent deletion keeps removing.
_ATTEMPTS = 100


class Tree:
    """The store's folder: `keys` contains the objects, `incoming` unfinished uploads."""

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        make_folder(root)
        warn_of_exposure(root)
        self.durable = durable
        self.path = os.path.realpath(root)
        self.root = Folder(self.path)
        for name in ("keys", "incoming"):
            self.root.make(name)
        self.keys = self.root.enter("keys")
        self.incoming = self.root.enter("incoming")
        self._synced: dict[tuple[str, ...], tuple[int, int]] = {}
        self._lock = threading.Lock()
        if durable:
            self.root.sync()

    def close(self) -> None:
        for folder in (self.keys, self.incoming, self.root):
            folder.close()

    def open(self, path: Sequence[str]) -> int:
        """Open an object's file for reading. Raises `FileNotFoundError`."""
        with self.keys.descend(path[:-1]) as folder:
            return folder.read(path[-1])

    def place(self, incoming: str, path: Sequence[str], *, replace: bool = True) -> bool:
        """Move an uploaded file to its place; durable when this returns. Without `replace`, returns False if the file exists."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._open_or_create(path[:-1]) as folder:
                    if replace:
                        folder.move_in(self.incoming, incoming, path[-1])
                    elif not folder.move_in_if_absent(self.incoming, incoming, path[-1]):
                        return False
                    if self.durable:
                        folder.sync()
                    return True
            except FileNotFoundError:
                # A deletion removed the folder while it was still empty. If the uploaded file itself is missing, raise.
                if not left or incoming not in self.incoming.names():
                    raise
        raise AssertionError("the last attempt raises")

    def remove(self, path: Sequence[str]) -> None:
        """Remove an object's file and the folders that become empty. Raises `FileNotFoundError`."""
        with self.keys.descend(path[:-1]) as folder:
            folder.remove(path[-1])
            if self.durable:
                folder.sync()
        for depth in range(len(path) - 1, 0, -1):
            try:
                with self.keys.descend(path[: depth - 1]) as folder:
                    if not folder.remove_folder(path[depth - 1]):
                        return
            except FileNotFoundError:
                continue

    def _open_or_create(self, path: Sequence[str]) -> Folder:
        """Open a folder, created if needed. The names of it and of the folders above are synced to disk, even if others created them."""
        folder = self.keys.reopen()
        for depth, name in enumerate(path, start=1):
            with folder:
                try:
                    inner = folder.enter(name)
                except FileNotFoundError:
                    folder.make(name)
                    inner = folder.enter(name)
                if self.durable:
                    self._sync_once(folder, inner, tuple(path[:depth]))
            folder = inner
        return folder

    def _sync_once(self, outer: Folder, inner: Folder, path: tuple[str, ...]) -> None:
        identity = inner.identity
        if self._synced.get(path) == identity:
            return
        outer.sync()
        with self._lock:
            if len(self._synced) >= _MAX_SYNCED_FOLDERS:
                self._synced.clear()
            self._synced[path] = identity


_SECRET_FILE = "secret"
_BYTES = 32
#: Shorter secrets can be guessed.
MIN_BYTES = 16


def load_secret(tree: Tree, secret: bytes | str | None) -> bytes:
    """The caller's secret, or else the one stored in the folder, which all processes share. It is created at first use, so that links
    survive restarts. Raises `ValueError` if the secret is too short.
    """
    if secret is not None:
        encoded = secret.encode() if isinstance(secret, str) else bytes(secret)
        if len(encoded) < MIN_BYTES:
            raise ValueError(f"A secret must have {MIN_BYTES} bytes or more.")
        return encoded
    while (stored := _read(tree.root)) is None:
        _make(tree)
    if len(stored) < MIN_BYTES:
        raise ValueError(f"The secret in {tree.path} is truncated: remove the file, which invalidates all existing links.")
    return stored


def _read(root: Folder) -> bytes | None:
    try:
        file = root.read(_SECRET_FILE)
    except FileNotFoundError:
        return None
    try:
        return os.read(file, _BYTES)
    finally:
        os.close(file)


def _make(tree: Tree) -> None:
    """Write a new secret under its name, unless another process was first."""
    name = secrets.token_hex(16)
    file = tree.incoming.create(name)
    try:
        os.write(file, secrets.token_bytes(_BYTES))
        sync(file)
    finally:
        os.close(file)
    tree.root.move_in_if_absent(tree.incoming, name, _SECRET_FILE)
    tree.root.sync()
