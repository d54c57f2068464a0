"""`query` and `count`: find items by an access pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.model import Access, Query, spec_of
from gateleg.model.errors import MissingComponent, NotAQuery
from gateleg.model.expressions import all_of
from gateleg.model.keys import BoundKey, Presets
from gateleg.model.planning import holds_expiry, not_expired
from gateleg.store.errors import KeyGivenTwice, NotProjected
from gateleg.store.flow import Request, StreamedItems, Together
from gateleg.store.operations.merges import LegacyMerge, Merge, legacy_partitions
from gateleg.store.operations.operation import Operation, Stream, batch_get_flow, by_position, check_limit
from gateleg.store.operations.reads import LegacyItem, ListReader, current_items, projected, with_current_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Condition, Item, Spec
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.setup import Position, Setup

__all__ = ["Count", "QueryStream", "Reading"]

E = TypeVar("E", bound=BaseModel)
PatternOrQuery = Query[E] | Access[E]


@overload
def query(
    pattern: PatternOrQuery[E],
    /,
    *conditions: Condition[E],
    project: Sequence[Attr[Any]],
    limit: int | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    page_size: int | None = None,
    **arguments: Any,
) -> Stream[dict[str, Any]]: ...
@overload
def query(
    pattern: PatternOrQuery[E],
    /,
    *conditions: Condition[E],
    project: None = None,
    limit: int | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    hydrate: bool = False,
    page_size: int | None = None,
    **arguments: Any,
) -> Stream[E]: ...
def query(
    pattern: PatternOrQuery[Any],
    /,
    *conditions: Condition,
    project: Sequence[Attr[Any]] | None = None,
    limit: int | None = None,
    newest_first: bool | None = None,
    consistent: bool = False,
    hydrate: bool = False,
    page_size: int | None = None,
    **arguments: Any,
) -> Stream[Any]:
    """Iterate over the items that a pattern finds: `query(Job.ready, queue="default")` or `query(Job.ready(queue="default"))`.

    Items are read page by page during the iteration. `limit` is the maximum number of results, `page_size` the number of items that
    DynamoDB reads for one request. `newest_first` overrides the pattern's order: True for descending sort keys, False for ascending ones.
    `consistent` reads consistently, which global indexes do not support (`ConsistentOnGlobal`). `hydrate` reads whole items from the table,
    for indexes that do not project them. With `project=[Job.status]`, the results are dictionaries of those attributes. Items that cannot
    be decoded are reported to the store's `on_unreadable` and left out.
    """
    built = build_query(pattern, conditions, arguments, newest_first)
    reading = Reading(built, consistent, hydrate, projected(project or (), built.entity))
    return QueryStream(reading, None if limit is None else check_limit(limit), page_size)


def count(
    pattern: PatternOrQuery[E], /, *conditions: Condition[E], consistent: bool = False, limit: int | None = None, **arguments: Any
) -> Operation[int]:
    """Count the items that a pattern finds, up to a limit. DynamoDB reads every item that it counts, and charges for it.

    Expired items are not counted. If the pattern's index does not project the TTL attribute, each item is read from the table to find out:
    project the attribute, or count expired items too with `store.reading(expired=True).count(...)`.
    """
    return Count(build_query(pattern, conditions, arguments), consistent, None if limit is None else check_limit(limit))


def build_query(
    pattern: PatternOrQuery[E], conditions: Sequence[Condition], arguments: Mapping[str, Any], newest_first: bool | None = None
) -> Query[E]:
    """The query itself, or the query of an access pattern with its arguments."""
    if isinstance(pattern, Access):
        try:
            query = pattern(*conditions, **arguments)
        except MissingComponent as error:
            raise by_position(error) from None
    elif not isinstance(pattern, Query):
        raise _not_a_query(pattern)
    elif arguments or any(not isinstance(condition, Presets) for condition in conditions):
        raise KeyGivenTwice("Key components were passed together with a query, which already has them.")
    else:
        query = pattern
    return query if newest_first is None or query.descending is newest_first else query.reversed()


def _not_a_query(target: object) -> NotAQuery:
    """The error for something that cannot be queried; for an entity, the fix lists its patterns."""
    if isinstance(target, type) and hasattr(target, "__table__"):
        patterns = [f"{target.__name__}.{name}" for name in spec_of(target).patterns]
        fix = f"Query one of its patterns: {', '.join(patterns)}." if patterns else f"Declare an access pattern in {target.__name__}."
        return NotAQuery(f"{target.__name__} is an entity, not an access pattern.", fix=fix)
    what = f"{target.entity.__name__}.key" if isinstance(target, BoundKey) else repr(target)
    return NotAQuery(f"{what} is neither a pattern nor a query.")


@dataclass(frozen=True, slots=True)
class Reading(Generic[E]):
    """A query with its options: whether its items are projected, or hydrated (read whole from the table)."""

    query: Query[E]
    consistent: bool = False
    hydrate: bool = False
    project: tuple[Attr[Any], ...] = ()

    def requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The Query requests, without limit and start."""
        return self._requests(without_expired(self.query, setup), setup)

    def cursor_requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The requests that a cursor is bound to: without the filter for expired items, which contains the current time."""
        return self._requests(self.query, setup)

    def _requests(self, query: Query[E], setup: Setup) -> tuple[Payload, ...]:
        index, spec = query.plan.index, spec_of(query.entity)
        if index.project != "all" and not self.hydrate and not self.project:
            raise NotProjected(f"{index.name} does not project all attributes of {spec.name}.")
        requests = query.requests(table_name=setup.name_of(spec.table), consistent=self.consistent, project=self.project)
        if self.hydrate:
            names = (*spec.table.attributes, *index.attributes)
            return tuple(_with_names(request, names) for request in requests)
        if self.project:
            # The keys are needed for cursors.
            return tuple(_with_names(request, (*spec.table.attributes, *index.attributes), keep=True) for request in requests)
        return requests

    def decode(self, item: Item) -> Any:
        """Decode an item, to an instance or to a dictionary of the projected attributes."""
        spec = spec_of(self.query.entity)
        if not self.project:
            return spec.decode(item if not spec.key.legacy or spec.key.fits(item) else with_current_key(item, spec))
        names = {attr.name.split(".")[0].split("[")[0] for attr in self.project}
        return {name: value for name, value in spec.decode_partial(item).items() if name in names}

    def finish(self, items: list[Item], reader: ListReader) -> Flow[list[Any]]:
        """Decode the items of a page. Hydrating reads them from the table and leaves out those that were deleted meanwhile."""
        spec, setup = spec_of(self.query.entity), reader.setup
        if self.hydrate:
            items = yield from self._whole(items, setup)
        if spec.lookups and not self.project:
            items = yield from current_items(spec, items, reader)
        return reader.decode_all(spec, items, self.decode if self.project or spec.key.legacy else None)

    def _whole(self, items: list[Item], setup: Setup) -> Flow[list[Item]]:
        """Read the whole items from the table. Items from legacy partitions are already whole."""
        spec = spec_of(self.query.entity)
        parts = {number: item for number, item in enumerate(items) if not isinstance(item, LegacyItem)}
        keys = [(spec.table, {name: item[name] for name in spec.table.attributes}) for item in parts.values()]
        stored = yield from batch_get_flow(keys, setup, self.consistent, f"{self.query.pattern} hydrate")
        whole = dict(enumerate(items)) | dict(zip(parts, stored, strict=True))
        return [item for item in whole.values() if item is not None]

    def merge(self, setup: Setup, reader: ListReader, position: Position | None = None) -> Merge[E]:
        """The merge of all sources of stored items: shards and legacy partitions."""
        query, requests = self.query, self.requests(setup)
        if spec_of(query.entity).key.legacy:
            partitions = legacy_partitions(without_expired(query, setup), setup, self.consistent)
            return LegacyMerge(query, requests, partitions, position, reader, self.consistent)
        return Merge(query, requests, position)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return query_partitions(self.query)


def _with_names(request: Payload, names: Sequence[str], keep: bool = False) -> Payload:
    """A request whose projection consists of these top-level attributes; with `keep`, they are added to its projection."""
    placeholders = dict(request.get("ExpressionAttributeNames", {}))
    known = {name: placeholder for placeholder, name in placeholders.items()}
    texts = request["ProjectionExpression"].split(", ") if keep else []
    for number, name in enumerate(dict.fromkeys(names)):
        placeholder = known.get(name) or f"#key_{number}"
        placeholders[placeholder] = name
        if not any(text == placeholder or text.startswith((f"{placeholder}.", f"{placeholder}[")) for text in texts):
            texts.append(placeholder)
    return request | {"ProjectionExpression": ", ".join(texts), "ExpressionAttributeNames": placeholders}


@dataclass(frozen=True, slots=True)
class QueryStream(Stream[Any]):
    """Iterate over the items of a query, which are read page by page."""

    reading: Reading[Any]
    limit: int | None = None
    page_size: int | None = None

    def flow(self, setup: Setup) -> Flow[None]:
        """Query requests, until the end or the limit."""
        reader = ListReader(setup)
        merge = self.reading.merge(setup, reader)
        return self._pages(merge, reader, setup)

    def _pages(self, merge: Merge[Any], reader: ListReader, setup: Setup) -> Flow[None]:
        left, filtered = self.limit, merge.filtered
        while left is None or left > 0:
            yield from merge.fill(self.page_size if self.page_size is not None or filtered else left, setup)
            items = merge.take(left)
            if not items and merge.done:
                return
            results = yield from self.reading.finish(items, reader)
            # The limit is a number of results, so items that were left out do not count.
            left = None if left is None else left - len(results)
            yield StreamedItems(results)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return self.reading.partitions()


@dataclass(frozen=True, slots=True)
class Count(Operation[int]):
    """Count the items that a query finds, up to `limit`."""

    query: Query[Any]
    consistent: bool = False
    limit: int | None = None

    def flow(self, setup: Setup) -> Flow[int]:
        """Query requests with Select=COUNT; with legacy keys, or if a filter cannot drop expired items, reads the items instead."""
        spec = spec_of(self.query.entity)
        if spec.ttl is not None and not setup.expired and not _filters_expired(spec, self.query.plan):
            return self._read(spec.ttl.attr, setup)
        if spec.key.legacy:
            return self._count(setup)
        requests = without_expired(self.query, setup).requests(
            table_name=setup.name_of(spec.table), consistent=self.consistent, select="COUNT", limit=self.limit
        )
        return _sum(requests, self.query.pattern, self.limit)

    def _read(self, ttl: Any, setup: Setup) -> Flow[int]:
        """Count by reading items, if a filter cannot drop expired ones."""
        there, total = holds_expiry(spec_of(self.query.entity), self.query.plan), 0
        reading = Reading(self.query, self.consistent, hydrate=not there, project=(ttl,) if there else ())
        reader = ListReader(setup)
        merge = reading.merge(setup, reader)
        while not merge.done and (self.limit is None or total < self.limit):
            yield from merge.fill(None, setup)
            total += len((yield from reading.finish(merge.take(None), reader)))
        return total if self.limit is None else min(total, self.limit)

    def _count(self, setup: Setup) -> Flow[int]:
        """Count by reading keys, because an item may be found twice: under its current key and under a legacy key."""
        merge, total = Reading(self.query, self.consistent, hydrate=True).merge(setup, ListReader(setup)), 0
        while not merge.done and (self.limit is None or total < self.limit):
            yield from merge.fill(None, setup)
            total += len(merge.take(None))
        return total if self.limit is None else min(total, self.limit)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The queried partition."""
        return query_partitions(self.query)


def _filters_expired(spec: Spec[Any], plan: KeyPlan) -> bool:
    """Whether a filter can drop expired items: the index must contain the TTL attribute, but not as a key."""
    assert spec.ttl is not None
    return holds_expiry(spec, plan) and spec.ttl.wire not in plan.index.attributes


def _sum(requests: Sequence[Payload], pattern: str, limit: int | None) -> Flow[int]:
    total, pending = 0, list(requests)
    while pending and (limit is None or total < limit):
        responses = yield from send_all([Request("Query", payload, pattern) for payload in pending])
        total += sum(response["Count"] for response in responses)
        pending = [
            payload | {"ExclusiveStartKey": response["LastEvaluatedKey"]}
            for payload, response in zip(pending, responses, strict=True)
            if "LastEvaluatedKey" in response
        ]
    return total if limit is None else min(total, limit)


def send_all(requests: list[Request]) -> Flow[list[dict[str, Any]]]:
    """Send several requests concurrently, and return their responses; raise the first error."""
    if len(requests) == 1:
        return [(yield requests[0])]
    responses = yield Together(requests)
    for response in responses:
        if isinstance(response, Exception):
            raise response
    return list(responses)


def without_expired(query: Query[E], setup: Setup) -> Query[E]:
    """The query with a filter that drops expired items, unless the store includes them."""
    over = None if setup.expired else not_expired(spec_of(query.entity), query.plan, setup.now())
    return query if over is None else replace(query, condition=all_of(query.condition, over))


def query_partitions(query: Query[Any]) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
    """The partition that a query reads."""
    yield query.entity, query.plan, query.values
