"""Uploads to a bucket: one request if the content fits into a part, otherwise parallel parts."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.objects.errors import ObjectChanged, ObjectExists, ObjectMissing, ObjectsError
from gateleg.objects.s3.error_translation import translated_errors
from gateleg.objects.s3.responses import SHA256, date_of, etag_of
from gateleg.objects.values import ObjectInfo
from gateleg.objects.verbs import AbstractUpload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Executor, Future

#: S3 accepts parts of 5 MiB to 5 GiB, and at most 10,000 of them.
MIB = 1024 * 1024
PARTS = 10_000
_GROWS = 1000


def part_size(size: int | None, number: int, smallest: int) -> int:
    """The size of a part. If the size of the object is known, all parts are equal, which some endpoints require.

    Otherwise the size doubles every thousand parts, from 8 MiB, so that 10,000 parts reach the maximum size of an object.
    """
    if size is None:
        return smallest << (number // _GROWS)
    whole = -(-max(size, 1) // PARTS)
    return max(smallest, -(-whole // MIB) * MIB)


@dataclass(frozen=True)
class UploadTarget:
    """How an object is sent: its bucket and key, in parts of at least `smallest` bytes, `parallel` of them at once."""

    client: Any
    place: Mapping[str, str]
    executor: Executor
    parallel: int
    smallest: int
    #: the size of the object, if known
    size: int | None


class S3Upload(AbstractUpload):
    """Sends parts concurrently with at most a few in memory, and removes them from the service if the upload fails."""

    def __init__(
        self,
        target: UploadTarget,
        key: str,
        content_type: str | None,
        metadata: Mapping[str, str] | None,
        sha256: str | None,
        *,
        if_absent: bool = False,
    ) -> None:
        super().__init__(key, content_type, metadata, sha256, if_absent=if_absent)
        self._client = target.client
        self._place = target.place
        self._executor = target.executor
        self._parallel = target.parallel
        self._smallest = target.smallest
        self._total = target.size
        self._condition = {"IfNoneMatch": "*"} if if_absent else {}
        self._rest = bytearray()
        self._id: str | None = None
        self._sent = 0
        self._under_way: deque[Future[dict[str, Any]]] = deque()
        self._parts: list[dict[str, Any]] = []

    def _write(self, chunk: bytes | memoryview) -> None:
        self._rest += chunk
        # The last part is sent by `finish`, which needs at least one byte.
        while len(self._rest) > (part_bytes := part_size(self._total, self._sent, self._smallest)):
            self._send(bytes(memoryview(self._rest)[:part_bytes]))
            del self._rest[:part_bytes]

    def _send(self, part: bytes) -> None:
        with translated_errors(self.key):
            if self._id is None:
                self._id = self._client.create_multipart_upload(**self._described(self.expected))["UploadId"]
            while len(self._under_way) >= self._parallel:
                self._parts.append(self._under_way.popleft().result())
        self._sent += 1
        self._under_way.append(self._executor.submit(self._send_part, self._sent, part))

    def _send_part(self, number: int, part: bytes) -> dict[str, Any]:
        response = self._client.upload_part(**self._place, UploadId=self._id, PartNumber=number, Body=part)
        return {"PartNumber": number, "ETag": response["ETag"]}

    def _finish(self, digest: str) -> ObjectInfo:
        if self._id is None:
            with self._translated_upload_errors():
                response = self._client.put_object(**self._described(digest), **self._condition, Body=bytes(self._rest))
            return self._info(response, digest)
        self._send(bytes(self._rest))
        with self._translated_upload_errors():
            while self._under_way:
                self._parts.append(self._under_way.popleft().result())
            whole = {"UploadId": self._id, "MultipartUpload": {"Parts": self._parts}}
            response = self._client.complete_multipart_upload(**self._place, **self._condition, **whole)
        return self._info(response, digest)

    @contextmanager
    def _translated_upload_errors(self) -> Iterator[None]:
        """Translate errors of S3. A failed condition, or a concurrent writer, means that the object exists."""
        try:
            with translated_errors(self.key):
                if self.if_absent:
                    self._require_absent()
                yield
        except ObjectChanged as error:
            raise ObjectExists(f"The object {self.key!r} already exists.") from error

    def _require_absent(self) -> None:
        """Check for the object first, because some endpoints ignore or refuse the condition. A race remains for those."""
        with suppress(ObjectMissing), translated_errors(self.key):
            self._client.head_object(**self._place)
            raise ObjectChanged("The object exists.")

    def _abort(self) -> None:
        for part in self._under_way:
            part.cancel()
        for part in self._under_way:
            # A part that arrives after its upload was aborted would be stored, and billed, for ever.
            if not part.cancelled():
                part.exception()
        if self._id is not None:
            # The caller needs the original error; `sweep` removes what remains.
            with suppress(ObjectsError), translated_errors(self.key):
                self._client.abort_multipart_upload(**self._place, UploadId=self._id)

    def _described(self, digest: str | None) -> dict[str, Any]:
        metadata = dict(self.metadata) | ({SHA256: digest} if digest is not None else {})
        return {**self._place, "ContentType": self.content_type, "Metadata": metadata}

    def _info(self, response: Mapping[str, Any], digest: str) -> ObjectInfo:
        return ObjectInfo(self.key, self.size, etag_of(response), date_of(response), self.content_type, self.metadata, digest)
