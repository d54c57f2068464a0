"""Downloads from a bucket, resumed if the connection breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from gateleg.objects.bodies import CHUNK_SIZE, verify_chunks
from gateleg.objects.errors import StorageFailed
from gateleg.objects.s3.error_translation import translated_errors
from gateleg.objects.s3.responses import parse_info

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.objects.values import ByteRange

#: The maximum number of attempts to resume a download without receiving a byte.
_ATTEMPTS = 4


class S3Download:
    """Reads the version of the object that it opened. If the object is replaced meanwhile, it may raise `ObjectChanged`."""

    def __init__(self, client: Any, place: Mapping[str, str], key: str, range: ByteRange | None, unless_etag: str | None) -> None:
        self._client = client
        self._place = place
        conditions = {
            **({"Range": range.header} if range is not None else {}),
            **({"IfNoneMatch": f'"{unless_etag}"'} if unless_etag is not None else {}),
        }
        with translated_errors(key):
            response = client.get_object(**place, **conditions)
        self._body: Any = response["Body"]
        self.start, self.stop, size = _extent(response)
        self.info = parse_info(key, response, size)

    def __iter__(self) -> Iterator[bytes]:
        return verify_chunks(self._chunks(), self.info) if self.stop - self.start == self.info.size else self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        offset = self.start
        left = _ATTEMPTS
        while offset < self.stop:
            try:
                chunk: bytes = self._body.read(min(CHUNK_SIZE, self.stop - offset))
            except Exception as error:
                chunk = b""
                if not _broken(error):
                    raise
            if chunk:
                offset += len(chunk)
                left = _ATTEMPTS
                yield chunk
            elif left:
                left -= 1
                self._resume(offset)
            else:
                raise StorageFailed(f"The connection was lost repeatedly while reading {self.info.key!r}.")

    def _resume(self, offset: int) -> None:
        self._body.close()
        with translated_errors(self.info.key):
            response = self._client.get_object(**self._place, Range=f"bytes={offset}-{self.stop - 1}", IfMatch=f'"{self.info.etag}"')
        self._body = response["Body"]

    def close(self) -> None:
        self._body.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _broken(error: Exception) -> bool:
    from botocore.exceptions import HTTPClientError, IncompleteReadError

    return isinstance(error, HTTPClientError | IncompleteReadError | OSError)


def _extent(response: Mapping[str, Any]) -> tuple[int, int, int]:
    """The offset of the first byte, the offset after the last one, and the size of the whole object."""
    length = int(response["ContentLength"])
    header = response.get("ContentRange")
    if not header:
        return 0, length, length
    places, _, size = header.removeprefix("bytes ").partition("/")
    first, _, last = places.partition("-")
    return int(first), int(last) + 1, int(size)
