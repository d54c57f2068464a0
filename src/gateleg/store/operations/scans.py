"""`scan` and `export` read whole tables, for migrations and repairs, never for user requests. `delete_all` deletes what a pattern finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import Table, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.tables import is_marker
from gateleg.store.errors import LostRace, NotFound, OutOfScope
from gateleg.store.flow import Request, StreamedItems, Together
from gateleg.store.operations.merges import newer_items
from gateleg.store.operations.operation import Operation, Stream, batch_write_flow, item_key
from gateleg.store.operations.queries import PatternOrQuery, Reading, build_query, query_partitions
from gateleg.store.operations.reads import ListReader, current_items, hidden, is_legacy, read_form
from gateleg.store.operations.tables import check_table
from gateleg.store.operations.write_operation import Delete
from gateleg.store.setup import RateLimiter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Condition, Item, Query
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.operations.merges import Merge
    from gateleg.store.setup import Setup

__all__ = ["DeleteAll", "Scan"]

E = TypeVar("E", bound=BaseModel)


def scan(
    table: Table,
    /,
    *,
    segments: int = 1,
    progress: ScanProgress | None = None,
    read_units: float | None = None,
    filter: Condition | None = None,
    page_size: int | None = None,
    consistent: bool = False,
    markers: bool = False,
) -> Stream[Item]:
    """Iterate over all items of a table as wire items, without expired items, and without markers of unique constraints unless `markers`.

    For tools, because it reads the whole table. `segments` is the number of parallel segments. `read_units` limits the capacity units used
    per second. `progress` is updated after each page; pass it again to resume an interrupted scan. `filter` drops items after they are
    read.
    """
    check_table(table)
    return Scan(table, None, progress, segments, read_units, filter, page_size, consistent, markers)


def export(
    entity: type[E],
    /,
    *,
    segments: int = 1,
    progress: ScanProgress | None = None,
    read_units: float | None = None,
    filter: Condition | None = None,
    page_size: int | None = None,
    consistent: bool = False,
) -> Stream[E]:
    """Iterate over all items of an entity, including expired ones. For tools: it reads the whole table. Options are those of `scan`."""
    return Scan(spec_of(entity).table, entity, progress, segments, read_units, filter, page_size, consistent)


def delete_all(
    pattern: PatternOrQuery[E], /, *conditions: Condition[E], write_units: float | None = None, **arguments: Any
) -> Operation[int]:
    """Delete all items that a pattern finds, and return their number. `write_units` limits the write capacity units used per second.

    Not atomic: after an error or interruption, call it again to delete the rest.
    """
    return DeleteAll(build_query(pattern, conditions, arguments), write_units)


@dataclass
class ScanProgress:
    """The progress of a scan, which the scan updates after each page. Pass it again to resume an interrupted scan."""

    #: the ExclusiveStartKey of each unfinished segment, by number; empty when the scan is complete
    starts: dict[int, Item | None]
    segments: int = 1

    @classmethod
    def fresh(cls, segments: int = 1) -> ScanProgress:
        """The progress of a scan that has not started."""
        return cls(dict.fromkeys(range(segments)), segments)


@dataclass(frozen=True, slots=True)
class Scan(Stream[Any]):
    """Read all items of a table, as wire items or as instances of an entity."""

    table: Table
    entity: type[BaseModel] | None = None
    progress: ScanProgress | None = None
    segments: int = 1
    read_units: float | None = None
    filter: Condition | None = None
    page_size: int | None = None
    consistent: bool = False
    #: whether to include the markers of unique constraints
    markers: bool = False

    def flow(self, setup: Setup) -> Flow[None]:
        """Scan requests for a page of each segment, sent concurrently."""
        payload: dict[str, Any] = {"TableName": setup.name_of(self.table)}
        condition, out = self.filter, Placeholders()
        if condition is not None:
            payload["FilterExpression"] = condition.render(out)
        options = {"Limit": self.page_size, "ConsistentRead": self.consistent or None}
        payload |= out.parameters() | {member: value for member, value in options.items() if value is not None}
        if self.read_units is not None:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        return self._pages(payload, self.progress or ScanProgress.fresh(self.segments), setup)

    def _pages(self, payload: dict[str, Any], progress: ScanProgress, setup: Setup) -> Flow[None]:
        rate = RateLimiter(self.read_units, setup) if self.read_units is not None else None
        # An export copies expired items too.
        reader = ListReader(setup if self.entity is None else replace(setup, expired=True))
        while progress.starts:
            numbers = list(progress.starts)[: max(setup.concurrency, 1)]
            requests = [Request("Scan", self._payload(payload, progress, number), f"{self.table.name} scan") for number in numbers]
            for number, response in zip(numbers, (yield Together(requests)), strict=True):
                if isinstance(response, Exception):
                    raise response
                yield StreamedItems(
                    self._raw(response["Items"], reader) if self.entity is None else (yield from self._entities(response["Items"], reader))
                )
                # Update the progress only now that the caller has taken the whole page.
                del progress.starts[number]
                if "LastEvaluatedKey" in response:
                    progress.starts[number] = response["LastEvaluatedKey"]
                if rate is not None:
                    yield from rate.charge(response)

    def _payload(self, payload: dict[str, Any], progress: ScanProgress, number: int) -> dict[str, Any]:
        page = dict(payload)
        if progress.segments > 1:
            page |= {"Segment": number, "TotalSegments": progress.segments}
        if progress.starts[number] is not None:
            page["ExclusiveStartKey"] = progress.starts[number]
        return page

    def _raw(self, items: Sequence[Item], reader: ListReader) -> Iterator[Item]:
        for item in items:
            if self.markers or not is_marker(self.table, item):
                spec = self.table.spec_for(item)
                if spec is None or not hidden(spec, item, reader.setup):
                    yield item

    def _entities(self, items: Sequence[Item], reader: ListReader) -> Flow[list[Any]]:
        """Decode the items of the entity, including those under legacy keys."""
        assert self.entity is not None
        spec = spec_of(self.entity)
        mine = [item for item in items if not is_marker(self.table, item) and (self.table.spec_for(item) is spec or is_legacy(item, spec))]
        current = yield from current_items(spec, mine, reader)
        if not spec.key.legacy:
            return reader.decode_all(spec, current)
        entities: list[Any] = []
        older: dict[int, list[Any]] = {}
        for instance, number in reader.decode_all(spec, current, lambda item: read_form(item, spec)):
            (entities if number is None else older.setdefault(number, [])).append(instance)
        for number, instances in older.items():
            stored = yield from newer_items(spec, instances, number, reader.setup, self.consistent)
            entities += [instance for instance, newer in zip(instances, stored, strict=True) if not any(newer)]
        return entities

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Raises `OutOfScope`: a scoped store cannot read whole tables."""
        raise OutOfScope(f"A scoped store cannot scan {self.table.name}.")


@dataclass(frozen=True, slots=True)
class DeleteAll(Operation[int]):
    """Delete all items that a query finds."""

    query: Query[Any]
    write_units: float | None = None

    def flow(self, setup: Setup) -> Flow[int]:
        """Read the keys page by page, and delete each page in batches. If it is interrupted, it can be started again."""
        spec, setup = spec_of(self.query.entity), replace(setup, expired=True)
        # With markers, counters or legacy keys, each item must be read and deleted by itself.
        marked = bool(spec.uniques or spec.counters or spec.key.legacy)
        reading = Reading(self.query, hydrate=not marked or self.query.plan.index.project != "all")
        reader = ListReader(setup)
        return self._pages(reading, reading.merge(setup, reader), reader, marked)

    def _pages(self, reading: Reading[Any], merge: Merge[Any], reader: ListReader, marked: bool) -> Flow[int]:
        spec, setup, total = spec_of(self.query.entity), reader.setup, 0
        name = setup.name_of(spec.table)
        rate = RateLimiter(self.write_units, setup) if self.write_units is not None else None
        while not merge.done:
            yield from merge.fill(None, setup)
            items = merge.take(None)
            if marked:
                # One transaction for each item.
                for instance in (yield from reading.finish(items, reader)):
                    total += yield from _delete_one(instance, setup)
            else:
                keys = [{part: item[part] for part in spec.table.attributes} for item in items]
                entries = {item_key(name, key): {"DeleteRequest": {"Key": key}} for key in keys}
                total += yield from batch_write_flow(entries, setup, f"{self.query.pattern} delete_all", rate)
        return total

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return query_partitions(self.query)


def _delete_one(instance: Any, setup: Setup) -> Flow[int]:
    """Delete the current version of one item with its markers and counters; return 1, or 0 if it was already deleted."""
    while instance is not None:
        try:
            yield from Delete(instance).flow(setup)
            return 1
        except LostRace as lost:
            instance = lost.current
        except NotFound:
            break
    return 0
