"""Pages of several queries, of one table or of several, as one list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.operations.batch_flows import batch_get_flow
from gateleg.store.operations.operation import check_limit
from gateleg.store.operations.pages import ReadPage
from gateleg.store.operations.queries import Reading, query_partitions
from gateleg.store.operations.shard_merge import Merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Item, Query
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.cursors import Position
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.operation import Operation
    from gateleg.store.operations.pages import Page
    from gateleg.store.operations.unreadable import ListReader
    from gateleg.store.setup import Setup

__all__ = ["merged_page"]

E = TypeVar("E", bound=BaseModel)


class _ItemOf(dict[str, Any]):
    """A stored item, with the query that found it: items of different tables are decoded differently."""

    def __init__(self, item: Item, query: Query[Any]) -> None:
        super().__init__(item)
        self.query = query


class _MergeOfQueries(Merge[E]):
    """The items of several queries in one order."""

    def __init__(self, readings: Sequence[Reading[E]], setup: Setup, position: Position | None) -> None:
        found = [(request, reading.query) for reading in readings for request in reading.requests(setup)]
        super().__init__(readings[0].query, [request for request, _ in found], position)
        for shard, (_, query) in zip(self._shards, found, strict=True):
            shard.mark = partial(_ItemOf, query=query)

    def _resume_key(self, taken: Item | None) -> Item | None:
        return taken.query.resume_key(taken) if isinstance(taken, _ItemOf) else taken


@dataclass(frozen=True, slots=True)
class _MergedReading(Reading[E]):
    """Several queries, read side by side as the shards of one query are."""

    others: tuple[Query[E], ...] = ()

    def requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The requests of all queries."""
        return tuple(chain.from_iterable(one.requests(setup) for one in self._readings()))

    def cursor_requests(self, setup: Setup) -> tuple[Payload, ...]:
        """The requests of all queries that a cursor is bound to."""
        return tuple(chain.from_iterable(one.cursor_requests(setup) for one in self._readings()))

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
            found = yield from batch_get_flow(keys, reader.setup, self.consistent, f"{self.query.pattern} hydrate")
        else:
            found = list(items)
        decoded = [reader.one(spec_of(query.entity), item) for query, item in zip(queries, found, strict=True)]
        return [entity for entity in decoded if entity is not None]

    def _readings(self) -> Iterator[Reading[E]]:
        return (Reading(query, self.consistent, self.hydrate, self.project) for query in (self.query, *self.others))


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
