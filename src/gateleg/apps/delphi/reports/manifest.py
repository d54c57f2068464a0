"""The list of files that a run has written into a folder, by which the next run can remove outdated ones. Pure."""

from __future__ import annotations

from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

MANIFEST = "files.json"


def manifest_of(files: Mapping[str, bytes]) -> bytes:
    """A JSON object of file names and content hashes."""
    return orjson.dumps({name: sha256(content).hexdigest() for name, content in sorted(files.items())}, option=orjson.OPT_INDENT_2)


def leftovers(manifest: bytes, files: Collection[str], content_of: Callable[[str], bytes | None]) -> list[str]:
    """The unchanged files of an earlier run that the new one does not have.

    A manifest that cannot be parsed yields none; names outside the folder are ignored.
    """
    try:
        listed = orjson.loads(manifest)
    except orjson.JSONDecodeError:
        return []
    if not isinstance(listed, dict):
        return []
    inside = [name for name in listed if isinstance(name, str) and _is_inside(name)]
    return [name for name in inside if name not in files and _is_unchanged(content_of(name), listed[name])]


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _is_unchanged(content: bytes | None, digest: object) -> bool:
    return content is not None and sha256(content).hexdigest() == digest
