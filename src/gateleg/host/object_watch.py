"""`Watch`: finds objects below a prefix, or files in a folder, that were created, changed or deleted since the last poll.

A listing and the record of seen objects are both ordered by key, so they are merged page by page. Each difference is written together with
its job, in one transaction on condition that no other process has done so: after a crash it is found again or already done, and any number
of processes may watch the same place.
"""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gateleg.host.tables import SeenObject, WatchPlace
from gateleg.objects import BadCursor, Entry, ObjectPage
from gateleg.store import TransactionCanceled, delete, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from gateleg.jobs import AsyncQueue, Submission
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore, WriteOperation

__all__ = ["FolderSource", "ObjectChange", "ObjectsSource", "Watch"]


#: The etag of an existing file about which nothing else is known yet.
_UNSETTLED = ""


class Source(Protocol):
    """A source to watch: a listing ordered by key, page by page."""

    async def page(self, cursor: str | None, limit: int) -> ObjectPage:
        """A page of the listing. Raises `BadCursor` for an expired cursor."""
        ...


@dataclass(frozen=True)
class ObjectsSource:
    """The objects of a store whose keys start with a prefix."""

    objects: AsyncObjects
    prefix: str = ""

    async def page(self, cursor: str | None, limit: int) -> ObjectPage:
        """A page of the listing."""
        return await self.objects.list(self.prefix, cursor=cursor, limit=limit)


@dataclass(frozen=True)
class FolderSource:
    """The files in a folder of this machine and its subfolders; keys are relative paths. Links are not followed.

    A file that was written to in the last `settle` seconds is skipped for now: somebody may still be writing it.
    """

    folder: Path
    settle: float = 2.0
    clock: Callable[[], float] = field(default=lambda: datetime.now(UTC).timestamp())

    async def page(self, cursor: str | None, limit: int) -> ObjectPage:
        """A page of the listing; its cursor is the last key."""
        return await asyncio.to_thread(self._read, cursor or "", limit)

    def _read(self, after: str, limit: int) -> ObjectPage:
        found: list[Entry] = []
        for key, path in _files(str(self.folder), "", after.encode()):
            if len(found) == limit:
                return ObjectPage(tuple(found), cursor=found[-1].key)
            entry = self._entry(key, path)
            if entry is not None:
                found.append(entry)
        return ObjectPage(tuple(found))

    def _entry(self, key: str, path: str) -> Entry | None:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        etag = _UNSETTLED if status.st_mtime > self.clock() - self.settle else f"{status.st_mtime_ns}-{status.st_size}"
        return Entry(key, status.st_size, etag, datetime.fromtimestamp(status.st_mtime, UTC))


def _files(folder: str, prefix: str, after: bytes) -> Iterator[tuple[str, str]]:
    """The files below a folder whose keys come after a key, in byte order."""
    try:
        with os.scandir(folder) as entries:
            names = [(f"{prefix}{one.name}{'/' if one.is_dir(follow_symlinks=False) else ''}", one.path) for one in entries]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    for name, path in sorted(names, key=lambda one: os.fsencode(one[0])):
        encoded = os.fsencode(name)
        if name.endswith("/"):
            if encoded > after or after.startswith(encoded):
                yield from _files(path, name, after)
        elif encoded > after and _is_text(name):
            yield name, path


def _is_text(name: str) -> bool:
    """Whether a name is valid text, and so can be a key."""
    return name.isprintable()


@dataclass(frozen=True)
class ObjectChange:
    """A change of an object since the watch last saw it."""

    kind: Literal["created", "changed", "deleted"]
    key: str
    size: int
    etag: str


@dataclass(frozen=True)
class Watch:
    """A watch of a source. `name` identifies it for ever; `job` returns the job for a change, or None to record it only.

    Call `poll` regularly, from a scheduled job or a task of the application's `lifespan`.
    """

    name: str
    source: Source
    store: AsyncStore
    queue: AsyncQueue
    job: Callable[[ObjectChange], Submission | None]

    async def poll(self, *, pages: int = 10, page_size: int = 500) -> list[ObjectChange]:
        """Read at most `pages` pages from where the last call stopped, and submit jobs for what has changed. Returns the changes.

        After the end of the listing, the next call starts again from the beginning.
        """
        place = await self.store.find(WatchPlace, watch=self.name, consistent=True) or WatchPlace(watch=self.name)
        changes: list[ObjectChange] = []
        for _ in range(pages):
            try:
                page = await self.source.page(place.cursor, page_size)
            except BadCursor:
                place = place.model_copy(update={"cursor": None, "after": None})
                continue
            changes += [change for change in await self._differences(page, place.after) if await self._take(change)]
            place = _next_place(place, page)
            await self.store.put(place)
            if place.cursor is None:
                break
        return changes

    async def _differences(self, page: ObjectPage, after: str | None) -> list[ObjectChange]:
        """The differences between a page and the objects seen in its range of keys."""
        last = page.objects[-1].key if page.cursor is not None and page.objects else None
        seen = {one.object_key: one for one in await self._seen(after, last)}
        found = [_compared(entry, seen.pop(entry.key, None)) for entry in page.objects]
        gone = [ObjectChange("deleted", one.object_key, one.size, one.etag) for one in seen.values()]
        return sorted((change for change in (*found, *gone) if change is not None), key=lambda change: change.key.encode())

    async def _seen(self, after: str | None, last: str | None) -> Sequence[SeenObject]:
        """The objects seen after one key and up to another, or to the end."""
        found = []
        question = SeenObject.of_watch(watch=self.name)
        if after is not None:
            question = question.where(SeenObject.object_key > after)
        async for one in self.store.query(question, consistent=True):
            if last is not None and one.object_key.encode() > last.encode():
                break
            found.append(one)
        return found

    async def _take(self, change: ObjectChange) -> bool:
        """Record a change together with its job. False if another process was first."""
        submission = self.job(change)
        writes = () if submission is None else (await self.queue.enlist(submission)).writes
        try:
            await self.store.transact([self._noted(change), *writes])
        except TransactionCanceled:
            return False
        return True

    def _noted(self, change: ObjectChange) -> WriteOperation[Any]:
        if change.kind == "deleted":
            return delete(SeenObject, watch=self.name, object_key=change.key, condition=SeenObject.etag == change.etag)
        seen = SeenObject(watch=self.name, object_key=change.key, etag=change.etag, size=change.size)
        return put(seen, condition=SeenObject.etag.missing() | (SeenObject.etag != change.etag))


def _compared(entry: Entry, seen: SeenObject | None) -> ObjectChange | None:
    if entry.etag == _UNSETTLED:
        return None
    if seen is None:
        return ObjectChange("created", entry.key, entry.size, entry.etag)
    return None if seen.etag == entry.etag else ObjectChange("changed", entry.key, entry.size, entry.etag)


def _next_place(place: WatchPlace, page: ObjectPage) -> WatchPlace:
    if page.cursor is None or not page.objects:
        return place.model_copy(update={"cursor": None, "after": None, "rounds": place.rounds + 1})
    return place.model_copy(update={"cursor": page.cursor, "after": page.objects[-1].key})
