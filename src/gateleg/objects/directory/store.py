"""`DirectoryObjects`: objects as files in a folder, for one machine and any number of processes on it.

Uploads into a folder and downloads from it.

Translates file system errors into errors of object stores.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
import weakref
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from gateleg.model.types import check_object_key
from gateleg.objects.directory.tree import Tree, decode_cursor, encode_footer, etag_of, load_secret, page, path_of, read_at, read_info, sync
from gateleg.objects.errors import Damaged, NotModified, ObjectExists, ObjectMissing, ObjectsClosed, StorageFailed, StorageFull
from gateleg.objects.links import WINDOW_SECONDS, Grant, LinkSigner, UploadForm, validity
from gateleg.objects.protocol import CHUNK_SIZE, ObjectInfo, verify_chunks
from gateleg.objects.verbs import AbstractUpload, Verbs, validate_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateleg.objects.protocol import ByteRange, Method, ObjectPage


_DAY = timedelta(days=1)


class DirectoryObjects(Verbs):
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

    def upload(
        self,
        key: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        size: int | None = None,
        if_absent: bool = False,
    ) -> DirectoryUpload:
        """Start writing an object. See `Objects.upload`."""
        return DirectoryUpload(self._tree, self._clock, key, content_type, metadata, sha256, if_absent=if_absent)

    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> DirectoryDownload:
        """Read the content, or a range of it, in chunks. See `Objects.stream`."""
        check_object_key(key)
        with translated_errors(key):
            return DirectoryDownload(self._tree, key, range, unless_etag)

    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object. Raises `ObjectMissing`."""
        with self.stream(key) as download:
            return download.info

    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = 1000) -> ObjectPage:
        """List a page of the objects whose keys start with `prefix`. See `Objects.list`."""
        with translated_errors(prefix):
            return page(self._tree.keys, prefix, delimiter, decode_cursor(cursor), validate_limit(limit))

    def delete(self, key: str) -> None:
        """Delete an object. A missing object is not an error."""
        check_object_key(key)
        try:
            with translated_errors(key):
                self._tree.remove(path_of(key))
        except ObjectMissing:
            return

    def delete_many(self, keys: Iterable[str]) -> None:
        """Delete any number of objects. See `Objects.delete_many`."""
        for key in [check_object_key(key) for key in keys]:
            self.delete(key)

    def copy(self, source: str, target: str, *, content_type: str | None = None, metadata: Mapping[str, str] | None = None) -> ObjectInfo:
        """Store a copy under another key. See `Objects.copy`."""
        check_object_key(target)
        with self.stream(source) as download:
            info = download.info
            kept = info.metadata if metadata is None else metadata
            return self.put(target, download, content_type=content_type or info.content_type, metadata=kept, sha256=info.sha256)

    def presign(
        self,
        key: str,
        *,
        method: Method = "GET",
        expires: float = 3600,
        content_type: str | None = None,
        length: int | None = None,
        download: str | None = None,
        sha256: str | None = None,
    ) -> str:
        """A URL that lets its holder read or write one object for a time. See `Objects.presign`."""
        grant = Grant(key, method, content_type, length, download, sha256=sha256)
        if sha256 is not None:
            self.require_content(key, sha256)
        return self._signer.sign(grant, validity(self._clock(), expires, self._window).ends)

    def presign_upload(
        self, key: str, *, max_bytes: int, expires: float = 3600, content_type: str | None = None, once: bool = False
    ) -> UploadForm:
        """A form that uploads an object of at most `max_bytes` bytes to the host. See `Objects.presign_upload`."""
        grant = Grant(key, "PUT", content_type, max_bytes=max_bytes, once=once)
        return UploadForm(self._signer.sign(grant, validity(self._clock(), expires, self._window).ends), "PUT")

    def verify(self, method: str, key: str, query: str, *, content_type: str | None = None, length: int | None = None) -> Grant:
        """Verify a request with a signed link, for the host that serves links, and return what the link permits.

        `key` is the decoded path after `url`, `query` the raw query string; the others are headers of a PUT. Raises `LinkRefused` or
        `LinkExpired`.
        """
        return self._signer.verify(method, key, query, self._clock(), content_type=content_type, length=length)

    def sweep(self, *, older_than: timedelta = _DAY) -> int:
        """Remove unfinished uploads that were not written to for `older_than` (by default a day). Returns their number."""
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


class DirectoryUpload(AbstractUpload):
    """Writes a temporary file and moves it to its place once it is complete and synced."""

    def __init__(
        self,
        tree: Tree,
        clock: Callable[[], float],
        key: str,
        content_type: str | None,
        metadata: Mapping[str, str] | None,
        sha256: str | None,
        *,
        if_absent: bool = False,
    ) -> None:
        super().__init__(key, content_type, metadata, sha256, if_absent=if_absent)
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
        info = ObjectInfo(self.key, self.size, etag_of(digest), modified, self.content_type, self.metadata, digest)
        with translated_errors(self.key, missing=False):
            _write_all(self._file, encode_footer(info))
            if self._tree.durable:
                sync(self._file)
            self._closing()
            placed = self._tree.place(self._name, path_of(self.key), replace=not self.if_absent)
        if not placed:
            raise ObjectExists(f"The object {self.key!r} already exists.")
        return info

    def _abort(self) -> None:
        self._closing()
        try:
            self._tree.incoming.remove(self._name)
        except FileNotFoundError:
            return


def _write_all(file: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


class DirectoryDownload:
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

    def __iter__(self) -> Iterator[bytes]:
        return verify_chunks(self._chunks(), self.info) if self.stop - self.start == self.info.size else self._chunks()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


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
