"""Uploads into a folder and downloads from it."""

from __future__ import annotations

import os
import secrets
import weakref
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from gateleg.objects.bodies import CHUNK_SIZE, verify_chunks
from gateleg.objects.directory.error_translation import translated_errors
from gateleg.objects.directory.folders import sync
from gateleg.objects.directory.footers import encode_footer, etag_of, read_at, read_info
from gateleg.objects.directory.names import path_of
from gateleg.objects.errors import Damaged, NotModified, ObjectExists
from gateleg.objects.values import ObjectInfo
from gateleg.objects.verbs import AbstractUpload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateleg.objects.directory.tree import Tree
    from gateleg.objects.values import ByteRange


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
