"""Changes of counters that belong to a write, as update clauses and conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.model.counters import RECOUNT
from gateleg.model.expressions.actions import Action, AddAction, RemoveAction, SetAction
from gateleg.model.expressions.nodes import Comparison, Condition, Constant, Reference, all_of, equals, missing
from gateleg.model.planning.bounds import guards_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.model.codec.wire import Item
    from gateleg.model.keys.plans import Ref
    from gateleg.model.layout import EntityLayout
    from gateleg.model.planning.bounds import BoundGuard


@dataclass(frozen=True)
class CounterChange:
    """A change of a counter in the transaction of a write."""

    ref: Ref[Any]
    #: an `Attr[int]`; annotated as Any because type checkers treat an `Attr` field as its value
    attribute: Any
    delta: int
    #: whether the parent must exist: only if the item is added to it. An item that stays or leaves may be an orphan
    required: bool = False

    @property
    def wire(self) -> str:
        """The counter's name on the wire."""
        return str(self.attribute.path[0])


def counter_changes(layout: EntityLayout[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[CounterChange]:
    """The counter changes when an item changes from one set of values to another; None means that the item does not exist."""
    totals: dict[tuple[str, str], CounterChange] = {}
    for counter in layout.counters.values():
        for values, sign in ((before, -1), (after, 1)):
            if values is None or not counter.counts(values):
                continue
            ref = counter.parent(values)
            place = (str(ref.key), counter.attribute.name)
            total = sign + (totals[place].delta if place in totals else 0)
            enters = sign > 0 and (before is None or counter.parent(before).key != ref.key)
            totals[place] = CounterChange(ref, counter.attribute, total, enters)
    return [change for change in totals.values() if change.delta]


def upper_bounds(attribute: Any, delta: int) -> tuple[BoundGuard, ...]:
    """The upper bounds that increasing a counter could break; empty if `delta` is not positive."""
    if delta <= 0:
        return ()
    rise: Constant[Any] = Constant(delta, {"N": str(delta)})
    return guards_of([AddAction(attribute.path, attribute.owner, attribute.name, attribute, operand=rise)])


@dataclass(frozen=True)
class Joined:
    """Further changes and checks of an item in a transaction, merged into the operation that writes the item."""

    #: the changes of counters, by wire name
    deltas: Mapping[str, int] = field(default_factory=dict)
    #: the condition of the transaction's checks of this item
    condition: Condition | None = None
    #: the item as it was when the database refused these changes, because a counter would have become negative
    seen: Item | None = None
    #: the upper bounds of the counters
    bounds: tuple[BoundGuard, ...] = ()

    @property
    def actions(self) -> list[Action]:
        """The update actions that change the counters; empty if none changes."""
        if not self.deltas:
            return []
        moves: list[Action] = []
        for wire, delta in self.deltas.items():
            if self._too_low(wire, delta):
                moves.append(SetAction((wire,), operand=Constant(0, {"N": "0"})))
            else:
                moves.append(AddAction((wire,), operand=Constant(delta, {"N": str(delta)})))
        return [*moves, RemoveAction((RECOUNT,))]

    @property
    def guard(self) -> Condition | None:
        """The condition that no counter breaks its bound or becomes negative.

        A counter that is already too low is set to zero instead, on condition that it has not changed since it was read.
        """
        conditions: list[Condition] = [bound.condition for bound in self.bounds]
        for wire, delta in self.deltas.items():
            if self._too_low(wire, delta):
                stored = (self.seen or {}).get(wire)
                conditions.append(missing(wire) if stored is None else equals(wire, stored))
            elif delta < 0:
                conditions.append(Comparison(Reference((wire,)), ">=", Constant(-delta, {"N": str(-delta)})))
        return all_of(*conditions)

    def lacks(self, item: Item) -> bool:
        """Whether a counter of an item is too low to be decreased."""
        return any(delta < 0 and _number(item, wire) < -delta for wire, delta in self.deltas.items())

    def broken(self, item: Item) -> tuple[BoundGuard, ...]:
        """The upper bounds that the changes would break in an item."""
        return tuple(bound for bound in self.bounds if not bound.holds(item))

    def _too_low(self, wire: str, delta: int) -> bool:
        return self.seen is not None and delta < 0 and _number(self.seen, wire) < -delta


def _number(item: Item, wire: str) -> Decimal:
    return Decimal(item.get(wire, {"N": "0"}).get("N", "0"))
