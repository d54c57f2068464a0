"""`DirectoryObjects`: objects as files in a folder, for one machine and any number of processes on it.

Listings are in key order, start after any key, and visit only folders that can contain matching keys.
"""

from __future__ import annotations

import errno
import heapq
import os
import secrets
import time
import weakref
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_object_key
from gateleg.objects.directory_tree import (
    OBJECT,
    PART,
    SUBFOLDER,
    Tree,
    encode_footer,
    etag_of,
    load_secret,
    parse_name,
    path_of,
    read_at,
    read_info,
    sync,
)
from gateleg.objects.errors import (
    BadCursor,
    Damaged,
    NotModified,
    ObjectExists,
    ObjectMissing,
    ObjectsClosed,
    OutsideRoot,
    StorageFailed,
    StorageFull,
)
from gateleg.objects.links import WINDOW_SECONDS, LinkSigner, UploadForm, validity
from gateleg.objects.protocol import DAY, PAGE, Download, Objects, Upload, validate_limit
from gateleg.objects.values import CHUNK_SIZE, Entry, ObjectInfo, ObjectPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import timedelta

    from gateleg.objects.directory_tree import Folder
    from gateleg.objects.links import Grant
    from gateleg.objects.protocol import NewObject
    from gateleg.objects.values import ByteRange

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Greater than every byte of UTF-8.
_LAST = b"\xff"
#: The order of files and folders whose keys begin alike.
_ORDER = {OBJECT: 0, PART: 1, SUBFOLDER: 2}


class DirectoryObjects(Objects):
    """An object store in a folder. Nothing outside of it is read or written, and only complete objects are visible.

    A write is on disk when it returns; with `durability="relaxed"`, meant for tests, a power cut may lose the most recent ones. Links are
    signed with `secret` (16 bytes or more), by default one that is created and stored in the folder. They start with `url`, where the host
    serves them. Threads and processes may share a folder.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        secret: bytes | str | None = None,
        url: str = "/objects",
        window: int = WINDOW_SECONDS,
        durability: Literal["full", "relaxed"] = "full",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = Path(root)
        self._clock = clock
        self._window = window
        with translated_errors(str(root), missing=False):
            self._tree = Tree(self.root, durable=durability == "full")
            self._signer = LinkSigner(load_secret(self._tree, secret), url)
            self.sweep()

    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> DirectoryDownload:
        check_object_key(key)
        with translated_errors(key):
            return DirectoryDownload(self._tree, key, range, unless_etag)

    def head(self, key: str) -> ObjectInfo:
        with self.stream(key) as download:
            return download.info

    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = PAGE) -> ObjectPage:
        with translated_errors(prefix):
            return page(self._tree.keys, prefix, delimiter, decode_cursor(cursor), validate_limit(limit))

    def delete(self, key: str) -> None:
        check_object_key(key)
        try:
            with translated_errors(key):
                self._tree.remove(path_of(key))
        except ObjectMissing:
            return

    def copy(self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        check_object_key(target)
        with self.stream(source) as download:
            info = download.info
            kept = info.metadata if metadata is None else metadata
            return self.put(target, download, content_type=content_type or info.content_type, metadata=kept, sha256=info.sha256)

    def verify(self, method: str, key: str, query: str, *, content_type: str | None = None, length: int | None = None) -> Grant:
        """Verify a request with a signed link, for the host that serves links, and return what the link permits.

        `key` is the decoded path after `url`, `query` the raw query string; the others are headers of a PUT. Raises `LinkRefused` or
        `LinkExpired`.
        """
        return self._signer.verify(method, key, query, self._clock(), content_type=content_type, length=length)

    def sweep(self, *, older_than: timedelta = DAY) -> int:
        horizon = self._clock() - older_than.total_seconds()
        swept = 0
        incoming = self._tree.incoming
        for name in incoming.names():
            try:
                if incoming.modified(name) < horizon:
                    incoming.remove(name)
                    swept += 1
            except FileNotFoundError:
                continue
        return swept

    def check(self) -> Iterator[Damaged]:
        """Read every object, and yield an error for each damaged one."""
        for entry in self.walk():
            try:
                self.get(entry.key)
            except Damaged as damage:
                yield damage
            except ObjectMissing:
                continue

    def close(self) -> None:
        """Close the folder. Downloads that have started can be read to their end."""
        self._tree.close()

    def _upload(self, new: NewObject) -> DirectoryUpload:
        return DirectoryUpload(self._tree, self._clock, new)

    def _presigned(self, grant: Grant, expires: float) -> str:
        return self._signer.sign(grant, validity(self._clock(), expires, self._window).ends)

    def _upload_form(self, grant: Grant, expires: float) -> UploadForm:
        return UploadForm(self._presigned(grant, expires), "PUT")


class DirectoryUpload(Upload):
    """Writes a temporary file and moves it to its place once it is complete and synced."""

    def __init__(self, tree: Tree, clock: Callable[[], float], new: NewObject) -> None:
        super().__init__(new)
        self._tree = tree
        self._clock = clock
        self._name = secrets.token_hex(16)
        with translated_errors(self.key, missing=False):
            self._file = tree.incoming.create(self._name)
        #: closes the descriptor of an upload that is never finished
        self._closing = weakref.finalize(self, os.close, self._file)

    def _write(self, chunk: bytes | memoryview) -> None:
        with translated_errors(self.key, missing=False):
            _write_all(self._file, chunk)

    def _finish(self, digest: str) -> ObjectInfo:
        modified = datetime.fromtimestamp(self._clock(), UTC)
        info = ObjectInfo(self.key, self.size, etag_of(digest), modified, self.new.content_type, self.new.metadata, digest)
        with translated_errors(self.key, missing=False):
            _write_all(self._file, encode_footer(info))
            if self._tree.durable:
                sync(self._file)
            self._closing()
            placed = self._tree.place(self._name, path_of(self.key), replace=not self.new.if_absent)
        if not placed:
            raise ObjectExists(f"The object {self.key!r} already exists.")
        return info

    def _abort(self) -> None:
        self._closing()
        try:
            self._tree.incoming.remove(self._name)
        except FileNotFoundError:
            return


class DirectoryDownload(Download):
    """Reads a file that was opened at the start, so that replacing or deleting the object meanwhile does not affect the download."""

    def __init__(self, tree: Tree, key: str, range: ByteRange | None, unless_etag: str | None) -> None:
        self._file = tree.open(path_of(key))
        self._closing = weakref.finalize(self, os.close, self._file)
        try:
            self.info = read_info(key, self._file)
            if unless_etag == self.info.etag:
                raise NotModified(f"{key!r} is not modified.")
            self.start, self.stop = (0, self.info.size) if range is None else range.within(self.info.size)
        except BaseException:
            self.close()
            raise

    def _chunks(self) -> Iterator[bytes]:
        offset = self.start
        while offset < self.stop:
            if not self._closing.alive:
                raise ValueError(f"The download of {self.info.key!r} is closed.")
            with translated_errors(self.info.key):
                chunk = read_at(self._file, min(CHUNK_SIZE, self.stop - offset), offset)
            if not chunk:
                raise Damaged(f"The file of {self.info.key!r} is truncated.")
            offset += len(chunk)
            yield chunk

    def close(self) -> None:
        self._closing()


def _write_all(file: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


@contextmanager
def translated_errors(key: str, *, missing: bool = True) -> Iterator[None]:
    """Translate file system errors raised in the block. With `missing`, a missing file means a missing object."""
    try:
        yield
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise ObjectMissing(f"The object {key!r} does not exist.") from error
        if error.errno == errno.EBADF:
            raise ObjectsClosed(f"{key!r}: the object store is closed.") from error
        if error.errno in _DISK_FULL:
            raise StorageFull(f"The disk has no space left for {key!r}.") from error
        raise StorageFailed(f"{key!r}: {error.strerror or error}.") from error


@dataclass(frozen=True, slots=True)
class KeySelection:
    """The requested keys: those that begin with `prefix` and come after `after`."""

    prefix: bytes
    after: bytes

    def contains(self, key: bytes) -> bool:
        """Whether a key matches."""
        return key > self.after and key.startswith(self.prefix)

    def may_contain(self, beginning: bytes) -> bool:
        """Whether a key that begins like this can match."""
        return (beginning > self.after or self.after.startswith(beginning)) and (
            beginning.startswith(self.prefix) or self.prefix.startswith(beginning)
        )


@dataclass(frozen=True, slots=True, order=True)
class TreeEntry:
    """An object's file, or a folder with the prefix that all keys in it share."""

    key: bytes
    rank: int
    path: tuple[str, ...]


def walk(keys: Folder, bounds: KeySelection, top: TreeEntry | None = None) -> Iterator[TreeEntry]:
    """The entries of matching objects, in key order. Objects created or deleted meanwhile may or may not be included."""
    waiting = [_within(keys, top or TreeEntry(b"", 2, ()), bounds)]
    while waiting:
        group = next(waiting[-1], None)
        if group is None:
            waiting.pop()
        elif group[0].rank == 0:
            if _is_key(group[0].key):
                yield group[0]
        elif len(group) == 1:
            waiting.append(_within(keys, group[0], bounds))
        else:
            yield from heapq.merge(*(walk(keys, bounds, place) for place in group))


def _is_key(key: bytes) -> bool:
    """Whether a key is valid: files that other programs created may have names that no valid key produces."""
    try:
        check_object_key(key.decode())
    except (UnicodeDecodeError, S3KeyRefused):
        return False
    return True


def _within(keys: Folder, top: TreeEntry, bounds: KeySelection) -> Iterator[tuple[TreeEntry, ...]]:
    """The entries of a folder in key order. Two folders whose keys interleave are returned together."""
    try:
        with keys.descend(top.path) as folder:
            names = folder.names()
    except (FileNotFoundError, OutsideRoot):
        return
    previous: TreeEntry | None = None
    for key, rank, name in sorted(_wanted(names, top.key, bounds)):
        place = TreeEntry(key, rank, (*top.path, name))
        # `~X` contains keys such as X! and X0, and `+X` those that begin with X/, which sort between the two.
        if previous is not None and previous.rank == 1 and rank == 2 and key == previous.key + b"/":
            yield previous, place
            previous = None
            continue
        if previous is not None:
            yield (previous,)
        previous = place
    if previous is not None:
        yield (previous,)


def _wanted(names: Iterable[str], base: bytes, bounds: KeySelection) -> Iterator[tuple[bytes, int, str]]:
    """The names of a folder that lead to matching keys, with the key or key prefix that each encodes."""
    for name in names:
        parsed = parse_name(name)
        if parsed is not None:
            kind, piece = parsed
            key = base + piece + b"/" if kind == SUBFOLDER else base + piece
            if bounds.contains(key) if kind == OBJECT else bounds.may_contain(key):
                yield key, _ORDER[kind], name


class DescriptionReader:
    """Reads descriptions of objects one after the other, and keeps the last folder open for the next object."""

    def __init__(self, keys: Folder) -> None:
        self._keys = keys
        self._path: tuple[str, ...] | None = None
        self._folder: Folder | None = None

    def entry(self, place: TreeEntry) -> Entry | None:
        """The object of a tree entry. None if it no longer exists, or was replaced by a link."""
        try:
            if self._folder is None or place.path[:-1] != self._path:
                self.close()
                self._folder = self._keys.descend(place.path[:-1])
                self._path = place.path[:-1]
            descriptor = self._folder.read(place.path[-1])
        except (FileNotFoundError, OutsideRoot):
            return None
        key = place.key.decode()
        try:
            info = read_info(key, descriptor)
            return Entry(info.key, info.size, info.etag, info.modified)
        except Damaged:
            # Listed, so that it can be found and deleted.
            status = os.fstat(descriptor)
            return Entry(key, status.st_size, "damaged", datetime.fromtimestamp(status.st_mtime, UTC))
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None


def page(keys: Folder, prefix: str, delimiter: str | None, after: bytes, limit: int) -> ObjectPage:
    """A page of the objects after a key."""
    objects: list[Entry] = []
    prefixes: list[str] = []
    reader = DescriptionReader(keys)
    places = walk(keys, KeySelection(prefix.encode(), after))
    try:
        while (place := next(places, None)) is not None:
            shared = _shared(place.key.decode(), prefix, delimiter)
            entry = reader.entry(place) if shared is None else None
            if shared is None and entry is None:
                continue
            if len(objects) + len(prefixes) == limit:
                return ObjectPage(tuple(objects), tuple(prefixes), encode_cursor(after))
            if shared is None:
                assert entry is not None
                objects.append(entry)
                after = place.key
            else:
                prefixes.append(shared)
                after = shared.encode() + _LAST
                places = walk(keys, KeySelection(prefix.encode(), after))
    finally:
        reader.close()
    return ObjectPage(tuple(objects), tuple(prefixes))


def _shared(key: str, prefix: str, delimiter: str | None) -> str | None:
    """The part of a key up to the first delimiter after the prefix."""
    if not delimiter:
        return None
    head, separator, _ = key[len(prefix) :].partition(delimiter)
    return prefix + head + separator if separator else None


def encode_cursor(after: bytes) -> str:
    """The cursor for a position in a listing."""
    return urlsafe_b64encode(after).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> bytes:
    """The position of a cursor. Raises `BadCursor`."""
    if cursor is None:
        return b""
    try:
        return urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raise BadCursor("The cursor is not valid.") from None
