"""Base classes of object stores: methods that are built on other methods, and the life cycle of uploads."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from gateleg.model.attributes.special_types import check_object_key
from gateleg.objects.bodies import chunks_of, digest_of, size_of
from gateleg.objects.descriptions import content_type_of, validate_metadata
from gateleg.objects.errors import ContentDiffers, DigestMismatch, ObjectMissing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.objects.protocol import Body, Download, Upload
    from gateleg.objects.values import ByteRange, Entry, ObjectInfo, ObjectPage

_SHA256 = re.compile("[0-9a-f]{64}")
PAGE = 1000


class Verbs(ABC):
    """Base class of object stores, with the methods that are the same in all of them."""

    @abstractmethod
    def upload(
        self,
        key: str,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        size: int | None = None,
        if_absent: bool = False,
    ) -> Upload:
        """Start writing an object."""

    @abstractmethod
    def stream(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> Download:
        """Read the content in chunks."""

    @abstractmethod
    def head(self, key: str) -> ObjectInfo:
        """Read the description of an object."""

    @abstractmethod
    def list(self, prefix: str = "", *, delimiter: str | None = None, cursor: str | None = None, limit: int = PAGE) -> ObjectPage:
        """List a page of objects."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    def put(
        self,
        key: str,
        body: Body,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
        sha256: str | None = None,
        if_absent: bool = False,
    ) -> ObjectInfo:
        """Store or replace an object atomically. See `Objects.put`."""
        size = size_of(body)
        with self.upload(key, content_type=content_type, metadata=metadata, sha256=sha256, size=size, if_absent=if_absent) as upload:
            for chunk in chunks_of(body):
                upload.write(chunk)
            return upload.finish()

    def get(self, key: str, *, range: ByteRange | None = None, unless_etag: str | None = None) -> bytes:
        """Read the content, or a range of it, into memory. See `Objects.get`."""
        with self.stream(key, range=range, unless_etag=unless_etag) as download:
            return b"".join(download)

    def exists(self, key: str) -> bool:
        """Whether an object with the key exists."""
        try:
            self.head(key)
        except ObjectMissing:
            return False
        return True

    def require_content(self, key: str, sha256: str) -> None:
        """Raise `ContentDiffers` unless the object has this digest. The content is read if the store does not know its digest."""
        digest = self.head(key).sha256
        if digest is None:
            with self.stream(key) as download:
                digest = digest_of(iter(download))
        if digest != sha256:
            raise ContentDiffers(f"The content of {key!r} has the SHA-256 digest {digest}, not {sha256}.")

    def walk(self, prefix: str = "") -> Iterator[Entry]:
        """Iterate over all objects whose keys start with `prefix`, read page by page."""
        cursor: str | None = None
        while True:
            page = self.list(prefix, cursor=cursor)
            yield from page.objects
            cursor = page.cursor
            if cursor is None:
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


class AbstractUpload(ABC):
    """Base class of uploads: computes size and digest, and ends exactly once. Any thread may abort it.

    A failed write aborts the upload: it cannot continue, because the amount of written content is unknown.
    """

    def __init__(
        self, key: str, content_type: str | None, metadata: Mapping[str, str] | None, sha256: str | None, *, if_absent: bool = False
    ) -> None:
        self.key = check_object_key(key)
        self.if_absent = if_absent
        self.content_type = content_type_of(key, content_type)
        self.metadata = validate_metadata(metadata)
        if sha256 is not None and not _SHA256.fullmatch(sha256):
            raise ValueError("sha256 must be 64 lower-case hexadecimal digits.")
        self.expected = sha256
        self.size = 0
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._open = True

    def write(self, chunk: bytes | memoryview) -> None:
        """Append a chunk to the content."""
        with self._lock:
            self._require_open()
            if isinstance(chunk, memoryview):
                chunk = chunk.cast("B")  # so that its length is the number of bytes
            with self._abort_on_error():
                self._write(chunk)
            self._digest.update(chunk)
            self.size += len(chunk)

    def finish(self) -> ObjectInfo:
        """Create or replace the object, which is durable when this returns."""
        with self._lock:
            self._require_open()
            digest = self._digest.hexdigest()
            if self.expected is not None and not hmac.compare_digest(digest, self.expected):
                raise DigestMismatch(f"The content of {self.key!r} does not match the announced SHA-256 digest.")
            with self._abort_on_error():
                info = self._finish(digest)
            self._open = False
            return info

    def abort(self) -> None:
        """Remove the written content. Does nothing after `finish`."""
        with self._lock:
            if self._open:
                self._open = False
                self._abort()

    @contextmanager
    def _abort_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._open = False
            # The caller needs the original error; `sweep` removes what remains.
            with suppress(OSError):
                self._abort()
            raise

    def _require_open(self) -> None:
        if not self._open:
            raise ValueError(f"The upload of {self.key!r} has ended; start another one.")

    @abstractmethod
    def _write(self, chunk: bytes | memoryview) -> None: ...

    @abstractmethod
    def _finish(self, digest: str) -> ObjectInfo: ...

    @abstractmethod
    def _abort(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.abort()


def validate_limit(limit: int) -> int:
    """Return the limit of a page; raise `ValueError` if it is invalid."""
    if not 1 <= limit <= PAGE:
        raise ValueError(f"limit must be 1 to {PAGE:,}.")
    return limit
