"""Objects that items refer to: long values (`Large`), and the deletion of orphans, objects that no item refers to any more.

An item can have at most 400 KB, and every read is billed by its size. Declare values that may become large (a transcript, a prompt, a JSON
result) as `Attr[Large]`. Short content stays in the item, so most items need only one read. Long content becomes an object whose key is its
digest: it is written before the item, equal content is stored once, and it never changes, so a reader of an old version of an item still
finds its content.

`collect_orphans` works page by page. References are read first, then the objects. An object that is written before its reference is
protected by its age, so `older_than` must be longer than the time between the two writes. An object that is put again under the same key,
like an identical large value, counts as new, because each orphan is checked again right before it is deleted. A put between that check and
the deletion is missed.

Keys are kept as 8-byte digests, so a million of them take some tens of megabytes. If two keys share a digest, an orphan may be kept; a
referenced object is never deleted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gateleg.model import Attr, Record, S3Key, field, required
from gateleg.objects.errors import Damaged, NothingReferenced, ObjectMissing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from gateleg.objects.protocol import AsyncObjects, Objects
    from gateleg.objects.values import Entry, ObjectPage

#: Content of up to this size stays in the item: two read units of DynamoDB.
INLINE_BYTES = 8 * 1024
_AGE = timedelta(days=1)


def _now() -> datetime:
    return datetime.now(UTC)


class Large(Record, defer_build=True):
    """A reference to content, which is in the item (`inline`) or in the object with the `key`. `keep` creates it, `load` reads it."""

    size: Attr[int] = required(ge=0)
    #: the digest of the content in hexadecimal
    sha256: Attr[str] = required(min_length=64, max_length=64)
    inline: Attr[bytes | None] = field(None)
    key: Attr[S3Key | None] = field(None)

    @classmethod
    def of(cls, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
        """The reference for content, without storing it. Content of more than `inline` bytes belongs in an object below `prefix`."""
        data = content.encode() if isinstance(content, str) else content
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= inline:
            return cls(size=len(data), sha256=digest, inline=data)
        return cls(size=len(data), sha256=digest, key=f"{prefix.rstrip('/')}/{digest}")

    def verify(self, content: bytes) -> bytes:
        """Return the content, or raise `Damaged` if it does not match the size and digest."""
        if len(content) != self.size or hashlib.sha256(content).hexdigest() != self.sha256:
            raise Damaged(f"The content of {self.key or 'an item'} does not match its digest.")
        return content


def keep(objects: Objects, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
    """Store content as an object if it is long, and return the reference: `store.put(Note(body=keep(objects, text, prefix="notes")))`.

    The object is durable when this returns. Write the item afterwards, so that no item refers to a missing object.
    """
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


async def keep_async(objects: AsyncObjects, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
    """As `keep`, awaited."""
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        await objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


def load(objects: Objects, large: Large) -> bytes:
    """Read the content. Raises `Damaged` if it does not match its digest, and `ObjectMissing` if its object does not exist."""
    if large.key is None:
        return large.verify(large.inline or b"")
    return large.verify(objects.get(large.key))


async def load_async(objects: AsyncObjects, large: Large) -> bytes:
    """As `load`, awaited."""
    if large.key is None:
        return large.verify(large.inline or b"")
    return large.verify(await objects.get(large.key))


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


def _digest(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest())


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
