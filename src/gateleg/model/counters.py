"""Counters of a parent item, kept right by the transactions that write its children."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.model.attributes.annotations import read_annotation
from gateleg.model.errors import BadMark
from gateleg.model.expressions.actions import Action, AddAction, RemoveAction, SetAction
from gateleg.model.expressions.nodes import Comparison, Condition, Constant, Reference, all_of, equals, missing
from gateleg.model.keys.restrictions import check_when, read_when
from gateleg.model.spec_lookup import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.attributes.attr import Attr
    from gateleg.model.codec.wire import Item
    from gateleg.model.keys.key import Ref
    from gateleg.model.spec import Spec

#: An attribute that a recount sets on the item it is counting for, and that every move of a counter removes: a recount may write its result
#: only while the attribute is still there, so it never writes over a move that it has not seen.
RECOUNT = "~recount"


class Counter:
    """An attribute of another entity that counts this one's items.

    `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`, declared in the class of the items that are counted.

    The parent's key is made of the child's attributes of the same names. `when` restricts what is counted. The attribute starts at zero
    and is written only together with the children: puts and updates of the parent leave it as it is.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)

    def resolved(self, spec: Spec[Any], name: str) -> Counter:
        """The counter with its `when` in the types of the child; an error when it could never count. The parent notes what is counted."""
        where = f"{spec.name}.{name}"
        kind = read_annotation(getattr(self.attribute, "annotation", None)).type
        if not isinstance(kind, type) or not issubclass(kind, int) or issubclass(kind, bool):
            raise BadMark(f"{where} counts in {self.attribute!r}, which is not an int.", fix="Count in an attribute declared as Attr[int].")
        parent = spec_of(self.attribute.owner)
        missing_names = [part for part in parent.key.names if part not in spec.sources]
        if missing_names:
            raise BadMark(
                f"{where} counts in {self.attribute!r}, but {spec.name} has no {', '.join(missing_names)}.",
                fix="The child needs the attributes of the parent's key.",
            )
        # A class that was loaded again replaces its older edition.
        named = (spec.entity.__module__, spec.entity.__qualname__)
        others = [one for one in parent.counted.get(self.attribute.name, ()) if (one.__module__, one.__qualname__) != named]
        parent.counted[self.attribute.name] = [*others, spec.entity]
        # Updates that were planned before may write the attribute.
        parent.forms.clear()
        return Counter(self.attribute, when=check_when(where, self.when, spec.sources))

    @property
    def names(self) -> tuple[str, ...]:
        """The child's attributes that say in which item, and whether, it is counted."""
        return (*spec_of(self.attribute.owner).key.names, *self.when)

    def counts(self, values: Mapping[str, Any] | None) -> bool:
        """Whether an item with these values is counted."""
        return values is not None and all(values.get(name) in allowed for name, allowed in self.when.items())

    def parent(self, values: Mapping[str, Any]) -> Ref[Any]:
        """The item that holds the counter."""
        owner = self.attribute.owner
        ref: Ref[Any] = owner.key(**{name: values[name] for name in spec_of(owner).key.names})
        return ref


@dataclass(frozen=True)
class CounterChange:
    """A counter to be changed in the transaction of a write."""

    ref: Ref[Any]
    #: an `Attr[int]`; said as Any because type checkers read an `Attr` field as its value
    attribute: Any
    delta: int
    #: whether the parent must exist. An item that leaves a parent, or stays in it, may be an orphan
    required: bool = False

    @property
    def wire(self) -> str:
        """The counter's name on the wire."""
        return str(self.attribute.path[0])


def counter_changes(spec: Spec[Any], before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[CounterChange]:
    """What the counters must change by when an item goes from one set of values to another; None is no item."""
    totals: dict[tuple[str, str], CounterChange] = {}
    for counter in spec.counters.values():
        for values, sign in ((before, -1), (after, 1)):
            if values is None or not counter.counts(values):
                continue
            ref = counter.parent(values)
            place = (str(ref.key), counter.attribute.name)
            total = sign + (totals[place].delta if place in totals else 0)
            enters = sign > 0 and (before is None or counter.parent(before).key != ref.key)
            totals[place] = CounterChange(ref, counter.attribute, total, enters)
    return [change for change in totals.values() if change.delta]


@dataclass(frozen=True)
class Joined:
    """What a transaction asks of an item besides the operation that writes it: moves of its counters, and checks."""

    #: by how much counters change, by wire name
    deltas: Mapping[str, int] = field(default_factory=dict)
    #: what the checks of the transaction demand of the item
    condition: Condition | None = None
    #: the item that refused these moves before, because a counter would have gone below zero
    seen: Item | None = None

    @property
    def actions(self) -> list[Action]:
        """The clauses that move the counters; none when nothing moves."""
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
        """That no counter goes below zero; one that is too low already ends at zero, if it still is what was seen."""
        conditions: list[Condition] = []
        for wire, delta in self.deltas.items():
            if self._too_low(wire, delta):
                stored = (self.seen or {}).get(wire)
                conditions.append(missing(wire) if stored is None else equals(wire, stored))
            elif delta < 0:
                conditions.append(Comparison(Reference((wire,)), ">=", Constant(-delta, {"N": str(-delta)})))
        return all_of(*conditions)

    def lacks(self, item: Item) -> bool:
        """Whether an item's counters are too low for the moves."""
        return any(delta < 0 and _number(item, wire) < -delta for wire, delta in self.deltas.items())

    def _too_low(self, wire: str, delta: int) -> bool:
        return self.seen is not None and delta < 0 and _number(self.seen, wire) < -delta


def _number(item: Item, wire: str) -> Decimal:
    return Decimal(item.get(wire, {"N": "0"}).get("N", "0"))
