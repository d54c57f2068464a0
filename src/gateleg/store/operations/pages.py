"""Results that are returned at once rather than streamed: pages with cursors, and collections.

A page has a limited number of results of one query (`page`) or of several as one list (`merged_page`), with cursors to the next and
previous page. `collect` reads all entities of one partition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Collection, Query, spec_of
from gateleg.model.errors import ConsistentOnGlobal, MissingComponent, NotAQuery
from gateleg.model.keys import Presets
from gateleg.model.planning import Collected, CollectionQuery
from gateleg.store.errors import KeyGivenTwice
from gateleg.store.flow import Request
from gateleg.store.operations.merges import Merge, current_item_key, legacy_items, legacy_partitions, without_replaced
from gateleg.store.operations.operation import Operation, batch_get_flow, by_position, check_limit
from gateleg.store.operations.queries import PatternOrQuery, Reading, build_query, query_partitions, send_all
from gateleg.store.operations.reads import ListReader, current_items, has_legacy_key, projected
from gateleg.store.setup import Position, request_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Condition, Item
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.merges import LegacyPartition
    from gateleg.store.operations.reads import LegacyItem
    from gateleg.store.setup import Setup, Unreadable

__all__ = ["Collect", "ReadPage", "merged_page"]

T = TypeVar("T")
E = TypeVar("E", bound=BaseModel)
#: With a filter, the page size of requests grows up to this number of items while too few are found.
_MAX_PAGE_SIZE = 1000


@overload
def page(
    pattern: PatternOrQuery[E],
    /,
    *conditions: Condition[E],
    project: Sequence[Attr[Any]],
    limit: int,
    cursor: str | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    examine: int | None = None,
    **arguments: Any,
) -> Operation[Page[dict[str, Any]]]: ...
@overload
def page(
    pattern: PatternOrQuery[E],
    /,
    *conditions: Condition[E],
    project: None = None,
    limit: int,
    cursor: str | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    hydrate: bool = False,
    examine: int | None = None,
    **arguments: Any,
) -> Operation[Page[E]]: ...
def page(
    pattern: PatternOrQuery[Any],
    /,
    *conditions: Condition,
    limit: int,
    project: Sequence[Attr[Any]] | None = None,
    cursor: str | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    hydrate: bool = False,
    examine: int | None = None,
    **arguments: Any,
) -> Operation[Page[Any]]:
    """Read up to `limit` results of a pattern, with cursors to the next and previous page.

    `page(Job.ready, queue="default", limit=20, cursor=previous.next)`. A page is full unless it is the last one, even if a filter drops
    most items; `examine` limits the number of items that are read for one page. The other options are those of `query`.

    Cursors are signed, and valid only for the same pattern and arguments; others raise `CursorRejected`. Patterns on a sharded index have
    no cursor to the previous page.
    """
    check_limit(limit, 1)
    query = build_query(pattern, conditions, arguments, newest_first)
    return ReadPage(Reading(query, consistent, hydrate, projected(project or (), query.entity)), limit, cursor, examine)


def merged_page(
    queries: Sequence[Query[E]], *, limit: int, cursor: str | None = None, examine: int | None = None, hydrate: bool = False
) -> Operation[Page[E]]:
    """A page of several queries as one list, in the order of the sort key, which their indexes have in common. There is no way back.

    All queries have the same direction, and entities without older keys and without upcasters that read other items. An item that moves
    from one partition to another between two reads may be in the list twice.
    """
    first, *others = queries
    assert not any(spec_of(query.entity).key.legacy or spec_of(query.entity).lookups for query in queries)
    return ReadPage(_MergedReading(first, hydrate=hydrate, others=tuple(others)), check_limit(limit, least=1), cursor, examine)


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of results in order. `next` and `previous` are cursors of other pages, or None. Iterate over it, or use `items`."""

    items: list[T]
    next: str | None = None
    previous: str | None = None
    #: items that could not be decoded; they count towards the limit
    unreadable: tuple[Unreadable, ...] = ()

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class ReadPage(Operation[Page[Any]]):
    """Read one page of a query's results."""

    reading: Reading[Any]
    limit: int
    cursor: str | None = None
    examine: int | None = None

    def flow(self, setup: Setup) -> Flow[Page[Any]]:
        """Read one result more than the limit, to know whether another page follows."""
        requests = self.reading.cursor_requests(setup)
        digest = request_digest([self.reading.query.pattern, requests])
        position = Position((None,) * len(requests))
        if self.cursor is not None:
            position = setup.cursors.open(self.cursor, digest)
        reading = replace(self.reading, query=self.reading.query.reversed()) if position.backward else self.reading
        reader = ListReader(setup)
        return self._read(reading, reading.merge(setup, reader, position), reader, digest, position)

    def _read(self, reading: Reading[Any], merge: Merge[Any], reader: ListReader, digest: bytes, position: Position) -> Flow[Page[Any]]:
        setup = reader.setup
        items: list[Item] = []
        stops = [merge.position]
        size = self.limit + 1
        while len(items) <= self.limit and not merge.done and (self.examine is None or merge.examined < self.examine):
            yield from merge.fill(size if self.examine is None else min(size, self.examine - merge.examined), setup)
            while len(items) <= self.limit and (taken := merge.take(1)):
                items += taken
                stops.append(merge.position)
            size = min(size * 2, max(_MAX_PAGE_SIZE, size)) if merge.filtered else self.limit + 1 - len(items)
        more = len(items) > self.limit or not merge.done
        kept = items[: self.limit]
        # After the last result of the page or, if `examine` ended the search, after the last item that was read.
        ahead = stops[self.limit] if len(items) > self.limit else merge.position
        results = yield from reading.finish(kept[::-1] if position.backward else kept, reader)
        behind = merge.before(kept[0]) if kept and not position.at_start and len(position.starts) == 1 else None
        page = _page(results, ahead if more else None, behind, position, digest, setup)
        return replace(page, unreadable=tuple(reader.unreadable)) if reader.unreadable else page

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return self.reading.partitions()


def _page(
    results: list[Any], ahead: Position | None, behind: Position | None, position: Position, digest: bytes, setup: Setup
) -> Page[Any]:
    onward = None if ahead is None else setup.cursors.seal(replace(ahead, backward=position.backward), digest)
    back = None if behind is None else setup.cursors.seal(replace(behind, backward=not position.backward), digest)
    return Page(results, back, onward) if position.backward else Page(results, onward, back)


@dataclass(frozen=True, slots=True)
class _MergedReading(Reading[E]):
    """Several queries, read side by side as the shards of one query are."""

    others: tuple[Query[E], ...] = ()

    def requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The requests of all queries."""
        return tuple(chain.from_iterable(reading.requests(setup) for reading in self._readings()))

    def cursor_requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The requests of all queries that a cursor is bound to."""
        return tuple(chain.from_iterable(reading.cursor_requests(setup) for reading in self._readings()))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions of all queries."""
        return chain.from_iterable(query_partitions(query) for query in (self.query, *self.others))

    def merge(self, setup: Setup, reader: ListReader, position: Position | None = None) -> Merge[E]:
        """The merge of all queries."""
        return _MergeOfQueries(tuple(self._readings()), setup, position)

    def finish(self, items: list[Item], reader: ListReader) -> Flow[list[Any]]:
        """Decode the items of a page, each as an item of its query."""
        queries = [item.query for item in items if isinstance(item, _ItemOf)]
        if self.hydrate:
            tables = [spec_of(query.entity).table for query in queries]
            keys = [(table, {name: item[name] for name in table.attributes}) for table, item in zip(tables, items, strict=True)]
            whole = yield from batch_get_flow(keys, reader.setup, self.consistent, f"{self.query.pattern} hydrate")
        else:
            whole = list(items)
        decoded = [reader.decode(spec_of(query.entity), item) for query, item in zip(queries, whole, strict=True)]
        return [entity for entity in decoded if entity is not None]

    def _readings(self) -> Iterator[Reading[E]]:
        return (Reading(query, self.consistent, self.hydrate, self.project) for query in (self.query, *self.others))


class _MergeOfQueries(Merge[E]):
    """The items of several queries in one order."""

    def __init__(self, readings: Sequence[Reading[E]], setup: Setup, position: Position | None) -> None:
        requests = [(request, reading.query) for reading in readings for request in reading.requests(setup)]
        super().__init__(readings[0].query, [request for request, _ in requests], position)
        for shard, (_, query) in zip(self._shards, requests, strict=True):
            shard.mark = partial(_ItemOf, query=query)

    def _resume_key(self, taken: Item | None) -> Item | None:
        return taken.query.resume_key(taken) if isinstance(taken, _ItemOf) else taken


class _ItemOf(dict[str, Any]):
    """A stored item, with the query that found it: items of different tables are decoded differently."""

    def __init__(self, item: Item, query: Query[Any]) -> None:
        super().__init__(item)
        self.query = query


def collect(
    target: CollectionQuery | Collection, /, *conditions: Condition, consistent: bool = False, **arguments: Any
) -> Operation[Collected]:
    """Read several entities of one partition by one query: `collect(project_with_scenes, project_id=p)`.

    Takes a `Collection` and its arguments, or a query made from one. The result has the instances of each entity: `.of(Scene)`,
    `.one(Project)`; `unreadable` lists items that could not be decoded.
    """
    if isinstance(target, Collection):
        try:
            return Collect(target(*conditions, **arguments), consistent)
        except MissingComponent as error:
            raise by_position(error) from None
    if not isinstance(target, CollectionQuery):
        raise NotAQuery(
            f"collect takes a Collection, and was given {type(target).__name__}.",
            fix="Use query for an access pattern of one entity, or declare Collection(Project, Scene, title=...).",
        )
    if arguments or any(not isinstance(condition, Presets) for condition in conditions):
        raise KeyGivenTwice("Key components were passed together with a query, which already has them.")
    return Collect(target, consistent)


@dataclass(frozen=True, slots=True)
class Collect(Operation[Collected]):
    """Read several entities of one partition."""

    query: CollectionQuery
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[Collected]:
        """One query over all entities, page by page, after one for each partition that may contain items under legacy keys."""
        collection = self.query.collection
        index = collection.plans[0].index
        if self.consistent and index.name and not index.local:
            raise ConsistentOnGlobal(f"{index.name} is a global index.")
        requests = self.query.requests(table_name=setup.name_of(collection.table), consistent=self.consistent)
        return self._read(requests, self._legacy_partitions(setup), ListReader(setup))

    def _legacy_partitions(self, setup: Setup) -> list[LegacyPartition]:
        """The partitions that may contain items of the entities under legacy keys."""
        collection, values = self.query.collection, self.query.values
        partitions: list[LegacyPartition] = []
        for entity, plan in zip(collection.entities, collection.plans, strict=True):
            if spec_of(entity).key.legacy:
                query = Query(entity, collection.title, plan, {name: values[name] for name in plan.names if name in values})
                partitions += legacy_partitions(query, setup, self.consistent)
        return partitions

    def _read(self, requests: Sequence[Payload], older: list[LegacyPartition], reader: ListReader) -> Flow[Collected]:
        title = self.query.collection.title
        legacy: dict[Any, LegacyItem] = {}
        for partition in older:
            items = yield from _all_pages([partition.payload], title)
            present = yield from legacy_items(partition, items, reader)
            kept = yield from without_replaced(partition, present, reader, self.consistent)
            legacy |= {current_item_key(partition.query, item): item for item in kept}
        items = yield from _all_pages(requests, title)
        if older:
            items = self._joined(items, legacy, older)
        for entity in self.query.collection.entities:
            items = yield from self._upcast(items, entity, reader)
        return replace(self.query.sort(items, reader.decode), unreadable=tuple(reader.unreadable))

    def _joined(self, items: list[Item], legacy: dict[Any, LegacyItem], older: list[LegacyPartition]) -> list[Item]:
        """All items without duplicates, in the order of the partition."""
        table, query = self.query.collection.table, older[0].query
        present = [
            item
            for item in items
            if not any(
                item[table.hash] == partition.hash and has_legacy_key(item, spec_of(partition.query.entity), partition.plan)
                for partition in older
            )
        ]
        moved = {current_item_key(query, item) for item in present}
        left: list[Item] = [item for place, item in legacy.items() if place not in moved]
        return sorted([*present, *left], key=query.sort_value) if left else present

    def _upcast(self, items: list[Item], entity: type[BaseModel], reader: ListReader) -> Flow[list[Item]]:
        spec = spec_of(entity)
        if not spec.lookups:
            return items
        # One by one, to keep the order: an item that cannot be upcast is reported and left out.
        current: list[Item] = []
        for item in items:
            current += (yield from current_items(spec, [item], reader)) if spec.table.spec_for(item) is spec else [item]
        return current

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partition, for each entity."""
        collection = self.query.collection
        for entity, plan in zip(collection.entities, collection.plans, strict=True):
            yield entity, plan, self.query.values


def _all_pages(requests: Sequence[Payload], title: str) -> Flow[list[Item]]:
    """All items of several Query requests, which are sent concurrently."""
    items: list[Item] = []
    pending = list(requests)
    while pending:
        responses = yield from send_all([Request("Query", payload, title) for payload in pending])
        for response in responses:
            items += response["Items"]
        pending = [
            payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}
            for payload, response in zip(pending, responses, strict=True)
            if "LastEvaluatedKey" in response
        ]
    return items
