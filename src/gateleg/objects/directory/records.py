"""The end of an object's file: what the object says about itself, behind its content and in the same file.

So content and description are replaced together, by one rename, and nothing beside the file can be lost or collide with a key. The file is
the content, a JSON object, its length in four bytes, and eight bytes that say what this is.
"""

from __future__ import annotations

import json
import os
import struct
from datetime import UTC, datetime

from gateleg.objects.errors import Damaged
from gateleg.objects.values import ObjectInfo

_MAGIC = b"gateleg1"
_END = struct.Struct(">I8s")
#: More than any description has: one read is nearly always enough.
_GLANCE = 4096
_LARGEST = 64 * 1024


def tail_of(info: ObjectInfo) -> bytes:
    """What is written behind the content."""
    members = {
        "size": info.size,
        "sha256": info.sha256,
        "type": info.content_type,
        "modified": info.modified.timestamp(),
        "metadata": dict(info.metadata),
    }
    text = json.dumps(members, separators=(",", ":")).encode()
    return text + _END.pack(len(text), _MAGIC)


def info_of(key: str, descriptor: int) -> ObjectInfo:
    """The object in an open file."""
    size = os.fstat(descriptor).st_size
    tail = read_at(descriptor, min(size, _GLANCE), max(0, size - _GLANCE))
    if len(tail) < _END.size:
        raise Damaged(f"The file of {key!r} is truncated.")
    length, magic = _END.unpack(tail[-_END.size :])
    if magic != _MAGIC or length > min(size, _LARGEST):
        raise Damaged(f"The file of {key!r} has no valid footer.")
    text = tail[-_END.size - length : -_END.size]
    if len(text) < length:
        text = read_at(descriptor, length, size - _END.size - length)
    try:
        members = json.loads(text)
        info = ObjectInfo(
            key,
            members["size"],
            etag_of(members["sha256"]),
            datetime.fromtimestamp(members["modified"], UTC),
            members["type"],
            dict(members["metadata"]),
            members["sha256"],
        )
    except (ValueError, KeyError, TypeError):
        raise Damaged(f"The description of {key!r} cannot be read.") from None
    if info.size != size - length - _END.size:
        raise Damaged(f"The file of {key!r} does not have the recorded length.")
    return info


def etag_of(sha256: str) -> str:
    """The etag of content: half of its digest."""
    return sha256[:32]


def read_at(descriptor: int, size: int, place: int) -> bytes:
    """At most `size` bytes from a place in a file, whatever another thread does with the same file."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, place)
    os.lseek(descriptor, place, os.SEEK_SET)  # pragma: no cover
    return os.read(descriptor, size)  # pragma: no cover
