"""The footer of an object's file, which contains its description.

Content and description are in one file, so they are replaced together by one rename, and there is no second file that could be lost or
collide with a key. The file consists of the content, a JSON object, the length of that object in four bytes, and an 8-byte signature.
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
#: Larger than most footers, so that one read is nearly always enough.
_FIRST_READ = 4096
_MAX_FOOTER = 64 * 1024


def encode_footer(info: ObjectInfo) -> bytes:
    """The footer that follows the content."""
    members = {
        "size": info.size,
        "sha256": info.sha256,
        "type": info.content_type,
        "modified": info.modified.timestamp(),
        "metadata": dict(info.metadata),
    }
    text = json.dumps(members, separators=(",", ":")).encode()
    return text + _END.pack(len(text), _MAGIC)


def read_info(key: str, descriptor: int) -> ObjectInfo:
    """The description of the object in an open file."""
    size = os.fstat(descriptor).st_size
    tail = read_at(descriptor, min(size, _FIRST_READ), max(0, size - _FIRST_READ))
    if len(tail) < _END.size:
        raise Damaged(f"The file of {key!r} is truncated.")
    length, magic = _END.unpack(tail[-_END.size :])
    if magic != _MAGIC or length > min(size, _MAX_FOOTER):
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
        raise Damaged(f"The description of {key!r} is not valid.") from None
    if info.size != size - length - _END.size:
        raise Damaged(f"The file of {key!r} does not have the recorded length.")
    return info


def etag_of(sha256: str) -> str:
    """The etag of content: half of its digest."""
    return sha256[:32]


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """At most `size` bytes from an offset, independent of other threads that use the same descriptor."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)  # pragma: no cover
    return os.read(descriptor, size)  # pragma: no cover
