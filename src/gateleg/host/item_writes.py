"""Conditional writes of items: a change by another writer is reported, not overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.host.errors import Refusal
from gateleg.host.item_keys import key_of
from gateleg.host.items import etag_of, read_item, same, visible, without_counts
from gateleg.model.expressions import Placeholders, all_of, equals, exists, missing
from gateleg.model.planning import changed_attributes
from gateleg.store import ConditionFailed, NotFound
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError

__all__ = ["WriteConflict"]

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Condition, Item, Spec, Table
    from gateleg.store import AsyncStore
    from gateleg.store.flow import Flow

#: Safely below DynamoDB's limit for a condition expression.
_MAX_CONDITION_CHARACTERS = 4_000
_MAX_COMPARISONS = 250


class TooManyAttributes(Refusal):
    """An item without a version has too many attributes for one condition."""

    code = "too-wide"
    status = 422
    fix = "Add a version attribute to its entity, or change the item with a program."

    def __init__(self, count: int) -> None:
        super().__init__(f"The item has {count} attributes and no version, which is more than one condition can compare.")


class WriteConflict(Refusal):
    """Another writer changed the item first. `current` is the stored item, None if it was deleted; `details` has what may be seen."""

    code = "lost-race"
    status = 409
    fix = "Compare with the stored item, and keep it or overwrite it."

    def __init__(self, table: Table, current: Item | None) -> None:
        super().__init__(
            f"The item {'was changed' if current else 'was deleted'} after it was read.",
            details={"current": None} if current is None else {"current": visible(table, current), "etag": etag_of(table, current)},
        )
        self.current = current


def unchanged_since_read(item: Item, known: frozenset[str] = frozenset()) -> Condition:
    """The condition that an item is unchanged: every attribute has its value, and absent `known` ones are still absent."""
    absent = sorted(known - item.keys())
    condition = all_of(*(equals(name, value) for name, value in item.items()), *(missing(name) for name in absent))
    assert condition is not None
    if len(item) + len(absent) > _MAX_COMPARISONS or len(condition.render(Placeholders())) > _MAX_CONDITION_CHARACTERS:
        raise TooManyAttributes(len(item))
    return condition


async def _check_unchanged(store: AsyncStore, table: Table, item: Item, spec: Spec[Any] | None = None) -> None:
    """Read the item again before replacing or deleting it: no condition can express that it has no other attributes."""
    current = await read_item(store, table, key_of(table, item))
    if current is None or not same(without_counts(spec, current), without_counts(spec, item)):
        raise WriteConflict(table, current)


def _guard(spec: Spec[Any], item: Item) -> Condition | None:
    """The condition for what the version does not protect."""
    if spec.version is not None:
        return None
    known = frozenset(attribute.wire for attribute in spec.attributes.values() if attribute.name not in spec.counted)
    return unchanged_since_read(without_counts(spec, item), known)


async def save(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write the changes of an item, and return the instance. Raises `WriteConflict` if it was changed since it was read."""
    actions = changed_attributes(before, after)
    if not actions:
        return before
    try:
        return await store.patch(before, *actions, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(spec.table, await read_item(store, spec.table, spec.ref(before).key)) from error


async def replace(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Replace a whole item, including attributes that its entity does not declare."""
    if spec.version is not None:
        after = after.model_copy(update={spec.version.name: getattr(before, spec.version.name)})
    condition = all_of(exists(spec.table.hash), _guard(spec, item))
    await _check_unchanged(store, spec.table, item, spec)
    try:
        # An item without a version has version 0, for which a put would only create.
        fresh = spec.version is not None and getattr(before, spec.version.name) == 0
        return await store.put(
            after,
            replaces=before,
            condition=unchanged_since_read(without_counts(spec, item)) if fresh else condition,
            check_version=not fresh,
        )
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(spec.table, await read_item(store, spec.table, spec.ref(before).key)) from error


async def remove(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel) -> None:
    """Delete an item if it is unchanged."""
    await _check_unchanged(store, spec.table, item, spec)
    try:
        await store.delete(before, must_exist=True, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise WriteConflict(spec.table, await read_item(store, spec.table, spec.ref(before).key)) from error


async def create_raw(store: AsyncStore, table: Table, item: Item) -> None:
    """Create an item of no declared entity."""
    await _conditional(store, table, "PutItem", {"Item": item}, missing(table.hash), item)


async def change_raw(store: AsyncStore, table: Table, before: Item, after: Item) -> None:
    """Write the changes of an item of no declared entity."""
    changed = {name: value for name, value in after.items() if name not in before or not same(before[name], value)}
    removed = [name for name in before if name not in after]
    if changed or removed:
        await _check_unchanged(store, table, before)
        out = Placeholders()
        sets = ", ".join(f"{out.name(name)} = {out.value(value)}" for name, value in changed.items())
        drops = ", ".join(map(out.name, removed))
        text = " ".join([*([f"SET {sets}"] if sets else []), *([f"REMOVE {drops}"] if drops else [])])
        members = {"Key": key_of(table, before), "UpdateExpression": text}
        await _conditional(store, table, "UpdateItem", members, unchanged_since_read(before), before, out)


async def remove_raw(store: AsyncStore, table: Table, before: Item) -> None:
    """Delete an item of no declared entity if it is unchanged."""
    await _check_unchanged(store, table, before)
    await _conditional(store, table, "DeleteItem", {"Key": key_of(table, before)}, unchanged_since_read(before), before)


async def _conditional(
    store: AsyncStore,
    table: Table,
    operation: str,
    members: dict[str, Any],
    condition: Condition,
    item: Item,
    out: Placeholders | None = None,
) -> None:
    """Send a conditional write. Raises `WriteConflict` if the condition fails."""
    out = out or Placeholders()
    payload = {"TableName": store.setup.name_of(table), **members, "ConditionExpression": condition.render(out)} | out.parameters()
    if not await store.drive(_sent(Request(operation, payload, f"{table.name} {operation}"))):
        raise WriteConflict(table, await read_item(store, table, key_of(table, item)))


def _sent(request: Request) -> Flow[bool]:
    """Send a conditional write. Returns whether the condition held."""
    try:
        yield request
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            return False
        raise
    return True
