"""`DirectoryObjects`: objects as files in a folder, for one machine and any number of processes on it."""

from __future__ import annotations

import errno
import os
import secrets
import time
import weakref
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateleg.model.types import check_object_key
from gateleg.objects.directory.files import encode_footer, etag_of, path_of, read_at, read_info
from gateleg.objects.directory.listing import decode_cursor, page
from gateleg.objects.directory.tree import Tree, load_secret, sync
from gateleg.objects.errors import Damaged, NotModified, ObjectExists, ObjectMissing, ObjectsClosed, StorageFailed, StorageFull
from gateleg.objects.links import WINDOW_SECONDS, LinkSigner, UploadForm, validity
from gateleg.objects.protocol import DAY, PAGE, Download, Objects, Upload, validate_limit
from gateleg.objects.values import CHUNK_SIZE, ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import timedelta

    from gateleg.objects.links import Grant
    from gateleg.objects.protocol import NewObject
    from gateleg.objects.values import ByteRange, ObjectPage


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


def _write_all(file: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


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
