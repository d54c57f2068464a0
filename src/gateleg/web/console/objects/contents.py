"""Checks whether the content of a file matches its name, by its first bytes."""

from __future__ import annotations

#: How many bytes of a file are checked.
HEAD = 512
#: Signatures by type: bytes and their offset.
_BEGINNINGS: dict[str, tuple[tuple[int, bytes], ...]] = {
    "image/png": ((0, b"\x89PNG\r\n\x1a\n"),),
    "image/jpeg": ((0, b"\xff\xd8\xff"),),
    "image/gif": ((0, b"GIF87a"), (0, b"GIF89a")),
    "image/webp": ((8, b"WEBP"),),
    "image/avif": ((4, b"ftyp"),),
    "video/mp4": ((4, b"ftyp"),),
    "video/webm": ((0, b"\x1a\x45\xdf\xa3"),),
    "video/x-matroska": ((0, b"\x1a\x45\xdf\xa3"),),
    "audio/mp4": ((4, b"ftyp"),),
    "audio/wav": ((8, b"WAVE"),),
    "audio/x-wav": ((8, b"WAVE"),),
    "audio/flac": ((0, b"fLaC"),),
    "audio/ogg": ((0, b"OggS"),),
    "audio/mpeg": ((0, b"ID3"), (0, b"\xff\xfb"), (0, b"\xff\xf3"), (0, b"\xff\xf2"), (0, b"\xff\xfa")),
    "application/pdf": ((0, b"%PDF-"),),
    "application/zip": ((0, b"PK\x03\x04"), (0, b"PK\x05\x06")),
    "application/gzip": ((0, b"\x1f\x8b"),),
    "application/vnd.apache.parquet": ((0, b"PAR1"),),
}


def contradiction(content_type: str, head: bytes) -> str:
    """Why content cannot be of a type, by its first bytes; empty if it can."""
    plain = content_type.partition(";")[0].strip().lower()
    known = _BEGINNINGS.get(plain)
    if known is not None and not any(head[at:].startswith(mark) for at, mark in known):
        return f"Its name says {plain}, but its content is something else."
    if (plain.startswith("text/") or plain.endswith(("/json", "+json", "+xml"))) and b"\x00" in head:
        return f"Its name says {plain}, but its content is not text."
    return ""
