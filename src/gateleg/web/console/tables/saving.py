"""Changing items: every write is conditional on the item that was read, and what another writer did first is shown, not lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.model import Placeholders, all_of, changed_attributes
from gateleg.model.expressions import equals, exists, missing
from gateleg.store import ConditionFailed, NotFound
from gateleg.store.requests import Request
from gateleg.store.transports import ServiceError
from gateleg.web.console.tables.answers import read_item

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gateleg.model import Condition, Item, Spec, Table
    from gateleg.store import AsyncStore
    from gateleg.store.requests import Flow

#: A condition has at most 4 KB and some 300 operators; an item with more attributes cannot be compared as a whole.
_MOST = 200


class TooWide(Exception):
    """An item without a version has too many attributes for one condition to compare."""

    code = "too-wide"
    fix = "Give its entity a version attribute, or change it with a program of your own."

    def __init__(self, count: int) -> None:
        super().__init__(f"The item has {count} attributes and no version, and one condition compares at most {_MOST}. {self.fix}")


class Race(Exception):
    """Another writer was faster. `current` is the item as it is now; None when it is gone."""

    code = "lost-race"
    fix = "Look at what is stored now, and take it or write yours over it."

    def __init__(self, current: Item | None) -> None:
        self.current = current
        super().__init__(f"The item {'was changed' if current else 'was deleted'} after it was read. {self.fix}")


def as_read(item: Item, known: frozenset[str] = frozenset()) -> Condition:
    """That an item is still what was read: every attribute has its value, and `known` ones that it lacked are still absent."""
    absent = sorted(known - item.keys())
    if len(item) + len(absent) > _MOST:
        raise TooWide(len(item))
    condition = all_of(*(equals(name, value) for name, value in item.items()), *(missing(name) for name in absent))
    assert condition is not None
    return condition


def _guard(spec: Spec[Any], item: Item) -> Condition | None:
    """What the version does not guard."""
    if spec.version is not None:
        return None
    return as_read(item, frozenset(attribute.wire for attribute in spec.attributes.values()))


async def save(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write what changed in an item that was read; the instance as it is then. A `Race` when it is not what was read any more."""
    actions = changed_attributes(before, after)
    if not actions:
        return before
    try:
        return await store.patch(before, *actions, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise Race(await read_item(store, spec.table, spec.ref(before).key)) from error


async def replace(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel, after: BaseModel) -> Any:
    """Write a whole item over the one that was read, with what its entity does not know."""
    if spec.version is not None:
        after = after.model_copy(update={spec.version.name: getattr(before, spec.version.name)})
    condition = all_of(exists(spec.table.hash), _guard(spec, item))
    try:
        # An item that was never counted has version 0, over which a put would only create.
        fresh = spec.version is not None and getattr(before, spec.version.name) == 0
        return await store.put(after, replaces=before, condition=as_read(item) if fresh else condition, check_version=not fresh)
    except (ConditionFailed, NotFound) as error:
        raise Race(await read_item(store, spec.table, spec.ref(before).key)) from error


async def remove(store: AsyncStore, spec: Spec[Any], item: Item, before: BaseModel) -> None:
    """Delete an item that is still what was read."""
    try:
        await store.delete(before, must_exist=True, condition=_guard(spec, item))
    except (ConditionFailed, NotFound) as error:
        raise Race(await read_item(store, spec.table, spec.ref(before).key)) from error


async def write_raw(store: AsyncStore, table: Table, item: Item, before: Item | None) -> None:
    """Write an item that no entity describes: over the one that was read, or as a new one."""
    condition = missing(table.hash) if before is None else as_read(before)
    await _conditional(store, table, "PutItem", {"Item": item}, condition, _key(table, item))


async def remove_raw(store: AsyncStore, table: Table, before: Item) -> None:
    """Delete an item that no entity describes, if it is still what was read."""
    key = _key(table, before)
    await _conditional(store, table, "DeleteItem", {"Key": key}, as_read(before), key)


def _key(table: Table, item: Item) -> Item:
    return {name: item[name] for name in table.attributes}


async def _conditional(store: AsyncStore, table: Table, operation: str, members: dict[str, Any], condition: Condition, key: Item) -> None:
    out = Placeholders()
    payload = {"TableName": store.setup.name_of(table), **members, "ConditionExpression": condition.render(out)} | out.parameters()
    if not await store.drive(_sent(Request(operation, payload, f"{table.name} {operation}"))):
        raise Race(await read_item(store, table, key))


def _sent(request: Request) -> Flow[bool]:
    """Whether the condition of a write held."""
    try:
        yield request
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            return False
        raise
    return True
