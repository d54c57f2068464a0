"""Map keys to file names: each key has a distinct path, whatever the file system does with names. No I/O.

A key becomes a path. Each segment but the last is a folder, `+segment`; the last one is a file, `=segment`. So "a" and "a/b" do not
collide, no name is `.`, `..` or empty, and none is a Windows device. A segment of more than 80 bytes continues in a folder `~piece`.
Lower-case letters, digits, `-`, `_` and `.` are kept; every other byte, including capitals, is written as `%` and two hexadecimal digits.
All names are lower-case ASCII of at most 241 characters, so that neither letter case nor Unicode normalisation can make two keys collide.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["=", "+", "~"]
OBJECT, FOLDER, PART = "=", "+", "~"

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
        names += _names(segment, FOLDER)
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
