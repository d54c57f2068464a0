"""Previews of objects, by type and size."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from gateleg.objects.values import content_type_of

Kind = Literal["image", "video", "audio", "html", "json", "text", "none"]

#: The maximum size of a text preview.
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
#: Types that browsers show as images; others are downloaded.
_IMAGES = frozenset(f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "avif", "svg+xml", "bmp", "x-icon", "vnd.microsoft.icon"))


def kind_of(content_type: str) -> Kind:
    """The kind of preview for a content type."""
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
    """The likely kind of preview for a key: a listing has no content types."""
    return kind_of(content_type_of(key))


@dataclass(frozen=True)
class Excerpt:
    """A text to show, with a note."""

    text: str
    note: str = ""


def how_much(kind: Kind) -> int:
    """How many bytes are read for a text preview."""
    return JSON_LIMIT if kind == "json" else TEXT_LIMIT


def excerpt(content: bytes, kind: Kind, size: int) -> Excerpt:
    """The text of an object, or its beginning; complete JSON is indented."""
    whole = len(content) >= size
    text = content.decode("utf-8", "replace")
    if kind == "json" and whole:
        try:
            return Excerpt(json.dumps(json.loads(content), indent=2, ensure_ascii=False))
        except ValueError:
            return Excerpt(text, "The content is not valid JSON and is shown as it is.")
    if not whole:
        # The excerpt may end in the middle of a character.
        return Excerpt(text.rstrip("\ufffd"), f"The first {len(content):,} of {size:,} bytes.")
    broken = "\ufffd" in text
    return Excerpt(text, "Some bytes are not UTF-8 text and are shown as \ufffd." if broken else "")
