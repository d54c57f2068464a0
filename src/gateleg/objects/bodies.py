"""Content of any kind as chunks, with a verified digest."""

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

#: Large enough that the cost of a call does not matter, small enough that many uploads fit into memory.
CHUNK_SIZE = 256 * 1024


def chunks_of(body: Body) -> Iterator[bytes | memoryview]:
    """The content in chunks. An iterable's own chunks are passed on unchanged."""
    if isinstance(body, str):
        raise TypeError("The content must not be a str: encode it, or pass a Path to read a file.")
    if isinstance(body, bytes | bytearray | memoryview):
        view = memoryview(body).cast("B")
        yield from (view[start : start + CHUNK_SIZE] for start in range(0, len(view), CHUNK_SIZE))
    elif isinstance(body, os.PathLike):
        with open(body, "rb") as file:
            while chunk := file.read(CHUNK_SIZE):
                yield chunk
    elif isinstance(body, Readable):
        while chunk := body.read(CHUNK_SIZE):
            yield chunk
    else:
        yield from body


def size_of(body: object) -> int | None:
    """The size of the content, if it is known without reading it."""
    if isinstance(body, bytes | bytearray | memoryview):
        return memoryview(body).nbytes
    return os.stat(body).st_size if isinstance(body, os.PathLike) else None


def digest_of(body: Body) -> str:
    """The SHA-256 digest of content that can be read twice."""
    digest = hashlib.sha256()
    for chunk in chunks_of(body):
        digest.update(chunk)
    return digest.hexdigest()


def verify_chunks(chunks: Iterator[bytes], info: ObjectInfo) -> Iterator[bytes]:
    """The chunks of a whole object. Its digest, if known, is verified at the end."""
    if info.sha256 is None:
        yield from chunks
        return
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != info.sha256:
        raise Damaged(f"The content of {info.key!r} does not match its digest.")
