"""Lists: pages by cursor or number, and filter conditions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.apps.agents.errors import BadField
from gateleg.model.expressions import all_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.model import Condition, Query
    from gateleg.store import AsyncStore

E = TypeVar("E", bound=BaseModel)
#: Default and maximum number of items per page.
DEFAULT_LIMIT, MAX_LIMIT = 100, 1000
#: Maximum offset of a page number. A page by number reads all pages before it, so later ones need cursors.
FURTHEST = 10_000
#: The resolution of stored times.
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested part of a list: after a cursor, or a page by number (from 1)."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    page_number: int = 1

    def __post_init__(self) -> None:
        """Validate limit and page number."""
        if not 1 <= self.limit <= MAX_LIMIT:
            raise BadField(f"limit is {self.limit}; a page has 1 to {MAX_LIMIT} items.", details={"field": "limit"})
        if self.page_number < 1:
            raise BadField(f"pageNumber is {self.page_number}; pages are counted from 1.", details={"field": "pageNumber"})
        if self.page_number > 1 and self.cursor is not None:
            raise BadField("Both a cursor and pageNumber were given.", fix="Use only one of them.", details={"field": "pageNumber"})
        if self.skipped > FURTHEST:
            raise BadField(f"Page {self.page_number} is too far from the start.", fix="Follow the cursor `next` of the previous page.")

    @property
    def skipped(self) -> int:
        """The number of items before the page."""
        return (self.page_number - 1) * self.limit


@dataclass(frozen=True)
class Listing(Generic[E]):
    """A page of a list, with its query, so that `total` can count all items on demand."""

    items: list[E]
    next: str | None
    previous: str | None
    paging: Paging
    store: AsyncStore
    #: None if the caller may not see any item
    question: Query[E] | None

    async def total(self) -> int:
        """Count all items of the list. Reads all of them."""
        return 0 if self.question is None else await self.store.count(self.question)


async def list_items(store: AsyncStore, question: Query[E], paging: Paging, *, consistent: bool = True) -> Listing[E]:
    """Read a page of a query."""
    cursor = paging.cursor
    left = paging.skipped
    while left > 0:
        passed = await store.page(question, limit=min(left, MAX_LIMIT), cursor=cursor, consistent=consistent)
        left -= len(passed.items)
        cursor = passed.next
        if cursor is None:
            return Listing([], None, None, paging, store, question)
    page = await store.page(question, limit=paging.limit, cursor=cursor, consistent=consistent)
    return Listing(page.items, page.next, page.previous, paging, store, question)


def filtered(question: Query[E], conditions: Sequence[Condition]) -> Query[E]:
    """Add filter conditions to a query."""
    condition = all_of(*conditions)
    return question if condition is None else question.filter(condition)


def matching(entity: Any, equal: Mapping[str, Any], containing: Mapping[str, str | None] | None = None) -> list[Condition]:
    """Filter conditions for the given attributes; None does not filter."""
    found = [getattr(entity, name) == value for name, value in equal.items() if value is not None]
    found += [getattr(entity, name).contains(text) for name, text in (containing or {}).items() if text]
    return found


def among(attribute: Any, values: Sequence[Any] | None) -> list[Condition]:
    """A filter for an attribute with one of several values; nothing if no values are given."""
    return [] if not values else [attribute.is_in(values)]


def timed(question: Query[E], attribute: Any, after: datetime | None, before: datetime | None) -> Query[E]:
    """Bound the sort key of a time-ordered query: later than one time and earlier than another, both exclusive."""
    if after is not None and before is not None:
        first, last = after + _MOMENT, before - _MOMENT
        if first > last:
            raise BadField("The time range is empty.", fix="Use an earlier `Gt` or a later `Lt`.")
        return question.where(attribute.between(first, last))
    if after is not None:
        return question.where(attribute > after)
    return question if before is None else question.where(attribute < before)


def times(attribute: Any, after: datetime | None, before: datetime | None) -> list[Condition]:
    """Filter conditions for a time that is not the sort key: later than one, earlier than another, both exclusive."""
    found = [] if after is None else [attribute > after]
    return found if before is None else [*found, attribute < before]
