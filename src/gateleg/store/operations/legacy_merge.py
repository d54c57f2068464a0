"""One order over the items of a query under their present keys and those that still lie under older ones."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.cursors import Position
from gateleg.store.operations.legacy_forms import LegacyItem, has_older_form
from gateleg.store.operations.legacy_partitions import LegacyPartition, legacy_items, present_identity, replaced_items, without_replaced
from gateleg.store.operations.shard_merge import Merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.model import Item, Query
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.unreadable import ListReader
    from gateleg.store.setup import Setup

E = TypeVar("E", bound=BaseModel)
#: How many items of a partition in another order are kept at most; for more, the partition is read again.
_KEPT = 10_000


@dataclass
class _Older:
    """How far an old partition has been read."""

    partition: LegacyPartition
    #: the key after which the next page begins; only of an ordered partition
    start: Item | None = None
    #: the place in the order up to which all items have been seen
    floor: tuple[Any, ...] | None = None
    items: deque[LegacyItem] = field(default_factory=deque)
    ended: bool = False


class LegacyMerge(Merge[E]):
    """The items of a query's requests and of its old partitions, each once, in the query's order.

    Items with equal sort keys come in one order too: those under present keys before those under older ones.
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
        #: the item that was handed out last, and whether it came from an old partition
        self._last: Item | None = position.last if position is not None else None
        self._last_older = position is not None and position.last_is_legacy
        #: where this reading began, in the sort key alone
        self._begin = None if self._last is None else self._range(self._last)
        self._begin_at = None if self._last is None else present_identity(query, self._last)
        self._handed_out: set[Any] = set()
        self._first: Item | None = None
        self._older = [_Older(partition) for partition in partitions]
        for older in self._older:
            if self._last is not None:
                older.floor = self._order(self._last, self._last_older)
                older.start = older.partition.start_after(self._last) if older.partition.ordered else None

    @property
    def done(self) -> bool:
        """Whether everything has been taken, from old partitions too."""
        return super().done and all(older.ended and not older.items for older in self._older)

    @property
    def position(self) -> Position:
        """Where to go on: each shard after what was taken from it, and old partitions after what was handed out last."""
        last = None if self._last is None else self._query.resume_key(self._last)
        return replace(super().position, last=last, last_is_legacy=self._last_older)

    def before(self, item: Item) -> Position:
        """Where to go on backwards from the first item of a page: each shard from the first item that was read from it."""
        shard = self._shards[0]
        first = self._first if self._first is not None else (None if shard.ended else shard.start)
        start = None if first is None else self._query.resume_key(first)
        return Position((start,), last=self._query.resume_key(item), last_is_legacy=isinstance(item, LegacyItem))

    def fill(self, page_size: int | None, setup: Setup) -> Flow[None]:
        """Read on where nothing is left: old partitions first, then the present ones, anew from where they were left."""
        hungry = [older for older in self._older if not older.items and not older.ended]
        for older in hungry:
            yield from self._fill_ordered(older, page_size) if older.partition.ordered else self._fill_sorted(older, page_size)
        if hungry:
            for shard in self._shards:
                # What moved since it was read may belong before these.
                shard.items.clear()
                shard.start, shard.ended = self._resume_key(shard.taken), False
        yield from super().fill(page_size, setup)
        self._settle()
        yield from self._drop_replaced()

    def _fill_ordered(self, older: _Older, page_size: int | None) -> Flow[None]:
        reply = yield older.partition.page(older.start, page_size)
        self.examined += reply.get("ScannedCount", len(reply["Items"]))
        older.start = reply.get("LastEvaluatedKey")
        older.ended = older.start is None
        found = yield from legacy_items(older.partition, reply["Items"], self._reader)
        yield from self._keep(older, [item for item in found if self._is_ahead(older, item)])

    def _fill_sorted(self, older: _Older, page_size: int | None) -> Flow[None]:
        """Read the whole partition; keep what comes next in the query's order."""
        most = min(page_size or _KEPT, _KEPT)
        best: list[LegacyItem] = []
        start: Item | None = None
        older.ended = True
        while True:
            reply = yield older.partition.page(start, None)
            self.examined += reply.get("ScannedCount", len(reply["Items"]))
            found = yield from legacy_items(older.partition, reply["Items"], self._reader)
            best = sorted(
                [*best, *(item for item in found if self._is_ahead(older, item))],
                key=lambda item: self._order(item, True),
                reverse=self._query.descending,
            )
            older.ended = older.ended and len(best) <= most
            best = best[:most]
            start = reply.get("LastEvaluatedKey")
            if start is None:
                break
        yield from self._keep(older, best)

    def _keep(self, older: _Older, items: list[LegacyItem]) -> Flow[None]:
        if items:
            older.floor = self._order(items[-1], True)
        kept = yield from without_replaced(older.partition, items, self._reader, self._consistent)
        older.items.extend(kept)

    def _is_ahead(self, older: _Older, item: LegacyItem) -> bool:
        """Whether an item comes after those that have been seen."""
        if older.floor is None:
            return True
        order = self._order(item, True)
        return order < older.floor if self._query.descending else order > older.floor

    def _settle(self) -> None:
        """Drop what is there twice: old forms that an index shows, and items that have been moved since they were read."""
        present = set()
        for shard in self._shards:
            shard.items = deque(item for item in shard.items if self._is_new(item))
            present |= {present_identity(self._query, item) for item in shard.items}
        if self._first is None and self._shards[0].items:
            self._first = self._shards[0].items[0]
        for older in self._older:
            older.items = deque(item for item in older.items if present_identity(self._query, item) not in present)

    def _drop_replaced(self) -> Flow[None]:
        """Drop items that the index has under an older key although there is a newer one."""
        spec = spec_of(self._query.entity)
        shown = [
            item for shard in self._shards for item in shard.items if any(has_older_form(item, spec, plan) for plan in spec.key.legacy)
        ]
        replaced = yield from replaced_items(spec, shown, self._reader, self._consistent)
        if replaced:
            for shard in self._shards:
                shard.items = deque(item for item in shard.items if present_identity(self._query, item) not in replaced)

    def _is_new(self, item: Item) -> bool:
        spec = spec_of(self._query.entity)
        for older in self._older:
            if item[spec.table.hash] == older.partition.hash and has_older_form(item, spec, older.partition.plan):
                return False
        place = present_identity(self._query, item)
        if place in self._handed_out or place == self._begin_at:
            return False
        if self._begin is None:
            return True
        return self._range(item) <= self._begin if self._query.descending else self._range(item) >= self._begin

    def take(self, most: int | None) -> list[Item]:
        """The next items, as far as they are certain: until a shard or an old partition that has more to come runs out."""
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
                self._handed_out.add(present_identity(self._query, item))
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
