"""Content type and metadata of an object, validated so that every store can hold them."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING

from gateleg.objects.errors import BadMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["content_type_of"]

#: Names with this beginning are the stores' own.
OWN = "gateleg-"
#: S3 counts the bytes of names and values together.
LIMIT = 2048

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?|")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+( *; *[\w.+-]+=(\"[ !#-\[\]-~]*\"|[\w.+-]+))*", re.ASCII)
#: Types that browsers play or show and that Python's own table does not have in every version.
_MORE = {
    ".avif": "image/avif",
    ".flac": "audio/flac",
    ".gltf": "model/gltf+json",
    ".jsonl": "application/jsonl",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mkv": "video/x-matroska",
    ".ogg": "audio/ogg",
    ".parquet": "application/vnd.apache.parquet",
    ".wav": "audio/wav",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".yaml": "application/yaml",
}


def _table() -> mimetypes.MimeTypes:
    # Not the machine's own files: the same key has the same type everywhere.
    table = mimetypes.MimeTypes(filenames=(), strict=False)
    for suffix, kind in _MORE.items():
        table.add_type(kind, suffix)
    return table


_TYPES = _table()


def content_type_of(key: str, given: str | None = None) -> str:
    """The content type that was given, checked, or the one that the key's ending stands for."""
    if given is None:
        _, dot, ending = key.rpartition("/")[2].rpartition(".")
        guessed, encoding = _TYPES.guess_type(f"name{dot}{ending.lower()}", strict=False)
        return guessed if guessed is not None and encoding is None else "application/octet-stream"
    if len(given) > 255 or not _TYPE.fullmatch(given):
        raise BadMetadata(f"{given[:60]!r} is not a content type.", fix="Write it as in image/png or text/html; charset=utf-8.")
    return given


def checked_metadata(metadata: Mapping[str, str] | None) -> Mapping[str, str]:
    """The metadata as a value of its own, or a refusal that names what is wrong."""
    kept = dict(metadata or {})
    for name, value in kept.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadMetadata(f"{name!r} is not a valid metadata name.")
        if name.startswith(OWN):
            raise BadMetadata(f"{name!r} begins with {OWN!r}, which is taken.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise BadMetadata(f"The value of {name!r} cannot be kept in a header.")
    if sum(len(name) + len(value) for name, value in kept.items()) > LIMIT:
        raise BadMetadata("There is too much metadata.")
    return kept
