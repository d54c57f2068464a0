"""Content type and metadata of an object, validated so that every store can keep them."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING

from gateleg.objects.errors import BadMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["content_type_of"]

#: Metadata names with this prefix are reserved for the stores.
RESERVED_PREFIX = "gateleg-"
#: The maximum size of all names and values together, as S3 counts it.
MAX_METADATA_BYTES = 2048

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,127}")
_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?|")
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+( *; *[\w.+-]+=(\"[ !#-\[\]-~]*\"|[\w.+-]+))*", re.ASCII)
#: Types of formats that browsers play or show and that Python's table lacks in some versions.
_EXTRA_TYPES = {
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
    # Without the machine's tables, so that a key has the same type on every machine.
    table = mimetypes.MimeTypes(filenames=(), strict=False)
    for suffix, kind in _EXTRA_TYPES.items():
        table.add_type(kind, suffix)
    return table


_TYPES = _table()


def content_type_of(key: str, content_type: str | None = None) -> str:
    """The content type, validated; by default that of the key's extension. Raises `BadMetadata`."""
    if content_type is None:
        _, dot, ending = key.rpartition("/")[2].rpartition(".")
        guessed, encoding = _TYPES.guess_type(f"name{dot}{ending.lower()}", strict=False)
        return guessed if guessed is not None and encoding is None else "application/octet-stream"
    if len(content_type) > 255 or not _CONTENT_TYPE.fullmatch(content_type):
        raise BadMetadata(
            f"{content_type[:60]!r} is not a valid content type.", fix="Use a type such as image/png or text/html; charset=utf-8."
        )
    return content_type


def validate_metadata(metadata: Mapping[str, str] | None) -> Mapping[str, str]:
    """A validated copy of the metadata. Raises `BadMetadata`."""
    kept = dict(metadata or {})
    for name, value in kept.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BadMetadata(f"{name!r} is not a valid metadata name.")
        if name.startswith(RESERVED_PREFIX):
            raise BadMetadata(f"{name!r} begins with {RESERVED_PREFIX!r}, which is reserved.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise BadMetadata(f"The value of {name!r} is not printable ASCII.")
    if sum(len(name) + len(value) for name, value in kept.items()) > MAX_METADATA_BYTES:
        raise BadMetadata(f"The metadata has more than {MAX_METADATA_BYTES:,} bytes.")
    return kept
