"""Keyset pagination: a page starts after the sort key of the previous page's last row, so inserts and deletes neither skip nor repeat rows.

A sort key is (sort value, ids). Rows with equal values are ordered by their ids, in both directions. Page tokens are signed, and valid only
for the same list, filter and caller.
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
#: The sort value, then the ids that break ties.
SortKey = tuple[str | int, ...]
_PURPOSE = "rag-list"


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[T]):
    """Rows in order; `next` is the token of the next page, or None on the last page."""

    rows: list[T]
    next: str | None = None
    #: the number of rows on all pages, if known
    total: int | None = None
    #: the number of rows on earlier pages, if known
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Pager(Generic[T]):
    """Splits a list into pages.

    `identity` is the hash of everything that the list depends on, including the caller; a token is valid only for the same hash.
    """

    secret: Secret
    identity: bytes
    sort_key: Callable[[T], SortKey]
    descending: bool
    size: int
    #: the sort key of the previous page's last row; None for the first page
    last: SortKey | None = None

    @classmethod
    def of(
        cls,
        store: AsyncStore,
        identity: Sequence[object],
        sort_key: Callable[[T], SortKey],
        *,
        descending: bool,
        size: int,
        token: str | None,
    ) -> Pager[T]:
        """The pager of a list, positioned after the page that returned `token`. Tokens are signed with the store's cursor secret."""
        asked = hashlib.sha256(orjson.dumps(identity, default=str)).digest()
        begun = cls(Secret(store.setup.cursors.key), asked, sort_key, descending, size)
        return replace(begun, last=begun._open(token)) if token else begun

    def _open(self, token: str) -> SortKey:
        try:
            return tuple(orjson.loads(self.secret.open(_PURPOSE, token, self.identity)))
        except BadToken:
            raise CursorRejected("The page token was not made for this list with this filter, this order and this caller.") from None

    def token_of(self, row: T) -> str:
        """The token of the page that starts after a row."""
        return self.secret.seal(_PURPOSE, orjson.dumps(self.sort_key(row)), self.identity)

    def follows_last(self, row: T) -> bool:
        """Whether a row comes after all earlier pages."""
        return self.last is None or is_after(self.sort_key(row), self.last, self.descending)

    def page_of(self, rows: Iterable[T]) -> KeysetPage[T]:
        """The page of a complete list of rows, in any order."""
        by_ids = sorted(rows, key=lambda row: self.sort_key(row)[1:])
        ordered = sorted(by_ids, key=lambda row: self.sort_key(row)[0], reverse=self.descending)
        start = sum(not self.follows_last(row) for row in ordered)
        kept = ordered[start : start + self.size]
        more = start + self.size < len(ordered)
        return KeysetPage(kept, self.token_of(kept[-1]) if kept and more else None, total=len(ordered), before=start)

    async def take(self, rows: AsyncIterator[T]) -> KeysetPage[T]:
        """The page of a sorted stream. Reads no more rows than the page needs."""
        kept: list[T] = []
        async for row in rows:
            if not self.follows_last(row):
                continue
            if len(kept) == self.size:
                return KeysetPage(kept, self.token_of(kept[-1]))
            kept.append(row)
        return KeysetPage(kept)


def is_after(sort_key: SortKey, last: SortKey, descending: bool) -> bool:
    """Whether a sort key comes after `last`."""
    if sort_key[0] != last[0]:
        return (sort_key[0] < last[0]) if descending else (sort_key[0] > last[0])  # type: ignore[operator]
    return sort_key[1:] > last[1:]


async def order_ties(rows: AsyncIterator[T], sort_key: Callable[[T], SortKey]) -> AsyncIterator[T]:
    """Order a stream that is sorted by value also by ids, within equal values."""
    equal: list[T] = []
    async for row in rows:
        if equal and sort_key(row)[0] != sort_key(equal[0])[0]:
            for one in sorted(equal, key=sort_key):
                yield one
            equal = []
        equal.append(row)
    for one in sorted(equal, key=sort_key):
        yield one


async def merge_streams(streams: Sequence[AsyncIterator[T]], sort_key: Callable[[T], SortKey], descending: bool) -> AsyncIterator[T]:
    """Merge sorted streams."""
    heads: list[tuple[T, AsyncIterator[T]]] = []
    for stream in streams:
        async for row in stream:
            heads.append((row, stream))
            break
    while heads:
        first = 0
        for number in range(1, len(heads)):
            if is_after(sort_key(heads[first][0]), sort_key(heads[number][0]), descending):
                first = number
        row, stream = heads[first]
        yield row
        async for following in stream:
            heads[first] = (following, stream)
            break
        else:
            del heads[first]
