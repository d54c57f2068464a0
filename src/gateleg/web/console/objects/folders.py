"""Objects as folders: keys are flat, and every slash is shown as a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.objects import ObjectPage

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


def new_key(prefix: str, name: str) -> str:
    """The key of an uploaded file. Browsers may send a path, of which only the name is used."""
    return f"{prefix}{name.replace(chr(92), '/').rpartition('/')[2]}"
