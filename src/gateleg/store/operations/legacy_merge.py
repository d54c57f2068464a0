"""Merge the items of a query under current keys and under legacy keys into one order.

Read the shards of a query concurrently, and merge them in the order of the sort key. A query without shards has one.

Schema upgrades: an item of an older schema is rewritten in the current one before an update or condition is applied to it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.upcasters import schema_of
from gateleg.store.flow import Request, Together
from gateleg.store.operations.entity_reads import LegacyItem, has_legacy_key, upcast_item
from gateleg.store.operations.legacy_keys import (
    LegacyPartition,
    current_identity,
    legacy_items,
    replaced_items,
    unchanged,
    with_current_key,
    without_replaced,
)
from gateleg.store.setup import Position, retry_conflicts
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.model import Item, Query, Spec
    from gateleg.store.flow import Flow, Payload, Response
    from gateleg.store.operations.entity_reads import ListReader
    from gateleg.store.setup import Setup

__all__ = ["replace_unchanged", "upgrade_item"]

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


#: The maximum number of items to keep of a partition in another order; for more, the partition is read again.
_MAX_KEPT = 10_000


@dataclass
class _Older:
    """How far a legacy partition has been read."""

    partition: LegacyPartition
    #: the key after which the next page begins; for ordered partitions only
    start: Item | None = None
    #: the position in the order up to which all items have been seen
    floor: tuple[Any, ...] | None = None
    items: deque[LegacyItem] = field(default_factory=deque)
    ended: bool = False


class LegacyMerge(Merge[E]):
    """The items of a query's requests and of its legacy partitions, without duplicates, in the query's order.

    Among items with equal sort keys, those under current keys come first.
    """

    def __init__(
        self,
        query: Query[E],
        requests: Sequence[Payload],
        partitions: Sequence[LegacyPartition],
        position: Position | None,
        reader: ListReader,
        consistent: bool,
    ) -> None:
        super().__init__(query, requests, position)
        self.filtered = True
        self._reader = reader
        self._consistent = consistent
        #: the last item that was returned, and whether it came from a legacy partition
        self._last: Item | None = position.last if position is not None else None
        self._last_older = position is not None and position.last_is_legacy
        #: the sort key where this reading began
        self._begin = None if self._last is None else self._range(self._last)
        self._begin_at = None if self._last is None else current_identity(query, self._last)
        self._returned: set[Any] = set()
        self._first: Item | None = None
        self._older = [_Older(partition) for partition in partitions]
        for older in self._older:
            if self._last is not None:
                older.floor = self._order(self._last, self._last_older)
                older.start = older.partition.start_after(self._last) if older.partition.ordered else None

    @property
    def done(self) -> bool:
        """Whether all items have been taken, from legacy partitions too."""
        return super().done and all(older.ended and not older.items for older in self._older)

    @property
    def position(self) -> Position:
        """The position to continue from: in each shard after the items taken from it, in legacy partitions after the last returned item."""
        last = None if self._last is None else self._query.resume_key(self._last)
        return replace(super().position, last=last, last_is_legacy=self._last_older)

    def before(self, item: Item) -> Position:
        """The position to continue backwards from, given the first item of a page."""
        shard = self._shards[0]
        first = self._first if self._first is not None else (None if shard.ended else shard.start)
        start = None if first is None else self._query.resume_key(first)
        return Position((start,), last=self._query.resume_key(item), last_is_legacy=isinstance(item, LegacyItem))

    def fill(self, page_size: int | None, setup: Setup) -> Flow[None]:
        """Read the next page of each exhausted source: legacy partitions first, then shards, starting again after the items taken."""
        hungry = [older for older in self._older if not older.items and not older.ended]
        for older in hungry:
            yield from self._fill_ordered(older, page_size) if older.partition.ordered else self._fill_sorted(older, page_size)
        if hungry:
            for shard in self._shards:
                # Items that moved to current keys since the last read may belong before these.
                shard.items.clear()
                shard.start, shard.ended = self._resume_key(shard.taken), False
        yield from super().fill(page_size, setup)
        self._drop_duplicates()
        yield from self._drop_replaced()

    def _fill_ordered(self, older: _Older, page_size: int | None) -> Flow[None]:
        response = yield older.partition.page(older.start, page_size)
        self.examined += response.get("ScannedCount", len(response["Items"]))
        older.start = response.get("LastEvaluatedKey")
        older.ended = older.start is None
        found = yield from legacy_items(older.partition, response["Items"], self._reader)
        yield from self._keep(older, [item for item in found if self._is_ahead(older, item)])

    def _fill_sorted(self, older: _Older, page_size: int | None) -> Flow[None]:
        """Read a whole partition, and keep the items that come next in the query's order."""
        most = min(page_size or _MAX_KEPT, _MAX_KEPT)
        best: list[LegacyItem] = []
        start: Item | None = None
        older.ended = True
        while True:
            response = yield older.partition.page(start, None)
            self.examined += response.get("ScannedCount", len(response["Items"]))
            found = yield from legacy_items(older.partition, response["Items"], self._reader)
            best = sorted(
                [*best, *(item for item in found if self._is_ahead(older, item))],
                key=lambda item: self._order(item, True),
                reverse=self._query.descending,
            )
            older.ended = older.ended and len(best) <= most
            best = best[:most]
            start = response.get("LastEvaluatedKey")
            if start is None:
                break
        yield from self._keep(older, best)

    def _keep(self, older: _Older, items: list[LegacyItem]) -> Flow[None]:
        if items:
            older.floor = self._order(items[-1], True)
        kept = yield from without_replaced(older.partition, items, self._reader, self._consistent)
        older.items.extend(kept)

    def _is_ahead(self, older: _Older, item: LegacyItem) -> bool:
        """Whether an item comes after all items that have been seen."""
        if older.floor is None:
            return True
        order = self._order(item, True)
        return order < older.floor if self._query.descending else order > older.floor

    def _drop_duplicates(self) -> None:
        """Drop duplicates: items under legacy keys that an index also contains, and items that moved since they were read."""
        present = set()
        for shard in self._shards:
            shard.items = deque(item for item in shard.items if self._is_new(item))
            present |= {current_identity(self._query, item) for item in shard.items}
        if self._first is None and self._shards[0].items:
            self._first = self._shards[0].items[0]
        for older in self._older:
            older.items = deque(item for item in older.items if current_identity(self._query, item) not in present)

    def _drop_replaced(self) -> Flow[None]:
        """Drop items that the index contains under a legacy key although a newer item exists."""
        spec = spec_of(self._query.entity)
        shown = [
            item for shard in self._shards for item in shard.items if any(has_legacy_key(item, spec, plan) for plan in spec.key.legacy)
        ]
        replaced = yield from replaced_items(spec, shown, self._reader, self._consistent)
        if replaced:
            for shard in self._shards:
                shard.items = deque(item for item in shard.items if current_identity(self._query, item) not in replaced)

    def _is_new(self, item: Item) -> bool:
        spec = spec_of(self._query.entity)
        for older in self._older:
            if item[spec.table.hash] == older.partition.hash and has_legacy_key(item, spec, older.partition.plan):
                return False
        place = current_identity(self._query, item)
        if place in self._returned or place == self._begin_at:
            return False
        if self._begin is None:
            return True
        return self._range(item) <= self._begin if self._query.descending else self._range(item) >= self._begin

    def take(self, most: int | None) -> list[Item]:
        """Take the next items, up to `most`, until a source that has further pages is exhausted."""
        taken: list[Item] = []
        choose = max if self._query.descending else min
        while most is None or len(taken) < most:
            sources: list[Any] = [*self._shards, *self._older]
            if not all(source.items or source.ended for source in sources):
                break
            heads: list[tuple[tuple[Any, ...], Any]] = [(self._order(one.items[0], False), one) for one in self._shards if one.items]
            heads += [(self._order(one.items[0], True), one) for one in self._older if one.items]
            if not heads:
                break
            _, source = choose(heads, key=lambda head: head[0])
            if isinstance(source, _Older):
                item: Item = source.items.popleft()
                self._returned.add(current_identity(self._query, item))
            else:
                (item,) = self._take_one(source, 1)
            self._last, self._last_older = item, isinstance(item, LegacyItem)
            taken.append(item)
        return taken

    def _order(self, item: Item, older: bool) -> tuple[Any, ...]:
        range_, key = self._split(item)
        return (*range_, older, *key)

    def _range(self, item: Item) -> tuple[Any, ...]:
        return self._split(item)[0]

    def _split(self, item: Item) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        values, count = self._query.sort_value(item), len(self._query.plan.index.range)
        return values[:count], values[count:]


def upgrade_item(spec: Spec[Any], write: Mapping[str, Any], item: Item | None, setup: Setup) -> Flow[bool]:
    """Rewrite an item in its current schema, if that may be why a write was refused; return True if the write should be retried.

    `write` are the parameters of the refused write, `item` is the stored item. Nothing is done unless the write requires the current schema
    and the item has an older one.
    """
    if not item or spec.table.schema not in write.get("ExpressionAttributeNames", {}).values() or schema_of(item, spec) >= spec.schema:
        return False
    current = yield from upcast_item(spec, item, setup)
    # If the item was changed meanwhile, nothing is replaced, and the write is retried on the changed item.
    yield from replace_unchanged(spec, item, current, setup, f"{spec.name}.upgrade")
    return True


def replace_unchanged(
    spec: Spec[Any], item: Item, current: Item, setup: Setup, pattern: str, options: dict[str, Any] | None = None
) -> Flow[Response | None]:
    """Re-encode an item and put it, on condition that it has not changed since it was read; return None if it has.

    `current` is the item in its current schema. `options` are further parameters of the request.
    """
    out = Placeholders()
    condition = unchanged(spec, item).render(out)
    instance = spec.decode(current if not spec.key.legacy or spec.key.fits(current) else with_current_key(current, spec))
    # In the first release of a changed key, the item stays under its legacy one.
    key = {name: item[name] for name in spec.table.attributes}
    payload: dict[str, Any] = {"TableName": setup.name_of(spec.table), "Item": spec.encode(instance) | key}
    payload |= {"ConditionExpression": condition, **out.parameters(), **(options or {})}
    try:
        response: Response = yield from retry_conflicts(Request("PutItem", payload, pattern), setup)
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return None
    return response
