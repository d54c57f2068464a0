"""Paging over HTTP: `limit` and `cursor` in the query, `items` and `next` in the response."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from gateleg.net import BadToken, Secret
from gateleg.store import CursorRejected, Page

__all__ = ["Cursor", "Limit", "Listing", "page_by_key", "page_by_position"]

T = TypeVar("T")
_PURPOSE = "list-cursor"


class Listing(BaseModel, Generic[T]):
    """One page of results."""

    items: list[T]
    #: pass it as `cursor` for the next page; null at the end
    next: str | None = Field(default=None, description="Pass it as `cursor` for the next page; null at the end.")


Limit = Annotated[int, Query(ge=1, le=200, description="The maximum number of results on a page.")]
Cursor = Annotated[str | None, Query(max_length=4000, description="`next` of the previous page; other parameters must be the same.")]


def page_by_key(items: Iterable[T], key: Callable[[T], str], *, secret: Secret, query: str, limit: int, cursor: str | None) -> Page[T]:
    """One page of a list that is read as a whole, ordered by a unique key.

    The cursor holds the last key of the page, so that concurrent inserts and deletes neither repeat nor hide items. It is valid for the
    same `query` only: pass the path, and whatever filters the list.
    """
    last = None if cursor is None else _open(secret, cursor, query)
    following = sorted((item for item in items if last is None or key(item) > last), key=key)
    page = following[:limit]
    return Page(page, _seal(secret, key(page[-1]), query) if len(following) > limit else None)


def page_by_position(items: Sequence[T], *, secret: Secret, query: str, limit: int, cursor: str | None) -> Page[T]:
    """One page of a list that is read as a whole and not ordered by a key. The cursor holds the position."""
    start = 0 if cursor is None else int(_open(secret, cursor, query))
    end = start + limit
    return Page(list(items[start:end]), _seal(secret, str(end), query) if len(items) > end else None)


def _seal(secret: Secret, position: str, query: str) -> str:
    return secret.seal(_PURPOSE, position.encode(), query.encode())


def _open(secret: Secret, cursor: str, query: str) -> str:
    try:
        return secret.open(_PURPOSE, cursor, query.encode()).decode()
    except BadToken:
        raise CursorRejected("The cursor does not belong to this list.") from None
