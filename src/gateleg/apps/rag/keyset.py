"""Pages of a list by the place of their last row: no row is skipped or repeated, whatever is added or removed between two pages.

A place is (value that is sorted by, ids). Rows with equal values are in the order of their ids, in both directions. Tokens are signed, and
good only for the same question of the same caller.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import orjson

from gateleg.net import BadToken, Secret
from gateleg.store import CursorRejected

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence

    from gateleg.store import AsyncStore

T = TypeVar("T")
#: What is sorted by, then the ids that tell rows with equal values apart.
SortKey = tuple[str | int, ...]
_PURPOSE = "rag-list"


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[T]):
    """Some rows in order; `next` goes on after them, and is None at the end."""

    rows: list[T]
    next: str | None = None
    #: how many rows there are on all pages, where that is known
    total: int | None = None
    #: how many rows are on the pages before, where that is known
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Pager(Generic[T]):
    """How one question is answered page by page: the place of each row, the direction, the size of a page, and whose tokens are good.

    `question` is all that the answer depends on, the caller included.
    """

    secret: Secret
    question: bytes
    place: Callable[[T], SortKey]
    descending: bool
    size: int
    #: the place of the last row of the page before; None at the beginning
    last: SortKey | None = None

    @classmethod
    def of(
        cls, store: AsyncStore, question: Sequence[object], place: Callable[[T], SortKey], *, descending: bool, size: int, token: str | None
    ) -> Pager[T]:
        """The pager of a question, after the page whose token it is. Tokens are signed with the secret of the store's cursors."""
        asked = hashlib.sha256(orjson.dumps(question, default=str)).digest()
        begun = cls(Secret(store.setup.cursors.key), asked, place, descending, size)
        return replace(begun, last=begun._open(token)) if token else begun

    def _open(self, token: str) -> SortKey:
        try:
            return tuple(orjson.loads(self.secret.open(_PURPOSE, token, self.question)))
        except BadToken:
            raise CursorRejected("The page token was not made for this list with this filter, this order and this caller.") from None

    def token_of(self, row: T) -> str:
        """The token of the page behind a row."""
        return self.secret.seal(_PURPOSE, orjson.dumps(self.place(row)), self.question)

    def is_due(self, row: T) -> bool:
        """Whether a row comes after the pages before."""
        return self.last is None or is_after(self.place(row), self.last, self.descending)

    def page_of(self, rows: Iterable[T]) -> KeysetPage[T]:
        """A page of rows that are all there, in any order."""
        by_ids = sorted(rows, key=lambda row: self.place(row)[1:])
        ordered = sorted(by_ids, key=lambda row: self.place(row)[0], reverse=self.descending)
        start = sum(not self.is_due(row) for row in ordered)
        kept = ordered[start : start + self.size]
        more = start + self.size < len(ordered)
        return KeysetPage(kept, self.token_of(kept[-1]) if kept and more else None, total=len(ordered), before=start)

    async def take(self, rows: AsyncIterator[T]) -> KeysetPage[T]:
        """A page of rows that come in order; no more of them are read than the page needs."""
        kept: list[T] = []
        async for row in rows:
            if not self.is_due(row):
                continue
            if len(kept) == self.size:
                return KeysetPage(kept, self.token_of(kept[-1]))
            kept.append(row)
        return KeysetPage(kept)


def is_after(place: SortKey, last: SortKey, descending: bool) -> bool:
    """Whether a place comes after another one."""
    if place[0] != last[0]:
        return (place[0] < last[0]) if descending else (place[0] > last[0])  # type: ignore[operator]
    return place[1:] > last[1:]


async def in_order(rows: AsyncIterator[T], place: Callable[[T], SortKey]) -> AsyncIterator[T]:
    """Rows that come sorted by value, with equal values in the order of their ids."""
    equal: list[T] = []
    async for row in rows:
        if equal and place(row)[0] != place(equal[0])[0]:
            for one in sorted(equal, key=place):
                yield one
            equal = []
        equal.append(row)
    for one in sorted(equal, key=place):
        yield one


async def merged(streams: Sequence[AsyncIterator[T]], place: Callable[[T], SortKey], descending: bool) -> AsyncIterator[T]:
    """Several streams in order as one."""
    heads: list[tuple[T, AsyncIterator[T]]] = []
    for stream in streams:
        async for row in stream:
            heads.append((row, stream))
            break
    while heads:
        first = 0
        for number in range(1, len(heads)):
            if is_after(place(heads[first][0]), place(heads[number][0]), descending):
                first = number
        row, stream = heads[first]
        yield row
        async for following in stream:
            heads[first] = (following, stream)
            break
        else:
            del heads[first]
