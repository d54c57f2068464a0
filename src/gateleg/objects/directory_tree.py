"""How `DirectoryObjects` uses its folder: a tree of folders with a file for each object, and the secret that signs links.

Folders are open by descriptor, so that names are resolved in the folder itself, not along a path that could be redirected. Symbolic links
are not followed. On systems that cannot resolve names in an open folder, paths are joined and checked for links.

A key becomes a path, and each key has a distinct one, whatever the file system does with names. Each segment but the last is a folder,
`+segment`; the last one is a file, `=segment`. So "a" and "a/b" do not collide, no name is `.`, `..` or empty, and none is a Windows
device. A segment of more than 80 bytes continues in a folder `~piece`. Lower-case letters, digits, `-`, `_` and `.` are kept; every other
byte, including capitals, is written as `%` and two hexadecimal digits. All names are lower-case ASCII of at most 241 characters, so that
neither letter case nor Unicode normalisation can make two keys collide.

Content and description are in one file, so they are replaced together by one rename, and there is no second file that could be lost or
collide with a key. The file consists of the content, a JSON object, the length of that object in four bytes, and an 8-byte signature.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import struct
import sys
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, Self

from gateleg.objects.errors import Damaged, OutsideRoot
from gateleg.objects.values import ObjectInfo
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


Kind = Literal["=", "+", "~"]
OBJECT, SUBFOLDER, PART = "=", "+", "~"
_PIECE = 80
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_NAME = re.compile(r"([=+~])((?:[a-z0-9_.-]|%[0-9a-f]{2})*)")
#: Names without escapes, which are nearly all.
_USUAL = re.compile(rf"[=+~](?:[a-z0-9_.-]{{0,{_PIECE - 1}}}[a-z0-9_-])?")
_ESCAPED = re.compile(rb"%([0-9a-f]{2})")


def path_of(key: str) -> tuple[str, ...]:
    """The names of the folders, from the top, and of the file."""
    names = []
    *folders, last = key.encode().split(b"/")
    for segment in folders:
        names += _names(segment, SUBFOLDER)
    return (*names, *_names(last, OBJECT))


def _names(segment: bytes, kind: str) -> list[str]:
    pieces = [segment[start : start + _PIECE] for start in range(0, len(segment), _PIECE)] or [b""]
    return [*(PART + _escaped(piece) for piece in pieces[:-1]), kind + _escaped(pieces[-1])]


def _escaped(piece: bytes) -> str:
    text = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in piece)
    # Windows drops a trailing dot.
    return f"{text[:-1]}%2e" if text.endswith(".") else text


def parse_name(name: str) -> tuple[str, bytes] | None:
    """The kind of a name and the bytes of the key that it encodes. None for names that no key produces."""
    if _USUAL.fullmatch(name):
        return name[0], name[1:].encode()
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, text = match.groups()
    piece = _ESCAPED.sub(lambda escape: bytes.fromhex(escape[1].decode()), text.encode())
    # A non-canonical encoding would give one key two paths.
    return (kind, piece) if _escaped(piece) == text and len(piece) <= _PIECE and b"/" not in piece else None


_MAGIC = b"gateleg1"
_END = struct.Struct(">I8s")
#: Larger than most footers, so that one read is nearly always enough.
_FIRST_READ = 4096
_MAX_FOOTER = 64 * 1024


def encode_footer(info: ObjectInfo) -> bytes:
    """The footer that follows the content."""
    members = {
        "size": info.size,
        "sha256": info.sha256,
        "type": info.content_type,
        "modified": info.modified.timestamp(),
        "metadata": dict(info.metadata),
    }
    text = json.dumps(members, separators=(",", ":")).encode()
    return text + _END.pack(len(text), _MAGIC)


def read_info(key: str, descriptor: int) -> ObjectInfo:
    """The description of the object in an open file."""
    size = os.fstat(descriptor).st_size
    tail = read_at(descriptor, min(size, _FIRST_READ), max(0, size - _FIRST_READ))
    if len(tail) < _END.size:
        raise Damaged(f"The file of {key!r} is truncated.")
    length, magic = _END.unpack(tail[-_END.size :])
    if magic != _MAGIC or length > min(size, _MAX_FOOTER):
        raise Damaged(f"The file of {key!r} has no valid footer.")
    text = tail[-_END.size - length : -_END.size]
    if len(text) < length:
        text = read_at(descriptor, length, size - _END.size - length)
    try:
        members = json.loads(text)
        info = ObjectInfo(
            key,
            members["size"],
            etag_of(members["sha256"]),
            datetime.fromtimestamp(members["modified"], UTC),
            members["type"],
            dict(members["metadata"]),
            members["sha256"],
        )
    except (ValueError, KeyError, TypeError):
        raise Damaged(f"The description of {key!r} is not valid.") from None
    if info.size != size - length - _END.size:
        raise Damaged(f"The file of {key!r} does not have the recorded length.")
    return info


def etag_of(sha256: str) -> str:
    """The etag of content: half of its digest."""
    return sha256[:32]


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """At most `size` bytes from an offset, independent of other threads that use the same descriptor."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)  # pragma: no cover
    return os.read(descriptor, size)  # pragma: no cover
