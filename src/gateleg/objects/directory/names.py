"""Keys and the names of files: each key has its own place, whatever the file system makes of names. Pure.

A key becomes a path of names. A segment that another follows is a folder, `+segment`; the last one is a file, `=segment`. So "a" and "a/b"
do not meet, no name is `.`, `..` or empty, and none is a device of Windows. A segment of more than 80 bytes goes on in a folder `~piece`.
Lower-case letters, digits, `-`, `_` and `.` stand for themselves; every other byte, capitals too, is written as `%` and two hexadecimal
digits. All names are plain lower-case ASCII of at most 241 characters, so that neither letter case nor Unicode normalisation can bring two
keys together.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["=", "+", "~"]
OBJECT, FOLDER, PART = "=", "+", "~"

_PIECE = 80
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-_.")
_NAME = re.compile(r"([=+~])((?:[a-z0-9_.-]|%[0-9a-f]{2})*)")
#: Names that need no second look, which are nearly all.
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
    # Windows drops a dot at the end of a name.
    return f"{text[:-1]}%2e" if text.endswith(".") else text


def piece_of(name: str) -> tuple[str, bytes] | None:
    """What kind of name it is and which bytes of keys it stands for; None for what no key has made."""
    if _USUAL.fullmatch(name):
        return name[0], name[1:].encode()
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, text = match.groups()
    piece = _ESCAPED.sub(lambda escape: bytes.fromhex(escape[1].decode()), text.encode())
    # What is written in another way than ours would give one key two places.
    return (kind, piece) if _escaped(piece) == text and len(piece) <= _PIECE and b"/" not in piece else None
