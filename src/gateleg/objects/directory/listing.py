"""List the objects of a tree in key order, starting after any key, and visiting only folders that can contain matching keys."""

from __future__ import annotations

import heapq
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_object_key
from gateleg.objects.directory.files import OBJECT, PART, SUBFOLDER, parse_name, read_info
from gateleg.objects.errors import BadCursor, Damaged, OutsideRoot
from gateleg.objects.values import Entry, ObjectPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateleg.objects.directory.tree import Folder

#: Greater than every byte of UTF-8.
_LAST = b"\xff"
_ORDER = {OBJECT: 0, PART: 1, SUBFOLDER: 2}


@dataclass(frozen=True, slots=True)
class KeySelection:
    """The requested keys: those that begin with `prefix` and come after `after`."""

    prefix: bytes
    after: bytes

    def contains(self, key: bytes) -> bool:
        """Whether a key matches."""
        return key > self.after and key.startswith(self.prefix)

    def may_contain(self, beginning: bytes) -> bool:
        """Whether a key that begins like this can match."""
        return (beginning > self.after or self.after.startswith(beginning)) and (
            beginning.startswith(self.prefix) or self.prefix.startswith(beginning)
        )


@dataclass(frozen=True, slots=True, order=True)
class TreeEntry:
    """An object's file, or a folder with the prefix that all keys in it share."""

    key: bytes
    rank: int
    path: tuple[str, ...]


def walk(keys: Folder, bounds: KeySelection, top: TreeEntry | None = None) -> Iterator[TreeEntry]:
    """The entries of matching objects, in key order. Objects created or deleted meanwhile may or may not be included."""
    waiting = [_within(keys, top or TreeEntry(b"", 2, ()), bounds)]
    while waiting:
        group = next(waiting[-1], None)
        if group is None:
            waiting.pop()
        elif group[0].rank == 0:
            if _is_key(group[0].key):
                yield group[0]
        elif len(group) == 1:
            waiting.append(_within(keys, group[0], bounds))
        else:
            yield from heapq.merge(*(walk(keys, bounds, place) for place in group))


def _is_key(key: bytes) -> bool:
    """Whether a key is valid: files that other programs created may have names that no valid key produces."""
    try:
        check_object_key(key.decode())
    except (UnicodeDecodeError, S3KeyRefused):
        return False
    return True


def _within(keys: Folder, top: TreeEntry, bounds: KeySelection) -> Iterator[tuple[TreeEntry, ...]]:
    """The entries of a folder in key order. Two folders whose keys interleave are returned together."""
    try:
        with keys.descend(top.path) as folder:
            names = folder.names()
    except (FileNotFoundError, OutsideRoot):
        return
    previous: TreeEntry | None = None
    for key, rank, name in sorted(_wanted(names, top.key, bounds)):
        place = TreeEntry(key, rank, (*top.path, name))
        # `~X` contains keys such as X! and X0, and `+X` those that begin with X/, which sort between the two.
        if previous is not None and previous.rank == 1 and rank == 2 and key == previous.key + b"/":
            yield previous, place
            previous = None
            continue
        if previous is not None:
            yield (previous,)
        previous = place
    if previous is not None:
        yield (previous,)


def _wanted(names: Iterable[str], base: bytes, bounds: KeySelection) -> Iterator[tuple[bytes, int, str]]:
    """The names of a folder that lead to matching keys, with the key or key prefix that each encodes."""
    for name in names:
        parsed = parse_name(name)
        if parsed is not None:
            kind, piece = parsed
            key = base + piece + b"/" if kind == SUBFOLDER else base + piece
            if bounds.contains(key) if kind == OBJECT else bounds.may_contain(key):
                yield key, _ORDER[kind], name


class DescriptionReader:
    """Reads descriptions of objects one after the other, and keeps the last folder open for the next object."""

    def __init__(self, keys: Folder) -> None:
        self._keys = keys
        self._path: tuple[str, ...] | None = None
        self._folder: Folder | None = None

    def entry(self, place: TreeEntry) -> Entry | None:
        """The object of a tree entry. None if it no longer exists, or was replaced by a link."""
        try:
            if self._folder is None or place.path[:-1] != self._path:
                self.close()
                self._folder = self._keys.descend(place.path[:-1])
                self._path = place.path[:-1]
            descriptor = self._folder.read(place.path[-1])
        except (FileNotFoundError, OutsideRoot):
            return None
        key = place.key.decode()
        try:
            info = read_info(key, descriptor)
            return Entry(info.key, info.size, info.etag, info.modified)
        except Damaged:
            # Listed, so that it can be found and deleted.
            status = os.fstat(descriptor)
            return Entry(key, status.st_size, "damaged", datetime.fromtimestamp(status.st_mtime, UTC))
        finally:
            os.close(descriptor)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.close()
            self._folder = None


def page(keys: Folder, prefix: str, delimiter: str | None, after: bytes, limit: int) -> ObjectPage:
    """A page of the objects after a key."""
    objects: list[Entry] = []
    prefixes: list[str] = []
    reader = DescriptionReader(keys)
    places = walk(keys, KeySelection(prefix.encode(), after))
    try:
        while (place := next(places, None)) is not None:
            shared = _shared(place.key.decode(), prefix, delimiter)
            entry = reader.entry(place) if shared is None else None
            if shared is None and entry is None:
                continue
            if len(objects) + len(prefixes) == limit:
                return ObjectPage(tuple(objects), tuple(prefixes), encode_cursor(after))
            if shared is None:
                assert entry is not None
                objects.append(entry)
                after = place.key
            else:
                prefixes.append(shared)
                after = shared.encode() + _LAST
                places = walk(keys, KeySelection(prefix.encode(), after))
    finally:
        reader.close()
    return ObjectPage(tuple(objects), tuple(prefixes))


def _shared(key: str, prefix: str, delimiter: str | None) -> str | None:
    """The part of a key up to the first delimiter after the prefix."""
    if not delimiter:
        return None
    head, separator, _ = key[len(prefix) :].partition(delimiter)
    return prefix + head + separator if separator else None


def encode_cursor(after: bytes) -> str:
    """The cursor for a position in a listing."""
    return urlsafe_b64encode(after).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> bytes:
    """The position of a cursor. Raises `BadCursor`."""
    if cursor is None:
        return b""
    try:
        return urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raise BadCursor("The cursor is not valid.") from None
