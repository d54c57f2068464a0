"""Pages of several queries as one list."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.operations.operation import check_limit
from gateleg.store.operations.pages import ReadPage
from gateleg.store.operations.queries import Reading, query_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Query
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Payload
    from gateleg.store.operations.operation import Operation
    from gateleg.store.operations.pages import Page
    from gateleg.store.setup import Setup

__all__ = ["merged_page"]

E = TypeVar("E", bound=BaseModel)


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

    def _readings(self) -> Iterator[Reading[E]]:
        return (Reading(query, self.consistent, self.hydrate, self.project) for query in (self.query, *self.others))


def merged_page(queries: Sequence[Query[E]], *, limit: int, cursor: str | None = None, examine: int | None = None) -> Operation[Page[E]]:
    """A page of several queries of one index as one list, in the order of the index's sort key. There is no way back.

    All queries have the same direction, and an entity without older keys. An item that moves from one partition to another between two
    reads may be in the list twice.
    """
    first, *others = queries
    assert not spec_of(first.entity).key.legacy
    return ReadPage(_MergedReading(first, others=tuple(others)), check_limit(limit, least=1), cursor, examine)
