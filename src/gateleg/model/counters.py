"""Counters of a parent item, kept right by the transactions that write its children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from gateleg.model.annotations import read_annotation
from gateleg.model.errors import BadMark
from gateleg.model.lookup import spec_of
from gateleg.model.restrictions import check_when, read_when

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.model.actions import Action
    from gateleg.model.attr import Attr
    from gateleg.model.keys import Ref
    from gateleg.model.spec import Spec


class Counter:
    """An attribute of another entity that counts this one's items.

    `done = Counter(Project.completed_scenes, when={"status": ["completed"]})`, declared in the class of the items that are counted.

    The parent's key is made of the child's attributes of the same names. `when` restricts what is counted.
    """

    def __init__(self, attribute: Attr[int], *, when: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.attribute = attribute
        self.when = read_when(when)

    def resolved(self, spec: Spec[Any], name: str) -> Counter:
        """The counter with its `when` in the types of the child; an error when it could never count."""
        where = f"{spec.name}.{name}"
        kind = read_annotation(getattr(self.attribute, "annotation", None)).type
        if not isinstance(kind, type) or not issubclass(kind, int) or issubclass(kind, bool):
            raise BadMark(f"{where} counts in {self.attribute!r}, which is not an int.", fix="Count in an attribute declared as Attr[int].")
        needed = spec_of(self.attribute.owner).key.names
        missing = [part for part in needed if part not in spec.sources]
        if missing:
            raise BadMark(
                f"{where} counts in {self.attribute!r}, but {spec.name} has no {', '.join(missing)}.",
                fix="The child needs the attributes of the parent's key.",
            )
        return Counter(self.attribute, when=check_when(where, self.when, spec.sources))

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

    @property
    def action(self) -> Action:
        """The update action."""
        return cast("Action", self.attribute.add(self.delta))


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
            totals[place] = CounterChange(ref, counter.attribute, total)
    return [change for change in totals.values() if change.delta]
