"""Request bodies: any kind of content as chunks, with a verified digest."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from gateleg.objects.errors import Damaged
from gateleg.objects.protocol import Readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.objects.protocol import Body
    from gateleg.objects.values import ObjectInfo

#: Enough that the cost of a call does not matter, little enough that many uploads fit into memory.
CHUNK = 256 * 1024


def chunks_of(body: Body) -> Iterator[bytes | memoryview]:
    """The content in chunks, none of them much larger than the caller's own."""
    if isinstance(body, str):
        raise TypeError("A str is not content: encode it, or pass a file as a Path.")
    if isinstance(body, bytes | bytearray | memoryview):
        view = memoryview(body).cast("B")
        yield from (view[start : start + CHUNK] for start in range(0, len(view), CHUNK))
    elif isinstance(body, os.PathLike):
        with open(body, "rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    elif isinstance(body, Readable):
        while chunk := body.read(CHUNK):
            yield chunk
    else:
        yield from body


def size_of(body: object) -> int | None:
    """The size of the content, if it is known without reading it."""
    if isinstance(body, bytes | bytearray | memoryview):
        return memoryview(body).nbytes
    return os.stat(body).st_size if isinstance(body, os.PathLike) else None


def digest_of(body: Body) -> str:
    """The digest of content that can be read twice."""
    digest = hashlib.sha256()
    for chunk in chunks_of(body):
        digest.update(chunk)
    return digest.hexdigest()


def verified(chunks: Iterator[bytes], info: ObjectInfo) -> Iterator[bytes]:
    """The chunks of a whole object, verified against its digest at the end, if it has one."""
    if info.sha256 is None:
        yield from chunks
        return
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != info.sha256:
        raise Damaged(f"The content of {info.key!r} does not match its digest.")
