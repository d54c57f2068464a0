"""`Purger`: removes the children and objects of items, then the items. Every step is idempotent."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.jobs.errors import BadPurge
from gateleg.jobs.purging.report import PurgeReport
from gateleg.model import spec_of
from gateleg.store import ConditionFailed, LostRace, NotFound, TransactionCanceled
from gateleg.store.operations import release_unique

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import datetime

    from pydantic import BaseModel

    from gateleg.jobs.purging.declaration import Purge
    from gateleg.model import Attr
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

_log = logging.getLogger("gateleg.jobs.purge")
#: How many objects are listed and deleted at a time.
_OBJECTS = 500


class Restored(Exception):
    """The item was restored and must not be purged."""


class Purger:
    """Purges items of entities that have a `Purge`. `objects` is the object store that their `S3Key` attributes refer to."""

    def __init__(self, store: AsyncStore, purges: Sequence[Purge[Any]], objects: AsyncObjects | None = None) -> None:
        #: a store that also reads expired items
        self._store = store.reading(expired=True)
        self._objects = objects
        self._purges = {purge.entity: purge for purge in purges}
        for purge in purges:
            if self._purges[purge.entity] is not purge:
                raise BadPurge(f"{purge.entity.__name__} has two purges.", fix="Merge them into one `Purge`.")

    async def sweep(self, log: Callable[[str], object] = _log.info, check: Callable[[], object] = lambda: None) -> PurgeReport:
        """Purge every item that is due, and return the counts. If an item fails, the sweep continues with the others.

        `log` is called with one line about each item. `check` is called before each item, and may raise an exception to end the sweep.
        """
        report = PurgeReport()
        for purge in self._purges.values():
            if spec_of(purge.entity).ttl is None:
                continue
            until = self._due_until(purge)
            async for item in self._due(purge, until):
                check()
                report.due += 1
                await self._purge_one(purge, item, until, report, log)
        return report

    async def count_due(self) -> int:
        """Count the items that a sweep would purge now."""
        total = 0
        for purge in self._purges.values():
            if spec_of(purge.entity).ttl is not None:
                total += len([item async for item in self._due(purge, self._due_until(purge))])
        return total

    async def purge(self, item: BaseModel) -> PurgeReport:
        """Remove an item now, whatever its date: first its children and objects, then the item. Returns the counts."""
        report = PurgeReport(due=1)
        await self._remove(self._of(type(item)), item, report)
        report.purged += 1
        return report

    async def clean_up(self, item: BaseModel) -> PurgeReport:
        """Clean up after TTL has removed an item: delete its children and objects, and release its unique values. Returns the counts.

        Does nothing if the item exists again.
        """
        report = PurgeReport(due=1)
        if await self._store.find(item, consistent=True) is not None:
            report.kept += 1
            return report
        await self._remove_contents(self._of(type(item)), item, report)
        report.released = await self._store.run(release_unique(item))
        report.purged += 1
        return report

    def _of(self, entity: type[BaseModel]) -> Purge[Any]:
        purge = self._purges.get(entity)
        if purge is None:
            raise BadPurge(f"No purge is declared for {entity.__name__}.", fix=f"Declare Purge({entity.__name__}, ...).")
        return purge

    def _due_until(self, purge: Purge[Any]) -> datetime:
        """The latest date of items that are due now, in whole seconds like TTL."""
        return (self._store.setup.now() + purge.ahead).replace(microsecond=0)

    async def _due(self, purge: Purge[Any], until: datetime) -> AsyncIterator[Any]:
        date = _ttl_attribute(purge)
        if purge.due is None:
            async for item in self._store.export(purge.entity, filter=date <= until, read_units=purge.read_units):
                yield item
            return
        for query in purge.due(until):
            async for item in self._store.query(query, hydrate=query.plan.index.project != "all"):
                found = getattr(item, date.name)
                if found is not None and found <= until:
                    yield item

    async def _purge_one(self, purge: Purge[Any], item: Any, until: datetime, report: PurgeReport, log: Callable[[str], object]) -> None:
        name = f"{purge.entity.__name__} {_key_text(item)}"
        try:
            claimed = await self._claim(purge, item, until)
            await self._remove_contents(purge, claimed, report, guarded=True)
            await self._delete_if_not_restored(purge, claimed)
        except Restored:
            report.kept += 1
            log(f"{name} was restored and is kept")
        except NotFound:
            log(f"{name} was already removed")
        except Exception as error:  # any error of a hook, the store or the object store
            report.fail(f"{name}: {type(error).__name__}: {error}")
            _log.exception("could not purge %s; the next sweep retries it", name)
        else:
            report.purged += 1
            log(f"{name} was purged")

    async def _claim(self, purge: Purge[Any], item: Any, until: datetime) -> Any:
        """Claim an item for its purge with a conditional write, which fails if the item was restored after it was read.

        The write sets the date to the latest one that is due, so that TTL does not remove the item during its purge, and the next sweep
        finds it if this one is interrupted. A restore with the version from before the claim fails from now on.
        """
        date = _ttl_attribute(purge)
        while True:
            before = getattr(item, date.name)
            if before is None or before > until:
                raise Restored
            try:
                return await self._store.patch(item, date.set(max(before, until)), *purge.begin(item), condition=date == before)
            except (LostRace, ConditionFailed, TransactionCanceled) as error:
                item = await self._reread(item, error)

    async def _reread(self, item: Any, error: Exception) -> Any:
        """The current item, after another writer changed it."""
        found = await self._store.find(item, consistent=True)
        if found is None:
            raise NotFound("The item does not exist.") from error
        if found == item:
            # The item is unchanged, so a retry of the write would be refused too.
            raise error
        return found

    async def _delete_if_not_restored(self, purge: Purge[Any], claimed: Any) -> None:
        """Delete the item with its unique markers and counter increments, unless it was restored."""
        date = _ttl_attribute(purge)
        until, item = getattr(claimed, date.name), claimed
        while True:
            if getattr(item, date.name) != until:
                raise Restored
            try:
                return await self._store.delete(item, condition=date == until)
            except (LostRace, ConditionFailed, TransactionCanceled) as error:
                item = await self._reread(item, error)

    async def _remove(self, purge: Purge[Any], item: Any, report: PurgeReport) -> None:
        await self._remove_contents(purge, item, report)
        while True:
            try:
                return await self._store.delete(item)
            except NotFound:
                return None
            except (LostRace, ConditionFailed, TransactionCanceled) as error:
                try:
                    item = await self._reread(item, error)
                except NotFound:
                    return None

    async def _remove_contents(self, purge: Purge[Any], item: Any, report: PurgeReport, *, guarded: bool = False) -> None:
        """Remove the children and objects of an item, and run its hooks; with `guarded`, stop if the item is restored."""
        for query in purge.queries(item):
            await self._check(purge, item, guarded)
            own = self._purges.get(query.entity)
            if own is None:
                report.children += await self._store.delete_all(query)
                continue
            async for child in self._store.query(query, hydrate=query.plan.index.project != "all"):
                await self._remove(own, child, report)
                report.children += 1
        await self._check(purge, item, guarded)
        report.objects += await self._remove_objects(purge.object_keys(item))
        for name, hook in purge.hooks.items():
            await self._check(purge, item, guarded)
            report.hook(name, await hook(item))

    async def _check(self, purge: Purge[Any], claimed: Any, guarded: bool) -> None:
        if not guarded:
            return
        date = _ttl_attribute(purge)
        found = await self._store.find(claimed, consistent=True)
        if found is None or getattr(found, date.name) != getattr(claimed, date.name):
            raise Restored

    async def _remove_objects(self, keys: Sequence[str]) -> int:
        if keys and self._objects is None:
            raise BadPurge("Objects are to be removed, but the purger has no object store.", fix="Pass objects= to the purger.")
        removed = 0
        for key in keys:
            assert self._objects is not None
            if not key.endswith("/"):
                removed += await self._objects.exists(key)
                await self._objects.delete(key)
                continue
            while found := (await self._objects.list(key, limit=_OBJECTS)).objects:
                await self._objects.delete_many([entry.key for entry in found])
                removed += len(found)
        return removed


def _ttl_attribute(purge: Purge[Any]) -> Attr[Any]:
    """The TTL attribute of a purge's entity."""
    ttl = spec_of(purge.entity).ttl
    if ttl is None:
        raise BadPurge(
            f"{purge.entity.__name__} has no TTL attribute, so it has no purge date.", fix="Declare one: an attribute of the type TTL."
        )
    found: Attr[Any] = getattr(purge.entity, ttl.name)
    return found


def _key_text(item: BaseModel) -> str:
    key = spec_of(type(item)).ref(item).key
    return " ".join(str(next(iter(value.values()))) for value in key.values())


def longest_interval(purges: Sequence[Purge[Any]]) -> timedelta:
    """The longest allowed time between two sweeps: half of the shortest `ahead`, so that one sweep may be missed."""
    return min((purge.ahead for purge in purges), default=timedelta(days=1)) / 2
