"""Read the sources of a query side by side, and merge their items in the order of the sort key.

The sources are the shards of an index, of which a query without shards has one, and legacy partitions, which `LegacyMerge` reads too.

Items under a legacy key are in another partition of the table, a legacy partition. It is read before the current one. Items move from
legacy to current keys and never back, so none is missed, and one that moves in between is found twice and returned once. If the legacy key
sorts items like the query, pages are read on demand. Otherwise the whole partition is read for each page of the query, and its first items
are kept: a cost that ends when all items have been moved.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.keys import KeyPlan
from gateleg.model.patterns import render_key_condition
from gateleg.store.flow import Request, Together
from gateleg.store.operations.operation import batch_get_flow, item_key
from gateleg.store.operations.reads import LegacyItem, current_items, has_legacy_key, is_legacy, read_form
from gateleg.store.setup import Position, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gateleg.model import Item, Query, Spec
    from gateleg.model.wire import Value
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.reads import ListReader
    from gateleg.store.setup import Setup

E = TypeVar("E", bound=BaseModel)

#: The maximum number of items to keep of a partition in another order; for more, the partition is read again.
_MAX_KEPT = 10_000


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
            return self._take_from(self._shards[0], most)
        taken: list[Item] = []
        choose = max if self._query.descending else min
        while most is None or len(taken) < most:
            full = [shard for shard in self._shards if shard.items]
            if not full:
                break
            shard = choose(full, key=lambda shard: self._query.sort_value(shard.items[0]))
            if not all(self._is_past(other, shard.items[0]) for other in self._shards if not other.items and not other.ended):
                break
            taken += self._take_from(shard, 1)
        return taken

    def _is_past(self, shard: _Shard, item: Item) -> bool:
        """Whether a shard has been read beyond the place of an item."""
        if shard.start is None:
            return False
        here, there = self._query.sort_value(item), self._query.sort_value(shard.start)
        return here >= there if self._query.descending else here <= there

    def _take_from(self, shard: _Shard, most: int | None) -> list[Item]:
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
        self._begin_at = None if self._last is None else current_item_key(query, self._last)
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
        items = yield from legacy_items(older.partition, response["Items"], self._reader)
        yield from self._keep(older, [item for item in items if self._is_ahead(older, item)])

    def _fill_sorted(self, older: _Older, page_size: int | None) -> Flow[None]:
        """Read a whole partition, and keep the items that come next in the query's order."""
        most = min(page_size or _MAX_KEPT, _MAX_KEPT)
        best: list[LegacyItem] = []
        start: Item | None = None
        older.ended = True
        while True:
            response = yield older.partition.page(start, None)
            self.examined += response.get("ScannedCount", len(response["Items"]))
            items = yield from legacy_items(older.partition, response["Items"], self._reader)
            best = sorted(
                [*best, *(item for item in items if self._is_ahead(older, item))],
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
            present |= {current_item_key(self._query, item) for item in shard.items}
        if self._first is None and self._shards[0].items:
            self._first = self._shards[0].items[0]
        for older in self._older:
            older.items = deque(item for item in older.items if current_item_key(self._query, item) not in present)

    def _drop_replaced(self) -> Flow[None]:
        """Drop items that the index contains under a legacy key although a newer item exists."""
        spec = spec_of(self._query.entity)
        legacy = [
            item for shard in self._shards for item in shard.items if any(has_legacy_key(item, spec, plan) for plan in spec.key.legacy)
        ]
        replaced = yield from replaced_items(spec, legacy, self._reader, self._consistent)
        if replaced:
            for shard in self._shards:
                shard.items = deque(item for item in shard.items if current_item_key(self._query, item) not in replaced)

    def _is_new(self, item: Item) -> bool:
        spec = spec_of(self._query.entity)
        for older in self._older:
            if item[spec.table.hash] == older.partition.hash and has_legacy_key(item, spec, older.partition.plan):
                return False
        place = current_item_key(self._query, item)
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
            heads: list[tuple[tuple[Any, ...], Any]] = [
                (self._order(shard.items[0], False), shard) for shard in self._shards if shard.items
            ]
            heads += [(self._order(older.items[0], True), older) for older in self._older if older.items]
            if not heads:
                break
            _, source = choose(heads, key=lambda head: head[0])
            if isinstance(source, _Older):
                item: Item = source.items.popleft()
                self._returned.add(current_item_key(self._query, item))
            else:
                (item,) = self._take_from(source, 1)
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


@dataclass(frozen=True)
class LegacyPartition:
    """A partition of the table that may contain items under a legacy key."""

    query: Query[Any]
    plan: KeyPlan
    #: the number of the legacy form; earlier forms take precedence
    number: int
    #: the wire value of its partition key
    hash: Value
    #: the Query request, without limit and start
    payload: Payload
    #: whether its items are in the order of the query
    ordered: bool

    def start_after(self, last: Item) -> Item:
        """The ExclusiveStartKey after the last returned item; for ordered partitions only."""
        spec = spec_of(self.query.entity)
        return {name: last[name] for name in spec.table.attributes} | {spec.table.hash: self.hash}

    def page(self, start: Item | None, limit: int | None) -> Request:
        """The request of one page."""
        payload = dict(self.payload)
        if start is not None:
            payload["ExclusiveStartKey"] = start
        if limit is not None:
            payload["Limit"] = limit
        return Request("Query", payload, self.query.pattern)


def legacy_partitions(query: Query[Any], setup: Setup, consistent: bool) -> tuple[LegacyPartition, ...]:
    """The legacy partitions of a query: one for each legacy form whose hash the query's arguments determine."""
    spec = spec_of(query.entity)
    partitions = []
    for number, plan in enumerate(() if query.legacy_indexed else spec.key.legacy):
        names = {name for entry in plan.hash for name in entry.names}
        values = spec.arguments({**query.values, **query.within}, names)
        if any(values.get(name) is None for name in names):
            continue
        wire = plan.hash[0].value(values)
        assert wire is not None
        ordered = not query.plan.index.name and _form(plan) == _form(query.plan)
        payload = _payload(query, plan if ordered else KeyPlan(plan.index, plan.hash, ()), values, ordered)
        payload |= {"TableName": setup.name_of(spec.table)} | ({"ConsistentRead": True} if consistent else {})
        partitions.append(LegacyPartition(query, plan, number, wire, payload, ordered))
    return tuple(partitions)


def _payload(query: Query[Any], plan: KeyPlan, values: Mapping[str, Any], ordered: bool) -> Payload:
    out = Placeholders()
    known = {name: value for name, value in values.items() if name in plan.names and value is not None}
    payload: Payload = {"KeyConditionExpression": render_key_condition(plan, known, query.bound if ordered else None, out)}
    return payload | out.parameters() | ({"ScanIndexForward": False} if ordered and query.descending else {})


def _form(plan: KeyPlan) -> list[Any]:
    """The sort key templates of a plan, for comparison."""
    return [(entry.attribute, entry.text.template.text if entry.text is not None else entry.names) for entry in plan.range]


def legacy_items(partition: LegacyPartition, items: Sequence[Item], reader: ListReader) -> Flow[list[LegacyItem]]:
    """The items of a legacy partition that the query would find under their current keys, encoded with those."""
    spec = spec_of(partition.query.entity)
    mine = [item for item in items if is_legacy(item, spec) and partition.plan.fits(item)]
    encoded = []
    for item in (yield from current_items(spec, mine, reader)):
        try:
            present = _present(spec, item, partition)
        except ModelError as error:
            reader.report(Unreadable(spec.ref_of(item), item, error))
            continue
        if present is not None:
            encoded.append(present)
    return encoded


def _present(spec: Spec[Any], item: Item, partition: LegacyPartition) -> LegacyItem | None:
    """Encode an item as it would be stored today; None if the query would not find it, or if its key is not the partition's legacy key."""
    instance, number = read_form(item, spec)
    if number != partition.number:
        return None
    encoded = spec.encode(instance)
    return LegacyItem(encoded) if partition.query.finds(encoded, spec.values(instance)) else None


def without_replaced(
    partition: LegacyPartition, items: Sequence[LegacyItem], reader: ListReader, consistent: bool
) -> Flow[list[LegacyItem]]:
    """The items without a newer item, that is, one under the current key or under an earlier legacy form."""
    spec = spec_of(partition.query.entity)
    stored = yield from newer_items(spec, [spec.decode(item) for item in items], partition.number, reader.setup, consistent)
    return [item for item, newer in zip(items, stored, strict=True) if not any(newer)]


def replaced_items(spec: Spec[Any], items: Sequence[Item], reader: ListReader, consistent: bool) -> Flow[set[Any]]:
    """The keys of the items that are stored under a legacy key although a newer item exists. Only the items' keys are used."""
    keys = [{name: item[name] for name in spec.table.attributes} for item in items]
    stored = (
        (yield from batch_get_flow([(spec.table, key) for key in keys], reader.setup, consistent, f"{spec.name}.legacy")) if keys else []
    )
    replaced = set()
    for item in (yield from current_items(spec, [item for item in stored if item is not None], reader)):
        try:
            instance, number = read_form(item, spec)
        except ModelError:
            # Reported when the item is decoded.
            continue
        if number is not None and any((yield from newer_items(spec, [instance], number, reader.setup, consistent))[0]):
            replaced.add(item_key(spec.table.name, {name: item[name] for name in spec.table.attributes}))
    return replaced


def newer_items(
    spec: Spec[E], instances: Sequence[E], number: int, setup: Setup, consistent: bool = False
) -> Flow[list[list[Item | None]]]:
    """The items stored under the current key, and under legacy forms before `number`, of instances that have that legacy form."""
    keys = [[spec.ref(instance).key, *_older_keys(spec, instance)[:number]] for instance in instances]
    places = [(spec.table, key) for group in keys for key in group]
    stored = iter((yield from batch_get_flow(places, setup, consistent, f"{spec.name}.legacy")) if places else ())
    return [[next(stored) for _ in group] for group in keys]


def _older_keys(spec: Spec[E], instance: E) -> list[Item]:
    return [plan.build(spec.values(instance)) for plan in spec.key.legacy]


def current_item_key(query: Query[Any], item: Item) -> Any:
    """The key of an item that is encoded as a write would store it today, to recognise it under a legacy key."""
    table = spec_of(query.entity).table
    return item_key(table.name, {name: item[name] for name in table.attributes})
