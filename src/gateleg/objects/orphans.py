"""Find and delete orphans, objects that nothing references, page by page.

References are read first, then the objects. An object that is written before its reference is protected by its age, so `older_than` must be
longer than the time between the two writes. An object that is put again under the same key, like an identical large value, counts as new,
because each orphan is checked again right before it is deleted. A put between that check and the deletion is missed.

Keys are kept as 8-byte digests, so a million of them take some tens of megabytes. If two keys share a digest, an orphan may be kept; a
referenced object is never deleted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.objects.errors import NothingReferenced, ObjectMissing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from gateleg.objects.awaited import AsyncObjects
    from gateleg.objects.protocol import Objects
    from gateleg.objects.values import Entry, ObjectPage

_AGE = timedelta(days=1)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class References:
    """The keys that are in use at a point in time. Create it with `References.read`."""

    digests: frozenset[int]
    read_at: datetime

    @classmethod
    def read(cls, keys: Iterable[str], *, allow_empty: bool = False, now: Callable[[], datetime] = _now) -> References:
        """Collect the keys that are in use. The age of objects is measured from the start of this call.

        Raises `NothingReferenced` if there are no keys, unless `allow_empty`.
        """
        moment = now()
        digests = frozenset(_digest(key) for key in keys)
        if not digests and not allow_empty:
            raise NothingReferenced("No key is referenced.")
        return cls(digests, moment)

    def orphans(self, page: ObjectPage, older_than: timedelta) -> tuple[Entry, ...]:
        """The objects of a page that nothing references and that are older than `older_than`."""
        horizon = self.read_at - older_than
        return tuple(entry for entry in page.objects if entry.modified < horizon and _digest(entry.key) not in self.digests)


def _digest(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class CollectedOrphans:
    """The orphans found on one page. Keep `cursor` to continue from here after an interruption."""

    seen: int
    orphans: tuple[Entry, ...]
    #: False in a dry run
    deleted: bool
    cursor: str | None

    @property
    def size(self) -> int:
        """The total size of the orphans in bytes."""
        return sum(entry.size for entry in self.orphans)


def collect_orphans(
    objects: Objects,
    references: References,
    *,
    prefix: str = "",
    older_than: timedelta = _AGE,
    dry_run: bool = True,
    cursor: str | None = None,
    page_size: int = 1000,
) -> Iterator[CollectedOrphans]:
    """Find the orphans below `prefix`, page by page, and delete them unless it is a dry run (the default).

    `older_than` protects objects whose reference may not be written yet. Pass the last `cursor` to continue after an interruption.
    """
    while True:
        page = objects.list(prefix, cursor=cursor, limit=page_size)
        orphans = references.orphans(page, older_than)
        if not dry_run:
            orphans = tuple(entry for entry in orphans if _delete_if_unchanged(objects, entry))
        cursor = page.cursor
        yield CollectedOrphans(len(page.objects), orphans, not dry_run, cursor)
        if cursor is None:
            return


async def collect_orphans_async(
    objects: AsyncObjects,
    references: References,
    *,
    prefix: str = "",
    older_than: timedelta = _AGE,
    dry_run: bool = True,
    cursor: str | None = None,
    page_size: int = 1000,
) -> AsyncIterator[CollectedOrphans]:
    """As `collect_orphans`, awaited."""
    while True:
        page = await objects.list(prefix, cursor=cursor, limit=page_size)
        orphans = references.orphans(page, older_than)
        if not dry_run:
            orphans = tuple([entry for entry in orphans if await _delete_if_unchanged_async(objects, entry)])
        cursor = page.cursor
        yield CollectedOrphans(len(page.objects), orphans, not dry_run, cursor)
        if cursor is None:
            return


def _is_unchanged(entry: Entry, modified: datetime) -> bool:
    """Whether an object still has the time of its entry. Some servers list fractions of a second, which headers cannot have."""
    return entry.modified.replace(microsecond=0) == modified.replace(microsecond=0)


def _delete_if_unchanged(objects: Objects, entry: Entry) -> bool:
    """Delete an object if it has not changed since it was listed. Returns whether it was deleted."""
    try:
        same = _is_unchanged(entry, objects.head(entry.key).modified)
    except ObjectMissing:
        return False
    if same:
        objects.delete(entry.key)
    return same


async def _delete_if_unchanged_async(objects: AsyncObjects, entry: Entry) -> bool:
    try:
        same = _is_unchanged(entry, (await objects.head(entry.key)).modified)
    except ObjectMissing:
        return False
    if same:
        await objects.delete(entry.key)
    return same
