"""Lists: pages by cursor or by number, and the conditions that clients can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.apps.agents.errors import BadField
from gateleg.model import all_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.model import Condition, Query
    from gateleg.store import AsyncStore

E = TypeVar("E", bound=BaseModel)
#: How many items a page has that names no limit, and the most that one may ask for.
DEFAULT_LIMIT, MOST = 100, 1000
#: How far page numbers reach. Every page by number reads those before it, so later ones need cursors.
FURTHEST = 10_000
#: Times have microseconds.
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list is wanted: from a cursor, or a page by its number (from 1)."""

    limit: int = DEFAULT_LIMIT
    cursor: str | None = None
    page_number: int = 1

    def __post_init__(self) -> None:
        """Refuse what no page can have."""
        if not 1 <= self.limit <= MOST:
            raise BadField(f"limit is {self.limit}; a page has 1 to {MOST} items.", details={"field": "limit"})
        if self.page_number < 1:
            raise BadField(f"pageNumber is {self.page_number}; pages are counted from 1.", details={"field": "pageNumber"})
        if self.page_number > 1 and self.cursor is not None:
            raise BadField("A page has a cursor or a number.", fix="Give one of them.", details={"field": "pageNumber"})
        if self.skipped > FURTHEST:
            raise BadField(f"Page {self.page_number} is too far.", fix="Follow the cursor `next` of the page before it.")

    @property
    def skipped(self) -> int:
        """How many items come before a page by number."""
        return (self.page_number - 1) * self.limit


@dataclass(frozen=True)
class Listing(Generic[E]):
    """A page of a list, and the question that it answers: `total` counts all answers when somebody asks."""

    items: list[E]
    next: str | None
    previous: str | None
    paging: Paging
    store: AsyncStore
    #: None for a list that the caller may not see anything of
    question: Query[E] | None

    async def total(self) -> int:
        """How many items the whole list has. This reads all of them."""
        return 0 if self.question is None else await self.store.count(self.question)


async def list_items(store: AsyncStore, question: Query[E], paging: Paging, *, consistent: bool = True) -> Listing[E]:
    """A page of what a question finds."""
    cursor = paging.cursor
    left = paging.skipped
    while left > 0:
        passed = await store.page(question, limit=min(left, MOST), cursor=cursor, consistent=consistent)
        left -= len(passed.items)
        cursor = passed.next
        if cursor is None:
            return Listing([], None, None, paging, store, question)
    page = await store.page(question, limit=paging.limit, cursor=cursor, consistent=consistent)
    return Listing(page.items, page.next, page.previous, paging, store, question)


def filtered(question: Query[E], conditions: Sequence[Condition]) -> Query[E]:
    """A question, narrowed."""
    condition = all_of(*conditions)
    return question if condition is None else question.filter(condition)


def matching(entity: Any, equal: Mapping[str, Any], containing: Mapping[str, str | None] | None = None) -> list[Condition]:
    """Conditions for attributes that were asked for; None was not."""
    found = [getattr(entity, name) == value for name, value in equal.items() if value is not None]
    found += [getattr(entity, name).contains(text) for name, text in (containing or {}).items() if text]
    return found


def among(attribute: Any, values: Sequence[Any] | None) -> list[Condition]:
    """A condition for an attribute that has one of some values; none, when no values are given."""
    return [] if not values else [attribute.is_in(values)]


def timed(question: Query[E], attribute: Any, after: datetime | None, before: datetime | None) -> Query[E]:
    """A question by time, from an index that is sorted by it: later than one time, earlier than another, both excluded."""
    if after is not None and before is not None:
        first, last = after + _MOMENT, before - _MOMENT
        if first > last:
            raise BadField("There is no time between these two.", fix="Give an earlier `Gt`, or a later `Lt`.")
        return question.where(attribute.between(first, last))
    if after is not None:
        return question.where(attribute > after)
    return question if before is None else question.where(attribute < before)


def times(attribute: Any, after: datetime | None, before: datetime | None) -> list[Condition]:
    """Conditions for a time that no index is sorted by: later than one, earlier than another, both excluded."""
    found = [] if after is None else [attribute > after]
    return found if before is None else [*found, attribute < before]
