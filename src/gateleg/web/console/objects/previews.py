"""What can be shown of an object, by its type and size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from gateleg.objects.descriptions import content_type_of

Kind = Literal["image", "video", "audio", "html", "json", "text", "none"]

#: What is shown as text is read into the page; more than this is not.
TEXT_LIMIT = 256 * 1024
JSON_LIMIT = 1024 * 1024
_TEXTS = frozenset(
    {
        "application/javascript",
        "application/jsonl",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-sh",
        "application/xml",
        "application/yaml",
    }
)
#: What browsers show as pictures; others are for downloading.
_IMAGES = frozenset(f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "svg+xml", "bmp", "x-icon", "vnd.microsoft.icon"))


def kind_of(content_type: str) -> Kind:
    """How content of a type is shown."""
    plain = content_type.partition(";")[0].strip().lower()
    if plain in _IMAGES:
        return "image"
    if plain.startswith("video/"):
        return "video"
    if plain.startswith("audio/"):
        return "audio"
    if plain in ("text/html", "application/xhtml+xml"):
        return "html"
    if plain == "application/json" or plain.endswith("+json"):
        return "json"
    return "text" if plain.startswith("text/") or plain in _TEXTS else "none"


def kind_of_key(key: str) -> Kind:
    """How an object is probably shown, from its key alone: a listing does not say its type."""
    return kind_of(content_type_of(key))


@dataclass(frozen=True)
class Excerpt:
    """Text to show, and what to say about it."""

    text: str
    note: str = ""


def how_much(kind: Kind) -> int:
    """How many bytes are read for a preview in text."""
    return JSON_LIMIT if kind == "json" else TEXT_LIMIT


def excerpt(content: bytes, kind: Kind, size: int) -> Excerpt:
    """The text of an object, or the beginning of it; JSON is laid out when all of it is there."""
    whole = len(content) >= size
    text = content.decode("utf-8", "replace")
    if kind == "json" and whole:
        try:
            return Excerpt(json.dumps(json.loads(content), indent=2, ensure_ascii=False))
        except ValueError:
            return Excerpt(text, "This is called JSON and is none; it is shown as it is.")
    if not whole:
        # A character may be cut in two where the excerpt ends.
        return Excerpt(text.rstrip("\ufffd"), f"The first {len(content):,} of {size:,} bytes.")
    broken = "\ufffd" in text
    return Excerpt(text, "Some bytes are not UTF-8 text and are shown as \ufffd." if broken else "")
