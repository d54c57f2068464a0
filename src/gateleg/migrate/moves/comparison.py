"""Comparison of the two items of a pair, with concurrent writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.errors import Inconvertible
from gateleg.migrate.moves.items import in_present_schema, key_of, read_item
from gateleg.store.flow import Request
from gateleg.store.setup import retry_conflicts

if TYPE_CHECKING:
    from gateleg.migrate.moves.directions import Direction
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

#: how often to read a differing pair again, because it may have been in the middle of a write
_LOOKS = 3


def examine(direction: Direction, item: Item, setup: Setup) -> Flow[tuple[str, str] | None]:
    """Read a pair again in one transaction; None if they agree now, or if the item is gone."""
    problem: tuple[str, str] | None = None
    key = key_of(direction.source, item)
    for _ in range(_LOOKS):
        current = yield from read_item(direction.source, key, setup)
        if current is None:
            return None
        other = yield from direction.expected(current, setup)
        if other is None:
            return None
        current, stored = yield from _both(direction, key, direction.key_of(other), setup)
        if current is None:
            return None
        other = yield from direction.expected(current, setup)
        if other is None or (yield from agree(direction, current, other, stored, setup)):
            return None
        problem = yield from _problem(direction, current, other, stored, setup)
    return problem


def agree(direction: Direction, item: Item, other: Item, stored: Item | None, setup: Setup) -> Flow[bool]:
    """Whether two items match: the new one must follow from the old one."""
    if stored is not None:
        stored = yield from in_present_schema(direction.target, stored, setup)
    if direction.source_side == "old":
        return direction.same(other, stored)
    if stored is None or _differing(direction, other, stored):
        return False
    # An item refers to its old one from every key that it was ever copied to; only one of them is current.
    return not (yield from _is_stale(direction, item, stored, setup))


def _is_stale(direction: Direction, item: Item, old: Item, setup: Setup) -> Flow[bool]:
    """Whether the old item of a copy converts to another key, or to nothing."""
    try:
        copy = yield from direction.reverse.expected(old, setup)
    except Inconvertible:
        # The old item is reported instead.
        return False
    return copy is None or direction.reverse.key_of(copy) != key_of(direction.source, item)


def _differing(direction: Direction, other: Item, stored: Item) -> list[str]:
    return [name for name in direction.differences(other, stored) if name not in direction.reverse.own]


def _problem(direction: Direction, item: Item, other: Item, stored: Item | None, setup: Setup) -> Flow[tuple[str, str]]:
    side = direction.target.name
    if stored is None:
        if direction.source_side == "old":
            return "missing", f"There is no {side} for it."
        return "surplus", f"There is no {side} that it was copied from."
    if direction.source_side == "new" and (yield from _is_stale(direction, item, stored, setup)):
        return "stale", f"Its {side} has another {direction.source.name} by now."
    stored = yield from in_present_schema(direction.target, stored, setup)
    return "differs", f"Its {side} has other values of {', '.join(direction.differences(other, stored))}."


def _both(direction: Direction, key: Item, other: Item, setup: Setup) -> Flow[tuple[Item | None, Item | None]]:
    """Both items of a pair, read in one transaction."""
    gets = [
        {"Get": {"TableName": setup.name_of(direction.source.table), "Key": key}},
        {"Get": {"TableName": setup.name_of(direction.target.table), "Key": other}},
    ]
    response = yield from retry_conflicts(Request("TransactGetItems", {"TransactItems": gets}, "verify"), setup)
    one, two = (response.get("Item") or None for response in response["Responses"])
    return one, two
