"""Pages: a limited number of results, with cursors to the next and previous page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import BaseModel

from gateleg.store.cursors import Position, request_digest
from gateleg.store.operations.operation import Operation, check_limit
from gateleg.store.operations.queries import PatternOrQuery, Reading, build_query
from gateleg.store.operations.reads import projected
from gateleg.store.operations.unreadable import ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Attr, Condition, Item
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.operations.shard_merge import Merge
    from gateleg.store.setup import Setup
    from gateleg.store.unreadable import Unreadable

__all__ = ["ReadPage"]

T = TypeVar("T")
E = TypeVar("E", bound=BaseModel)
#: With a filter, the page size of requests grows up to this number of items while too few are found.
_MAX_PAGE_SIZE = 1000


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
            while len(items) <= self.limit and (found := merge.take(1)):
                items += found
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
    asked = build_query(pattern, conditions, arguments, newest_first)
    return ReadPage(Reading(asked, consistent, hydrate, projected(project or (), asked.entity)), limit, cursor, examine)
