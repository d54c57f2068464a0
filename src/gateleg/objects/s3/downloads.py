"""Content on its way out of a bucket: when the connection breaks, it goes on where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from gateleg.objects.bodies import CHUNK, verified
from gateleg.objects.errors import StorageFailed
from gateleg.objects.s3.answers import info_of
from gateleg.objects.s3.failures import failures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gateleg.objects.values import ByteRange

#: How often a download is taken up again without a byte of progress.
_TRIES = 4


class S3Download:
    """Reads the object that it was begun with, and no other: if that is replaced meanwhile, reading on ends with `ObjectChanged`."""

    def __init__(self, client: Any, place: Mapping[str, str], key: str, range: ByteRange | None, unless_etag: str | None) -> None:
        self._client = client
        self._place = place
        asked = {
            **({"Range": range.header} if range is not None else {}),
            **({"IfNoneMatch": f'"{unless_etag}"'} if unless_etag is not None else {}),
        }
        with failures(key):
            answer = client.get_object(**place, **asked)
        self._body: Any = answer["Body"]
        self.start, self.stop, size = _extent(answer)
        self.info = info_of(key, answer, size)

    def __iter__(self) -> Iterator[bytes]:
        return verified(self._chunks(), self.info) if self.stop - self.start == self.info.size else self._chunks()

    def _chunks(self) -> Iterator[bytes]:
        place = self.start
        left = _TRIES
        while place < self.stop:
            try:
                chunk: bytes = self._body.read(min(CHUNK, self.stop - place))
            except Exception as error:
                chunk = b""
                if not _broken(error):
                    raise
            if chunk:
                place += len(chunk)
                left = _TRIES
                yield chunk
            elif left:
                left -= 1
                self._resume(place)
            else:
                raise StorageFailed(f"The connection broke again and again while {self.info.key!r} was read.")

    def _resume(self, place: int) -> None:
        self._body.close()
        with failures(self.info.key):
            again = self._client.get_object(**self._place, Range=f"bytes={place}-{self.stop - 1}", IfMatch=f'"{self.info.etag}"')
        self._body = again["Body"]

    def close(self) -> None:
        """Close the connection."""
        self._body.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _broken(error: Exception) -> bool:
    from botocore.exceptions import HTTPClientError, IncompleteReadError

    return isinstance(error, HTTPClientError | IncompleteReadError | OSError)


def _extent(answer: Mapping[str, Any]) -> tuple[int, int, int]:
    """The first place, the place after the last, and the size of the whole object."""
    length = int(answer["ContentLength"])
    header = answer.get("ContentRange")
    if not header:
        return 0, length, length
    places, _, size = header.removeprefix("bytes ").partition("/")
    first, _, last = places.partition("-")
    return int(first), int(last) + 1, int(size)
