"""Previews of objects, by type and size.

Objects as folders: keys are flat, and every slash is shown as a folder.

`DroppedFile`: a drop zone for files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, urlencode

from nicegui import ui

from gateleg.objects.values import content_type_of

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.objects import ObjectPage


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


_ICONS = {
    "folder": "folder",
    "image": "image",
    "video": "movie",
    "audio": "audiotrack",
    "json": "data_object",
    "html": "web",
    "text": "description",
    "none": "insert_drive_file",
}


@dataclass(frozen=True)
class FolderEntry:
    """A folder, or an object in it."""

    #: the key, or the prefix of a folder
    place: str
    #: its last segment
    name: str
    folder: bool
    size: int = 0
    modified: datetime | None = None


@dataclass(frozen=True)
class FolderStep:
    """A breadcrumb on the path to a folder."""

    name: str
    prefix: str


def folder_entries(page: ObjectPage, prefix: str) -> list[FolderEntry]:
    """The entries of a listing: folders first, then objects."""
    folders = [FolderEntry(found, found.removeprefix(prefix).rstrip("/") or found, folder=True) for found in page.prefixes]
    objects = [
        FolderEntry(entry.key, entry.key.removeprefix(prefix) or entry.key, False, entry.size, entry.modified) for entry in page.objects
    ]
    return [*folders, *objects]


def path_to(prefix: str) -> list[FolderStep]:
    """The folders of a prefix, from the outermost on."""
    steps: list[FolderStep] = []
    walked = ""
    for part in prefix.split("/")[:-1]:
        walked += f"{part}/"
        steps.append(FolderStep(part or "/", walked))
    return steps


def folder_of(key: str) -> str:
    """The prefix of an object's folder."""
    head, slash, _ = key.rpartition("/")
    return f"{head}{slash}"


def name_of(key: str) -> str:
    """The last segment of a key."""
    return key.rstrip("/").rpartition("/")[2]


def folder_address(prefix: str = "", cursor: str | None = None) -> str:
    """The address of a folder's page."""
    state = {"prefix": prefix, "cursor": cursor or ""}
    query = urlencode({name: text for name, text in state.items() if text})
    return f"/objects?{query}" if query else "/objects"


def object_address(key: str) -> str:
    """The address of an object's page."""
    return f"/objects?{urlencode({'key': key})}"


def content_address(key: str) -> str:
    """The address at which the host serves the content of an object to signed-in callers."""
    return f"/objects/{quote(key, safe='/-_.~')}"


def icon_of(kind: str) -> str:
    """The icon of a folder, or of an object by its kind of preview."""
    return _ICONS[kind]


class DroppedFile(ui.upload, component="drop.js"):
    """An upload with our own look: a named button, progress for each file, and a way to stop it.

    It has the same arguments and events as `ui.upload`.
    """
