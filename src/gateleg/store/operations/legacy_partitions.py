"""Legacy partitions: where items of a query may still be stored under legacy keys.

A legacy partition is read before the current one. Items move from legacy to current keys and never back, so none is missed, and one that
moves in between is found twice and returned once. If the legacy key sorts items like the query, pages are read on demand. Otherwise the
whole partition is read for each page of the query, and its first items are kept: a cost that ends when all items have been moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import ModelError, spec_of
from gateleg.model.expressions import Placeholders
from gateleg.model.keys.plans import KeyPlan
from gateleg.model.planning.key_conditions import render_key_condition
from gateleg.store.flow import Request
from gateleg.store.operations.batch_flows import batch_get_flow
from gateleg.store.operations.entity_reads import current_items
from gateleg.store.operations.identities import identity
from gateleg.store.operations.legacy_forms import LegacyItem, is_legacy, read_form
from gateleg.store.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.model import Item, Query, Spec
    from gateleg.model.codec.wire import Value
    from gateleg.store.flow import Flow, Payload
    from gateleg.store.operations.unreadable import ListReader
    from gateleg.store.setup import Setup


E = TypeVar("E", bound=BaseModel)


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
