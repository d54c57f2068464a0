"""Changing items: every write is conditional on the item that was read, and what another writer did first is shown, not lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.errors import GatelegError
from gateleg.model.counters import RECOUNT
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.model.planning import changed_attributes
from gateleg.store import ConditionFailed, NotFound
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError
from gateleg.web.console.tables.answers import read_item
from gateleg.web.console.tables.likeness import same

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Condition, Item, Spec, Table
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow

#: Safely below DynamoDB's limits for one condition expression.
_MAX_CONDITION_CHARACTERS = 4_000
_MAX_COMPARISONS = 250


class TooManyAttributes(GatelegError):
    """An item without a version has too many attributes for one condition to compare."""

    code = "too-wide"
    status = 422
    fix = "Give its entity a version attribute, or change it with a program of your own."

    def __init__(self, count: int) -> None:
        super().__init__(f"The item has {count} attributes and no version: more than one condition can compare.")


class WriteConflict(GatelegError):
    """Another writer was faster. `current` is the item as it is now; None when it is gone."""

    code = "lost-race"
    status = 409
    fix = "Look at what is stored now, and take it or write yours over it."

    def __init__(self, current: Item | None) -> None:
        super().__init__(f"The item {'was changed' if current else 'was deleted'} after it was read.")
        self.current = current


def unchanged_since_read(item: Item, known: frozenset[str] = frozenset()) -> Condition:
    """That an item is still what was read: every attribute has its value, and `known` ones that it lacked are still absent."""
    absent = sorted(known - item.keys())
    condition = all_of(*(equals(name, value) for name, value in item.items()), *(missing(name) for name in absent))
    assert condition is not None
    if len(item) + len(absent) > _MAX_COMPARISONS or len(condition.render(Placeholders())) > _MAX_CONDITION_CHARACTERS:
        raise TooManyAttributes(len(item))
    return condition


async def _check_unchanged(store: AsyncStore, table: Table, item: Item, spec: Spec[Any] | None = None) -> None:
    """Read the item again before replacing or deleting it: no condition can express that it has no other attributes."""
    current = await read_item(store, table, _key(table, item))
    if current is None or not same(_without_counts(spec, current), _without_counts(spec, item)):
        raise WriteConflict(current)


def _without_counts(spec: Spec[Any] | None, item: Item) -> Item:
    """An item without what its children count in it: their writers do not change it, and nothing here writes their counts."""
    return item if spec is None else {name: value for name, value in item.items() if name not in {*spec.counted_wires, RECOUNT}}


def _guard(spec: Spec[Any], item: Item) -> Condition | None:
    """What the version does not guard."""
    if spec.version is not None:
        return None
    known = frozenset(attribute.wire for attribute in spec.attributes.values() if attribute.name not in spec.counted)
    return unchanged_since_read(_without_counts(spec, item), known)


async def save(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write what changed in an item that was read; the instance as it is then. A `WriteConflict` when it is not what was read any more."""
    actions = changed_attributes(before, after)
    if not actions:
        return before
    try:
        return await store.patch(before, *actions, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(await read_item(store, spec.table, spec.ref(before).key)) from error


async def replace(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write a whole item over the one that was read, with what its entity does not know."""
    if spec.version is not None:
        after = after.model_copy(update={spec.version.name: getattr(before, spec.version.name)})
    condition = all_of(exists(spec.table.hash), _guard(spec, item))
    await _check_unchanged(store, spec.table, item, spec)
    try:
        # An item that was never counted has version 0, over which a put would only create.
        fresh = spec.version is not None and getattr(before, spec.version.name) == 0
        return await store.put(
            after,
            replaces=before,
            condition=unchanged_since_read(_without_counts(spec, item)) if fresh else condition,
            check_version=not fresh,
        )
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(await read_item(store, spec.table, spec.ref(before).key)) from error


async def remove(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel) -> None:
    """Delete an item that is still what was read."""
    await _check_unchanged(store, spec.table, item, spec)
    try:
        await store.delete(before, must_exist=True, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(await read_item(store, spec.table, spec.ref(before).key)) from error


async def create_raw(store: AsyncStore, table: Table, item: Item) -> None:
    """Write a new item that no entity describes."""
    await _conditional(store, table, "PutItem", {"Item": item}, missing(table.hash), item)


async def change_raw(store: AsyncStore, table: Table, before: Item, after: Item) -> None:
    """Write what changed in an item that no entity describes."""
    changed = {name: value for name, value in after.items() if name not in before or not same(before[name], value)}
    removed = [name for name in before if name not in after]
    if changed or removed:
        await _check_unchanged(store, table, before)
        out = Placeholders()
        sets = ", ".join(f"{out.name(name)} = {out.value(value)}" for name, value in changed.items())
        drops = ", ".join(map(out.name, removed))
        text = " ".join([*([f"SET {sets}"] if sets else []), *([f"REMOVE {drops}"] if drops else [])])
        members = {"Key": _key(table, before), "UpdateExpression": text}
        await _conditional(store, table, "UpdateItem", members, unchanged_since_read(before), before, out)


async def remove_raw(store: AsyncStore, table: Table, before: Item) -> None:
    """Delete an item that no entity describes, if it is still what was read."""
    await _check_unchanged(store, table, before)
    await _conditional(store, table, "DeleteItem", {"Key": _key(table, before)}, unchanged_since_read(before), before)


def _key(table: Table, item: Item) -> Item:
    return {name: item[name] for name in table.attributes}


async def _conditional(
    store: AsyncStore,
    table: Table,
    operation: str,
    members: dict[str, Any],
    condition: Condition,
    item: Item,
    out: Placeholders | None = None,
) -> None:
    """Send a write with its condition; a `WriteConflict` when it does not hold."""
    out = out or Placeholders()
    payload = {"TableName": store.setup.name_of(table), **members, "ConditionExpression": condition.render(out)} | out.parameters()
    if not await store.drive(_sent(Request(operation, payload, f"{table.name} {operation}"))):
        raise WriteConflict(await read_item(store, table, _key(table, item)))


def _sent(request: Request) -> Flow[bool]:
    """Whether the condition of a write held."""
    try:
        yield request
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            return False
        raise
    return True
