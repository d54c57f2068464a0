"""Content on its way into a bucket: one request for what fits into a part, parallel parts for what is larger."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.objects.errors import ObjectChanged, ObjectExists, ObjectMissing, ObjectsError
from gateleg.objects.s3.answers import SHA256, date_of, etag_of
from gateleg.objects.s3.failures import failures
from gateleg.objects.values import ObjectInfo
from gateleg.objects.verbs import Writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Executor, Future

#: S3 takes parts of 5 MiB to 5 GiB, and at most 10,000 of them.
MIB = 1024 * 1024
PARTS = 10_000
_GROWS = 1000


def part_size(size: int | None, number: int, smallest: int) -> int:
    """The size of a part. All are equal if the size of the object is known, which some endpoints insist on.

    Otherwise they double every thousand parts: 8 MiB at first, and the 10,000th still leads past what S3 can hold.
    """
    if size is None:
        return smallest << (number // _GROWS)
    whole = -(-max(size, 1) // PARTS)
    return max(smallest, -(-whole // MIB) * MIB)


@dataclass(frozen=True)
class Sending:
    """How an object is sent: to a place in a bucket, in parts of at least `smallest` bytes, `parallel` at once."""

    client: Any
    place: Mapping[str, str]
    executor: Executor
    parallel: int
    smallest: int
    #: the size of the object, where it is known
    size: int | None


class S3Upload(Writing):
    """Holds at most a few parts in memory, sends them side by side, and removes them from the service if it fails."""

    def __init__(
        self,
        sending: Sending,
        key: str,
        content_type: str | None,
        metadata: Mapping[str, str] | None,
        sha256: str | None,
        *,
        if_absent: bool = False,
    ) -> None:
        super().__init__(key, content_type, metadata, sha256, if_absent=if_absent)
        self._client = sending.client
        self._place = sending.place
        self._executor = sending.executor
        self._parallel = sending.parallel
        self._smallest = sending.smallest
        self._total = sending.size
        self._condition = {"IfNoneMatch": "*"} if if_absent else {}
        self._rest = bytearray()
        self._id: str | None = None
        self._sent = 0
        self._under_way: deque[Future[dict[str, Any]]] = deque()
        self._parts: list[dict[str, Any]] = []

    def _write(self, chunk: bytes | memoryview) -> None:
        self._rest += chunk
        # The last part is sent by `finish`, which needs something to send.
        while len(self._rest) > (most := part_size(self._total, self._sent, self._smallest)):
            self._send(bytes(memoryview(self._rest)[:most]))
            del self._rest[:most]

    def _send(self, part: bytes) -> None:
        with failures(self.key):
            if self._id is None:
                self._id = self._client.create_multipart_upload(**self._described(self.expected))["UploadId"]
            while len(self._under_way) >= self._parallel:
                self._parts.append(self._under_way.popleft().result())
        self._sent += 1
        self._under_way.append(self._executor.submit(self._send_part, self._sent, part))

    def _send_part(self, number: int, part: bytes) -> dict[str, Any]:
        answer = self._client.upload_part(**self._place, UploadId=self._id, PartNumber=number, Body=part)
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def _finish(self, digest: str) -> ObjectInfo:
        if self._id is None:
            with self._failures():
                answer = self._client.put_object(**self._described(digest), **self._condition, Body=bytes(self._rest))
            return self._info(answer, digest)
        self._send(bytes(self._rest))
        with self._failures():
            while self._under_way:
                self._parts.append(self._under_way.popleft().result())
            whole = {"UploadId": self._id, "MultipartUpload": {"Parts": self._parts}}
            answer = self._client.complete_multipart_upload(**self._place, **self._condition, **whole)
        return self._info(answer, digest)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Errors of S3 as ours, where a condition that failed, or another writer at the same moment, means that there is an object."""
        try:
            with failures(self.key):
                if self.if_absent:
                    self._require_absent()
                yield
        except ObjectChanged as error:
            raise ObjectExists(f"The object {self.key!r} exists already.") from error

    def _require_absent(self) -> None:
        """Not every endpoint knows the condition, and some ignore it: the question before makes those right but for a race."""
        with suppress(ObjectMissing), failures(self.key):
            self._client.head_object(**self._place)
            raise ObjectChanged("There is one.")

    def _abort(self) -> None:
        for part in self._under_way:
            part.cancel()
        for part in self._under_way:
            # A part that arrives after the end of its upload would stay, and cost, for ever.
            if not part.cancelled():
                part.exception()
        if self._id is not None:
            # Whatever led here is what the caller is to hear of; `sweep` removes what is left.
            with suppress(ObjectsError), failures(self.key):
                self._client.abort_multipart_upload(**self._place, UploadId=self._id)

    def _described(self, digest: str | None) -> dict[str, Any]:
        metadata = dict(self.metadata) | ({SHA256: digest} if digest is not None else {})
        return {**self._place, "ContentType": self.content_type, "Metadata": metadata}

    def _info(self, answer: Mapping[str, Any], digest: str) -> ObjectInfo:
        return ObjectInfo(self.key, self.size, etag_of(answer), date_of(answer), self.content_type, self.metadata, digest)
