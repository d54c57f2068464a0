"""Read the sources of a query side by side, and merge their items in the order of the sort key.

The sources are the shards of an index; a query without shards has one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.store.flow import Request, Together
from gateleg.store.setup import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.model import Item, Query
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.setup import Setup


E = TypeVar("E", bound=BaseModel)


@dataclass
class _Shard:
    """How far a shard has been read, and how far its items have been taken."""

    payload: Payload
    #: the key after which the next page begins
    start: Item | None = None
    #: the last item that was taken, or the key after which the reading began
    taken: Item | None = None
    items: deque[Item] = field(default_factory=deque)
    ended: bool = False
    #: marks an item that was read from it, if its items need to be told from those of others
    mark: Callable[[Item], Item] | None = None


class Merge(Generic[E]):
    """The items of all shards of a query in one order."""

    def __init__(self, query: Query[E], requests: Sequence[Payload], position: Position | None = None) -> None:
        self._query = query
        self._shards = [_Shard(payload) for payload in requests]
        for shard, start in zip(self._shards, () if position is None else position.starts, strict=False):
            shard.start = shard.taken = start
        #: whether fewer items may be found than are read
        self.filtered = "FilterExpression" in requests[0]
        #: the number of items that DynamoDB has read, including filtered ones
        self.examined = 0

    @property
    def done(self) -> bool:
        """Whether all items have been taken."""
        return all(shard.ended and not shard.items for shard in self._shards)

    @property
    def position(self) -> Position:
        """The position to continue from: in each shard, after the items taken from it."""
        return Position(tuple(self._resume_key(shard.taken) if shard.items or shard.ended else shard.start for shard in self._shards))

    def before(self, item: Item) -> Position:
        """The position to continue backwards from, given the first item of a page; only for queries without shards."""
        return Position((self._query.resume_key(item),))

    def _resume_key(self, taken: Item | None) -> Item | None:
        return None if taken is None else self._query.resume_key(taken)

    def fill(self, page_size: int | None, setup: Setup) -> Flow[None]:
        """Read the next page of each exhausted shard."""
        hungry = [shard for shard in self._shards if not shard.items and not shard.ended]
        requests = [Request("Query", _next_page(shard, page_size), self._query.pattern) for shard in hungry]
        if not requests:
            return
        responses = [(yield requests[0])] if len(requests) == 1 else (yield Together(requests))
        for shard, response in zip(hungry, responses, strict=True):
            if isinstance(response, Exception):
                raise response
            self.examined += response.get("ScannedCount", len(response["Items"]))
            shard.items.extend(response["Items"] if shard.mark is None else map(shard.mark, response["Items"]))
            shard.start = response.get("LastEvaluatedKey")
            shard.ended = shard.start is None

    def take(self, most: int | None) -> list[Item]:
        """Take the next items, up to `most`, until a shard that has further pages is exhausted."""
        if len(self._shards) == 1:
            return self._take_one(self._shards[0], most)
        taken: list[Item] = []
        choose = max if self._query.descending else min
        while most is None or len(taken) < most:
            full = [shard for shard in self._shards if shard.items]
            if not full:
                break
            shard = choose(full, key=lambda shard: self._query.sort_value(shard.items[0]))
            if not all(self._is_past(other, shard.items[0]) for other in self._shards if not other.items and not other.ended):
                break
            taken += self._take_one(shard, 1)
        return taken

    def _is_past(self, shard: _Shard, item: Item) -> bool:
        """Whether a shard has been read beyond the place of an item."""
        if shard.start is None:
            return False
        here, there = self._query.sort_value(item), self._query.sort_value(shard.start)
        return here >= there if self._query.descending else here <= there

    def _take_one(self, shard: _Shard, most: int | None) -> list[Item]:
        if most is None or most >= len(shard.items):
            items = list(shard.items)
            shard.items.clear()
        else:
            items = [shard.items.popleft() for _ in range(most)]
        if items:
            shard.taken = items[-1]
        return items


def _next_page(shard: _Shard, page_size: int | None) -> dict[str, Any]:
    payload = dict(shard.payload)
    if page_size is not None:
        payload["Limit"] = page_size
    if shard.start is not None:
        payload["ExclusiveStartKey"] = shard.start
    return payload
