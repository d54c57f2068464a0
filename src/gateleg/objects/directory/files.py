"""The files of objects: their names, and the footers that describe their content. No I/O but `read_at`.

A key becomes a path, and each key has a distinct one, whatever the file system does with names. Each segment but the last is a folder,
`+segment`; the last one is a file, `=segment`. So "a" and "a/b" do not collide, no name is `.`, `..` or empty, and none is a Windows
device. A segment of more than 80 bytes continues in a folder `~piece`. Lower-case letters, digits, `-`, `_` and `.` are kept; every other
byte, including capitals, is written as `%` and two hexadecimal digits. All names are lower-case ASCII of at most 241 characters, so that
neither letter case nor Unicode normalisation can make two keys collide.

Content and description are in one file, so they are replaced together by one rename, and there is no second file that could be lost or
collide with a key. The file consists of the content, a JSON object, the length of that object in four bytes, and an 8-byte signature.
"""

from __future__ import annotations

import json
import os
import re
import struct
from datetime import UTC, datetime
from typing import Literal

from gateleg.objects.errors import Damaged
from gateleg.objects.values import ObjectInfo

Kind = Literal["=", "+", "~"]
OBJECT, SUBFOLDER, PART = "=", "+", "~"

_PIECE = 80
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_NAME = re.compile(r"([=+~])((?:[a-z0-9_.-]|%[0-9a-f]{2})*)")
#: Names without escapes, which are nearly all.
_USUAL = re.compile(rf"[=+~](?:[a-z0-9_.-]{{0,{_PIECE - 1}}}[a-z0-9_-])?")
_ESCAPED = re.compile(rb"%([0-9a-f]{2})")


def path_of(key: str) -> tuple[str, ...]:
    """The names of the folders, from the top, and of the file."""
    names = []
    *folders, last = key.encode().split(b"/")
    for segment in folders:
        names += _names(segment, SUBFOLDER)
    return (*names, *_names(last, OBJECT))


def _names(segment: bytes, kind: str) -> list[str]:
    pieces = [segment[start : start + _PIECE] for start in range(0, len(segment), _PIECE)] or [b""]
    return [*(PART + _escaped(piece) for piece in pieces[:-1]), kind + _escaped(pieces[-1])]


def _escaped(piece: bytes) -> str:
    text = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in piece)
    # Windows drops a trailing dot.
    return f"{text[:-1]}%2e" if text.endswith(".") else text


def parse_name(name: str) -> tuple[str, bytes] | None:
    """The kind of a name and the bytes of the key that it encodes. None for names that no key produces."""
    if _USUAL.fullmatch(name):
        return name[0], name[1:].encode()
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, text = match.groups()
    piece = _ESCAPED.sub(lambda escape: bytes.fromhex(escape[1].decode()), text.encode())
    # A non-canonical encoding would give one key two paths.
    return (kind, piece) if _escaped(piece) == text and len(piece) <= _PIECE and b"/" not in piece else None


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
