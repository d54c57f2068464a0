"""Compare the two items of a pair, beside writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.migrate.moves.items import key_of, read_item
from gateleg.store.backoff import settled
from gateleg.store.flow import Request

if TYPE_CHECKING:
    from gateleg.migrate.moves.directions import Direction
    from gateleg.model import Item
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

#: how often a pair that differs is read again, in case somebody was writing it
_LOOKS = 3


def examine(direction: Direction, item: Item, setup: Setup) -> Flow[tuple[str, str] | None]:
    """Read a pair again, both at one moment; None when they agree after all, or the item is gone."""
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
        if other is None or matches(direction, current, other, stored):
            return None
        problem = _problem(direction, other, stored)
    return problem


def matches(direction: Direction, item: Item, other: Item, stored: Item | None) -> bool:
    """Whether two items of one moment belong together. That the new one follows from the old one is what counts."""
    if direction.source_side == "old":
        return direction.same(other, stored)
    return stored is not None and not [
        name for name in direction.differences(other, stored) if name not in direction.own and name not in direction.reverse.own
    ]


def _problem(direction: Direction, other: Item, stored: Item | None) -> tuple[str, str]:
    side = direction.target.name
    if stored is None:
        if direction.source_side == "old":
            return "missing", f"There is no {side} for it."
        return "surplus", f"There is no {side} that it was copied from."
    return "differs", f"Its {side} has other values of {', '.join(direction.differences(other, stored))}."


def _both(direction: Direction, key: Item, other: Item, setup: Setup) -> Flow[tuple[Item | None, Item | None]]:
    """Both items of a pair as they are at one moment."""
    gets = [
        {"Get": {"TableName": setup.name_of(direction.source.table), "Key": key}},
        {"Get": {"TableName": setup.name_of(direction.target.table), "Key": other}},
    ]
    reply = yield from settled(Request("TransactGetItems", {"TransactItems": gets}, "verify"), setup)
    one, two = (answer.get("Item") or None for answer in reply["Responses"])
    return one, two
