"""Detect the media type of content by its bytes, never by its name."""

from __future__ import annotations

import codecs
import json
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ARCHIVES", "HEAD", "TAIL", "TYPES", "sniff", "sniff_file"]

#: The number of bytes from the start and from the end that are needed to detect the type.
HEAD = 4096
TAIL = 65_536
UNKNOWN = "application/octet-stream"

_OOXML = "application/vnd.openxmlformats-officedocument."
_DOCX, _XLSX, _PPTX = (f"{_OOXML}{kind}" for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation"))
#: File signatures: offset, bytes, media type.
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
)
#: Types of RIFF and ISO containers by their four-letter codes.
_RIFF = {b"WAVE": "audio/wav", b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}
_BRANDS = {b"M4A ": "audio/mp4", b"M4B ": "audio/mp4", b"qt  ": "video/quicktime", b"avif": "image/avif", b"heic": "image/heic"}
_ZIPPED = ((b"word/", _DOCX), (b"xl/", _XLSX), (b"ppt/", _PPTX))
#: Types that are ZIP archives: their last bytes determine which.
ARCHIVES = frozenset({"application/zip", *(kind for _, kind in _ZIPPED)})
_BLANKS = re.compile(rb"\s*")
_HTML_TAG = re.compile(rb"<(?:!doctype html|html|head|body|title|script|table|div|p|h1)[\s>]", re.IGNORECASE)
_MAIL = re.compile(
    rb"(?:(?:received|return-path|delivered-to|from|to|subject|date|message-id|mime-version|x-[\w-]+|content-[\w-]+|dkim-signature)"
    rb":[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*\r?\n){2,}",
    re.IGNORECASE,
)
_DELIMITERS = ",;\t"

#: All types that can be detected, for routes that declare what they accept.
TYPES = frozenset(
    {kind for _, _, kind in _MAGIC}
    | set(_RIFF.values())
    | set(_BRANDS.values())
    | {_DOCX, _XLSX, _PPTX, "application/zip", "audio/ogg", "video/ogg", "video/mp4", "video/webm", "video/x-matroska"}
    | {"text/html", "text/plain", "text/csv", "application/json", "message/rfc822", "image/svg+xml", "application/xml"}
)


def sniff(head: bytes, tail: bytes = b"") -> str:
    """The media type of content that begins with `head` (at least `HEAD` bytes); `application/octet-stream` if unknown.

    An office document is a ZIP archive that is recognised by the names of its entries, which are in its last bytes: `tail`, up to `TAIL`.
    """
    for place, magic, kind in _MAGIC:
        if head[place : place + len(magic)] == magic:
            return kind
    return _container(head, tail) or _sound(head) or _text(head) or UNKNOWN


def sniff_file(path: Path) -> str:
    """The media type of a file's content."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        return sniff(head, file.read(TAIL))


def _container(head: bytes, tail: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[4:8] in (b"moov", b"mdat", b"wide") and len(head) > 12:
        return "video/quicktime"
    if head[:4] == b"OggS":
        return "video/ogg" if b"\x80theora" in head[:200] else "audio/ogg"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "video/webm" if b"webm" in head[:100] else "video/x-matroska"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        names = head + tail
        return next((kind for start, kind in _ZIPPED if b"[Content_Types].xml" in names and start in names), "application/zip")
    return None


def _sound(head: bytes) -> str | None:
    """MPEG audio without a tag: a frame header with valid fields."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer, rate, frequency = head[1] >> 3 & 3, head[1] >> 1 & 3, head[2] >> 4, head[2] >> 2 & 3
    return "audio/mpeg" if version != 1 and layer == 1 and rate not in (0, 15) and frequency != 3 else None


def _text(head: bytes) -> str | None:
    text = _decoded(head)
    if text is None:
        return None
    plain = text.lstrip("\ufeff").encode()
    start = plain.lstrip()
    if _is_html(plain):
        return "text/html"
    if start.startswith((b"<?xml", b"<svg")):
        return "image/svg+xml" if b"<svg" in start[:1000] else "text/html" if b"<html" in start[:1000].lower() else "application/xml"
    if _MAIL.match(plain):
        return "message/rfc822"
    if _is_json(start.decode(), whole=len(head) < HEAD):
        return "application/json"
    return "text/csv" if _is_table(text.lstrip("\ufeff"), whole=len(head) < HEAD) else "text/plain"


def _decoded(head: bytes) -> str | None:
    """The bytes as text: UTF-8, UTF-16 with a byte order mark, or a legacy encoding if no byte rules it out."""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return head.decode("utf-16", "ignore")
    if any(byte < 9 or 13 < byte < 27 for byte in head):
        return None
    try:
        # The last character may be cut off.
        return codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        high = sum(byte >= 0x80 for byte in head)
        return head.decode("latin-1") if high * 4 < len(head) else None


def _is_html(text: bytes) -> bool:
    """Whether a text begins with a tag of HTML, after any comments. Reads each byte once, as no expression would."""
    place = 0
    while text.startswith(b"<!--", place := _after_blanks(text, place)):
        end = text.find(b"-->", place + len(b"<!--"))
        if end < 0:
            return False
        place = end + len(b"-->")
    return _HTML_TAG.match(text, place) is not None


def _after_blanks(text: bytes, place: int) -> int:
    blanks = _BLANKS.match(text, place)
    return place if blanks is None else blanks.end()


def _is_json(text: str, *, whole: bool) -> bool:
    if not text.startswith(("{", "[")):
        return False
    if whole:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
        return True
    return bool(re.match(r'\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})|\[\s*(?:[\[{"\d\-tfn\]])', text))


def _is_table(text: str, *, whole: bool) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    lines = lines if whole else lines[:-1]
    if len(lines) < 2:
        return False
    for delimiter in _DELIMITERS:
        # Commas within quotes do not separate cells. Prose has commas too, but not the same number in each line.
        counts = {re.sub(r'"[^"]*"', "", line).count(delimiter) for line in lines[:50]}
        if len(counts) == 1 and counts != {0}:
            return True
    return False
