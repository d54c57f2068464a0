"""Purging: remove an item together with its child items and objects, before TTL would remove the item alone.

    purges = [Purge(...)]                               what belongs to an item, and how to find items that are due
    jobs.include(purge_jobs(store, purges))             a scheduled job that purges items that are about to expire

`Purger` removes the children and objects of items, then the items, and returns a `PurgeReport` with the counts. Every step is idempotent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, Field

from gateleg.jobs.errors import BadPurge, PurgeIncomplete
from gateleg.jobs.handlers import DeclaredSchedule, Jobs
from gateleg.model import Access, Query, UpdateAction, spec_of
from gateleg.model.inspection import is_refused
from gateleg.model.types import is_special, read_annotation
from gateleg.store import ConditionFailed, LostRace, NotFound, TransactionCanceled
from gateleg.store.operations import release_unique

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.jobs.tasks import JobContext
    from gateleg.model import Attr
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore

__all__ = ["Purge", "PurgeConfig", "PurgeIncomplete", "PurgeReport", "Purger", "purge_jobs"]

E = TypeVar("E", bound=BaseModel)
_log = logging.getLogger("gateleg.jobs.purge")

#: A pattern whose arguments are attributes of the parent, or a function from the parent to queries.
Children = Access[Any] | Callable[[Any], Sequence[Query[Any]]]


def _nothing(item: Any) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Purge(Generic[E]):
    """Declares what is removed together with an item of an entity that has a TTL attribute.

    An item is purged before its date in the TTL attribute, because TTL would remove it without its children. The objects of all `S3Key`
    attributes are removed too.

    Raises `BadPurge` if a child pattern needs an attribute that the parent does not have, or `ahead` is not positive.
    """

    entity: type[E]
    #: how long before its date an item is purged; must be longer than the time between two sweeps
    ahead: timedelta = timedelta(days=1)
    #: patterns whose arguments are attributes of the parent with the same names, or functions from the parent to queries; children of an
    #: entity with a `Purge` are purged, others deleted
    children: Sequence[Children] = ()
    #: returns further objects to remove: keys, or prefixes that end with a slash
    objects: Callable[[E], Sequence[str]] = _nothing
    #: named functions that remove data elsewhere, such as vectors, and return how much they have removed
    hooks: Mapping[str, Callable[[E], Awaitable[int | None]]] = field(default_factory=dict)
    #: returns actions to write when the purge of an item begins, such as a transition to a final state
    begin: Callable[[E], Sequence[UpdateAction]] = _nothing
    #: returns queries for the items whose date is not after the given time; without it, sweeps scan the table
    due: Callable[[datetime], Sequence[Query[E]]] | None = None
    #: the maximum number of read units per second of a scan
    read_units: float | None = None

    def __post_init__(self) -> None:
        """Raise `BadPurge` for an invalid declaration."""
        spec = spec_of(self.entity)
        for child in self.children:
            if isinstance(child, Access) and (missing := [name for name in child.required if name not in spec.sources]):
                raise BadPurge(
                    f"{child.name} needs {', '.join(missing)}, which {spec.name} does not have.",
                    fix="Pass a function from the parent to queries instead of the pattern.",
                )
        if self.ahead <= timedelta(0):
            raise BadPurge(f"{spec.name} would be purged after its date.", fix="Set `ahead` to more than the time between two sweeps.")

    def queries(self, item: E) -> list[Query[Any]]:
        """The queries that find the children of an item."""
        values = spec_of(self.entity).values(item)
        queries: list[Query[Any]] = []
        for child in self.children:
            queries += [child(**{name: values[name] for name in child.required})] if isinstance(child, Access) else child(item)
        return queries

    def object_keys(self, item: E) -> list[str]:
        """The keys and prefixes of an item's objects."""
        keys: list[str] = []
        for attribute in spec_of(self.entity).attributes.values():
            value = getattr(item, attribute.name)
            if _holds_keys(attribute.annotation) and value is not None:
                keys += [value] if isinstance(value, str) else list(value)
        # Another program may have stored a URL in place of a key: no object of ours belongs to it.
        return [key for key in (*keys, *self.objects(item)) if not is_refused(key.rstrip("/"))]


def _holds_keys(annotation: Any) -> bool:
    """Whether a type is an object key, or a list or set of them."""
    declared = read_annotation(annotation)
    if is_special(declared.metadata, "s3-key"):
        return True
    return get_origin(declared.type) in (list, set, frozenset, tuple) and any(_holds_keys(argument) for argument in get_args(declared.type))


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
                due = getattr(item, date.name)
                if due is not None and due <= until:
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
        current = await self._store.find(item, consistent=True)
        if current is None:
            raise NotFound("The item does not exist.") from error
        if current == item:
            # The item is unchanged, so a retry of the write would be refused too.
            raise error
        return current

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
        current = await self._store.find(claimed, consistent=True)
        if current is None or getattr(current, date.name) != getattr(claimed, date.name):
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
            while objects := (await self._objects.list(key, limit=_OBJECTS)).objects:
                await self._objects.delete_many([entry.key for entry in objects])
                removed += len(objects)
        return removed


def _ttl_attribute(purge: Purge[Any]) -> Attr[Any]:
    """The TTL attribute of a purge's entity."""
    ttl = spec_of(purge.entity).ttl
    if ttl is None:
        raise BadPurge(
            f"{purge.entity.__name__} has no TTL attribute, so it has no purge date.", fix="Declare one: an attribute of the type TTL."
        )
    attribute: Attr[Any] = getattr(purge.entity, ttl.name)
    return attribute


def _key_text(item: BaseModel) -> str:
    key = spec_of(type(item)).ref(item).key
    return " ".join(str(next(iter(value.values()))) for value in key.values())


def longest_interval(purges: Sequence[Purge[Any]]) -> timedelta:
    """The longest allowed time between two sweeps: half of the shortest `ahead`, so that one sweep may be missed."""
    return min((purge.ahead for purge in purges), default=timedelta(days=1)) / 2


#: The maximum number of failures whose messages are kept.
_MAX_FAILURES = 20


class PurgeReport(BaseModel, defer_build=True):
    """How many items, children and objects a purge has removed."""

    #: items that were due
    due: int = 0
    #: items that were removed completely
    purged: int = 0
    #: removed children, at all levels
    children: int = 0
    #: removed objects
    objects: int = 0
    #: counts that the hooks returned, by hook name
    hooked: dict[str, int] = Field(default_factory=dict)
    #: items that were restored, or whose date changed, before or during their purge
    kept: int = 0
    #: unique values that were released after TTL had removed their items
    released: int = 0
    #: items whose purge failed
    failed: int = 0
    #: messages of the first failures
    failures: list[str] = Field(default_factory=list)

    def fail(self, what: str) -> None:
        """Count a failure."""
        self.failed += 1
        if len(self.failures) < _MAX_FAILURES:
            self.failures.append(what)

    def hook(self, name: str, removed: int | None) -> None:
        """Add the count that a hook returned."""
        self.hooked[name] = self.hooked.get(name, 0) + (removed or 0)

    def __str__(self) -> str:
        """The counts as text, such as `3 items, 12 children, 4 objects, 0 kept`."""
        counts = {"items": self.purged, "children": self.children, "objects": self.objects, **self.hooked, "kept": self.kept}
        counts |= {"failed": self.failed} if self.failed else {}
        return ", ".join(f"{number:,} {name}" for name, number in counts.items())


class PurgeConfig(BaseModel, defer_build=True):
    """The config of the purge job."""

    #: only count the items that are due
    dry_run: bool = False


def purge_jobs(
    store: AsyncStore,
    purges: Sequence[Purge[Any]],
    *,
    objects: AsyncObjects | None = None,
    job_type: str = "purge",
    every: int = 3600,
) -> Jobs:
    """Return a registry with the purge job and its schedule, to include in the application's: `jobs.include(purge_jobs(...))`.

    `objects` is the object store. `every` is the number of seconds between two sweeps: at most half of the shortest `ahead`, so that TTL
    does not remove items first if one sweep is missed; otherwise it raises `BadPurge`. A sweep in which items fail raises
    `PurgeIncomplete`, so that the job is retried.
    """
    longest = longest_interval(purges)
    if timedelta(seconds=every) > longest:
        fix = f"Sweep at least every {int(longest.total_seconds())} seconds, or purge further ahead."
        raise BadPurge(f"With a sweep every {timedelta(seconds=every)}, TTL may remove items first.", fix=fix)
    jobs, purger = Jobs(), Purger(store, purges, objects)

    async def sweep(job: JobContext, config: PurgeConfig) -> PurgeReport:
        if config.dry_run:
            return PurgeReport(due=await purger.count_due())
        report = await purger.sweep(job.log, job.check)
        for name, number in report.model_dump(exclude={"hooked", "failures"}).items():
            job.metric(name, number)
        if report.failed:
            raise PurgeIncomplete(f"{report.failed} of {report.due} items could not be purged: {'; '.join(report.failures)}.")
        job.log(str(report))
        return report

    jobs.handler(job_type, config=PurgeConfig, result=PurgeReport)(sweep)
    jobs.add_schedule(DeclaredSchedule(job_type, job_type, every=every))
    return jobs
