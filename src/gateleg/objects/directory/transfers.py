"""Content on its way into the folder and out of it."""

from __future__ import annotations

import os
import secrets
import weakref
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

from gateleg.objects.bodies import CHUNK, verified
from gateleg.objects.directory.failures import failures
from gateleg.objects.directory.folders import sync
from gateleg.objects.directory.names import path_of
from gateleg.objects.directory.records import etag_of, info_of, read_at, tail_of
from gateleg.objects.errors import Damaged, NotModified, ObjectExists
from gateleg.objects.values import ObjectInfo
from gateleg.objects.verbs import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gateleg.objects.directory.tree import Tree
    from gateleg.objects.values import ByteRange


class DirectoryUpload(Writing):
    """Writes a file beside the objects and moves it to its place when it is whole and on the disk."""

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
        with failures(self.key, missing=False):
            self._file = tree.incoming.create(self._name)
        #: for an upload that nobody ends: the descriptor is not lost
        self._closing = weakref.finalize(self, os.close, self._file)

    def _write(self, chunk: bytes | memoryview) -> None:
        with failures(self.key, missing=False):
            _write_all(self._file, chunk)

    def _finish(self, digest: str) -> ObjectInfo:
        modified = datetime.fromtimestamp(self._clock(), UTC)
        info = ObjectInfo(self.key, self.size, etag_of(digest), modified, self.content_type, self.metadata, digest)
        with failures(self.key, missing=False):
            _write_all(self._file, tail_of(info))
            if self._tree.durable:
                sync(self._file)
            self._closing()
            placed = self._tree.place(self._name, path_of(self.key), replace=not self.if_absent)
        if not placed:
            raise ObjectExists(f"The object {self.key!r} exists already.")
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
    """Reads a file that was open from the beginning: it is read to its end even if the object is replaced or deleted meanwhile."""

    def __init__(self, tree: Tree, key: str, range: ByteRange | None, unless_etag: str | None) -> None:
        self._file = tree.open(path_of(key))
        self._closing = weakref.finalize(self, os.close, self._file)
        try:
            self.info = info_of(key, self._file)
            if unless_etag == self.info.etag:
                raise NotModified(f"{key!r} is still the same.")
            self.start, self.stop = (0, self.info.size) if range is None else range.within(self.info.size)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return verified(self._chunks(), self.info) if self.stop - self.start == self.info.size else self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        place = self.start
        while place < self.stop:
            if not self._closing.alive:
                raise ValueError(f"The download of {self.info.key!r} is closed.")
            with failures(self.info.key):
                chunk = read_at(self._file, min(CHUNK, self.stop - place), place)
            if not chunk:
                raise Damaged(f"The file of {self.info.key!r} is cut short.")
            place += len(chunk)
            yield chunk

    def close(self) -> None:
        """Let go of the file."""
        self._closing()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()
