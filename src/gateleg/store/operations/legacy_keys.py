"""Legacy keys: items are found under them, and the first write moves an item to its current key.

In the first release of a changed key (`writes="legacy"`), items stay where they are, because the release before knows the legacy key only.

Legacy partitions: where items of a query may still be stored under legacy keys.

A legacy partition is read before the current one. Items move from legacy to current keys and never back, so none is missed, and one that
moves in between is found twice and returned once. If the legacy key sorts items like the query, pages are read on demand. Otherwise the
whole partition is read for each page of the query, and its first items are kept: a cost that ends when all items have been moved.

Release the unique values of deleted items: DynamoDB deletes expired items without their markers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.model.keys import KeyPlan
from gateleg.model.patterns import render_key_condition
from gateleg.model.planning import plan_release
from gateleg.store.errors import AlreadyExists
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import (
    LegacyItem,
    batch_get_flow,
    current_items,
    is_legacy,
    read_form,
    read_older,
    with_current_key,
)
from gateleg.store.operations.operation import Operation, identity
from gateleg.store.setup import Unreadable, retry_conflicts
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Condition, Item, Query, Ref, Spec
    from gateleg.model.wire import Value
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.entity_reads import ListReader
    from gateleg.store.setup import Setup

__all__ = ["migrate_to_current_key", "place", "unchanged", "with_current_key"]

E = TypeVar("E", bound=BaseModel)

#: DynamoDB allows 300 operators in a condition, including AND.
_MAX_COMPARISONS = 149


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a write sends the item of an entity with legacy keys, and the other keys of the item, which must have no item then."""

    key: Item
    empty: tuple[Item, ...] = ()


def place(ref: Ref[Any], setup: Setup, *, creates: bool) -> Flow[Placement]:
    """Where to write an item: under its current key, to which it is moved first, or in the first release of a changed key where it is.

    `creates` says whether the write stores an item if there is none.
    """
    if spec_of(ref.entity).key.writes_legacy:
        return (yield from _place_in_first_release(ref, setup, creates=creates))
    keys = yield from _emptied(ref, setup)
    # A write of an existing item cannot add a second copy.
    return Placement(ref.key, tuple(key for key, _ in keys) if creates else ())


def _place_in_first_release(ref: Ref[Any], setup: Setup, *, creates: bool) -> Flow[Placement]:
    spec = spec_of(ref.entity)
    if (yield from _stored(spec, ref.key, setup)) is not None:
        return Placement(ref.key)
    free: list[Item] = []
    for key in ref.legacy():
        item = yield from _stored(spec, key, setup)
        if item is None:
            free.append(key)
        elif (yield from read_older(item, ref, setup)) is not None:
            return Placement(key, (ref.key,))
    first = ref.legacy()[0]
    if first in free:
        return Placement(first, (ref.key, *(key for key in free if key != first)))
    if not creates:
        return Placement(ref.key)
    raise AlreadyExists(
        f"Another {spec.name} is stored under the legacy key of {ref}.",
        fix='Both can exist once writes="legacy" is removed from the key; until then, choose another key.',
    )


def migrate_to_current_key(ref: Ref[Any], setup: Setup) -> Flow[bool]:
    """Move an item from a legacy key to its current key; return whether it was moved."""
    return any(moved for _, moved in (yield from _emptied(ref, setup)))


def _emptied(ref: Ref[Any], setup: Setup) -> Flow[list[tuple[Item, bool]]]:
    """Move an item from its legacy keys to its current one. Returns the legacy keys without an item, and whether it was moved from there.

    Every write does this first, so that an item never exists under both keys.
    """
    spec = spec_of(ref.entity)
    empty: list[tuple[Item, bool]] = []
    for key in ref.legacy():
        while True:
            item = yield from _stored(spec, key, setup)
            if item is None:
                empty.append((key, False))
                break
            current = yield from read_older(item, ref, setup)
            if current is None:
                break
            if (yield from _moved(spec, item, current, setup)):
                empty.append((key, True))
                break
    return empty


def _stored(spec: Spec[Any], key: Item, setup: Setup) -> Flow[Item | None]:
    payload = {"TableName": setup.name_of(spec.table), "Key": key, "ConsistentRead": True}
    response = yield Request("GetItem", payload, f"{spec.name}.move")
    item: Item | None = response.get("Item")
    return item


def _moved(spec: Spec[Any], older: Item, found: Any, setup: Setup) -> Flow[bool]:
    """Write the item under its current key and delete the old one, in one transaction; return False if the old one changed meanwhile."""
    name = setup.name_of(spec.table)
    put = {"TableName": name, "Item": spec.encode(found), **_condition(missing(spec.table.hash))}
    delete = {"TableName": name, "Key": {part: older[part] for part in spec.table.attributes}, **_condition(unchanged(spec, older))}
    payload = {"TransactItems": [{"Put": put}, {"Delete": delete}], "ClientRequestToken": setup.token()}
    try:
        yield from retry_conflicts(Request("TransactWriteItems", payload, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        codes = [reason.get("Code") for reason in error.extra.get("CancellationReasons", ())]
        if "ConditionalCheckFailed" not in codes:
            raise
    if codes[0] != "ConditionalCheckFailed":
        return False
    # The current key already has an item, which is newer. Delete the old one, so that it does not reappear when the newer is deleted.
    try:
        yield from retry_conflicts(Request("DeleteItem", delete, f"{spec.name}.move"), setup)
        return True
    except ServiceError as error:
        if error.code != "ConditionalCheckFailedException":
            raise
        return False


def empty_key_check(table: str, key: Item) -> dict[str, Any]:
    """The parameters of a ConditionCheck that no item has the key."""
    return {"TableName": table, "Key": key, **_condition(missing(next(iter(key))))}


def unchanged(spec: Spec[Any], item: Item) -> Condition:
    """The condition that an item has not changed since it was read: its attributes are equal, and no declared attribute was added.

    Checking the version is not enough: not every write increments it, and an older program may write without one.
    """
    known = {attribute.wire for attribute in spec.attributes.values()} | spec.derived_names
    # Counts change most often, so they come first, in case the number of comparisons exceeds the limit.
    wires = sorted(item, key=lambda wire: wire not in spec.counted_wires)
    same = [equals(wire, item[wire]) for wire in wires if wire not in spec.table.attributes]
    absent = [missing(wire) for wire in sorted(known - item.keys())]
    condition = all_of(exists(spec.table.hash), *[*same, *absent][:_MAX_COMPARISONS])
    assert condition is not None
    return condition


def _condition(condition: Any) -> dict[str, Any]:
    out = Placeholders()
    return {"ConditionExpression": condition.render(out), **out.parameters()}


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
    found = []
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
        found.append(LegacyPartition(query, plan, number, wire, payload, ordered))
    return tuple(found)


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
    found = []
    for item in (yield from current_items(spec, mine, reader)):
        try:
            present = _present(spec, item, partition)
        except ModelError as error:
            reader.report(Unreadable(spec.ref_of(item), item, error))
            continue
        if present is not None:
            found.append(present)
    return found


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
    """The identities of the items that are stored under a legacy key although a newer item exists. Only the items' keys are used."""
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
            replaced.add(identity(spec.table.name, {name: item[name] for name in spec.table.attributes}))
    return replaced


def newer_items(
    spec: Spec[E], instances: Sequence[E], number: int, setup: Setup, consistent: bool = False
) -> Flow[list[list[Item | None]]]:
    """The items stored under the current key, and under legacy forms before `number`, of instances that have that legacy form."""
    keys = [[spec.ref(one).key, *_older_keys(spec, one)[:number]] for one in instances]
    wanted = [(spec.table, key) for group in keys for key in group]
    stored = iter((yield from batch_get_flow(wanted, setup, consistent, f"{spec.name}.legacy")) if wanted else ())
    return [[next(stored) for _ in group] for group in keys]


def _older_keys(spec: Spec[E], instance: E) -> list[Item]:
    return [plan.build(spec.values(instance)) for plan in spec.key.legacy]


def current_identity(query: Query[Any], item: Item) -> Any:
    """The identity of an item with its current key, to recognise it under a legacy key."""
    table = spec_of(query.entity).table
    return identity(table.name, {name: item[name] for name in table.attributes})


@dataclass(frozen=True, slots=True)
class ReleaseMarkers(Operation[int]):
    """Release the unique values of an item that was deleted."""

    instance: BaseModel

    def flow(self, setup: Setup) -> Flow[int]:
        """One transaction for each marker, on condition that the item does not exist and the marker still belongs to it."""
        released = 0
        for check, release in plan_release(self.instance):
            items = [{str(write.kind): write.request(setup.name_of(write.table))} for write in (check, release)]
            payload = {"TransactItems": items, "ClientRequestToken": setup.token()}
            try:
                yield from retry_conflicts(Request("TransactWriteItems", payload, f"{check.entity.__name__}.release"), setup)
                released += 1
            except ServiceError as error:
                codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())}
                if error.code != "TransactionCanceledException" or not codes <= {"None", "ConditionalCheckFailed"}:
                    raise
        return released

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The item's partition."""
        spec = spec_of(type(self.instance))
        yield spec.entity, spec.key, spec.ref(self.instance).values


def release_unique(instance: BaseModel, /) -> Operation[int]:
    """Release the unique values of an item that was deleted without its markers, such as by TTL. Returns the number of released values.

    Releases nothing if an item with the same key exists, and no value that another item has taken meanwhile. Safe to repeat.
    """
    return ReleaseMarkers(instance)
