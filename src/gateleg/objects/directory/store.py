"""`DirectoryObjects`: objects as files in a folder, for one machine and any number of processes on it."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateleg.model.attributes.special_types import check_object_key
from gateleg.objects.directory.error_translation import translated_errors
from gateleg.objects.directory.names import path_of
from gateleg.objects.directory.secrets import load_secret
from gateleg.objects.directory.transfers import DirectoryDownload, DirectoryUpload
from gateleg.objects.directory.tree import Tree
from gateleg.objects.directory.walking import decode_cursor, page
from gateleg.objects.errors import Damaged, ObjectMissing
from gateleg.objects.links import WINDOW_SECONDS, Grant, LinkSigner, UploadForm, validity
from gateleg.objects.verbs import Verbs, validate_limit

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateleg.objects.values import ByteRange, Method, ObjectInfo, ObjectPage

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
