"""The entries of a transaction: all writes with their markers and counter changes, one entry for each item.

DynamoDB refuses a transaction that contains an item twice. So the changes of an item's counters are added up, and merged with the checks of
the item into the operation that writes it: an update includes them, a new item starts with them, and a deletion drops them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import unquote

from gateleg.model import spec_of
from gateleg.model.expressions import all_of, missing
from gateleg.model.planning import Joined, plan_check, upper_bounds
from gateleg.store.errors import DuplicateTarget
from gateleg.store.operations.identities import Identity, identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from gateleg.model import Condition, Item, Ref
    from gateleg.model.planning import CounterChange, Write
    from gateleg.store.error_translation import Expectation
    from gateleg.store.setup import Setup

__all__ = ["combine_entries"]

Role = Literal["write", "check", "marker", "counter"]


class TransactionWrite(Protocol):
    """What a transaction needs of an operation; `WriteOperation` has it."""

    @property
    def entity(self) -> type[Any]:
        """The entity of the item."""

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the item."""

    @property
    def verb(self) -> str:
        """The name of the method, such as "put", "delete" or "check"."""

    @property
    def pattern(self) -> str:
        """The name in metrics, such as `Job.patch`."""

    @property
    def condition(self) -> Condition | None:
        """The condition that the caller gave."""

    def write(self, now: datetime, joined: Joined | None = None) -> Write[Any]:
        """Plan the write; `joined` contains other changes of the item in the transaction."""

    def expectation(self) -> Expectation:
        """What the write expects of the stored item, to explain a refusal."""


def creates(operation: TransactionWrite) -> bool:
    """Whether a write stores an item if there is none."""
    return operation.verb in ("create", "put", "upsert")


@dataclass
class TransactionEntry:
    """One entry of TransactWriteItems."""

    write: Write[Any]
    #: the item
    ref: Ref[Any]
    #: the operations that it belongs to, by number, and its role for each
    owners: list[tuple[int, Role]]
    place: Identity
    #: the counter changes and checks that are merged into it
    joined: Joined = field(default_factory=Joined)
    #: whether it fails if the item does not exist, even if only its counters change
    required: bool = False
    #: the operations that increase a counter, by the Python name of the counting attribute
    raisers: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def is_counters_only(self) -> bool:
        """Whether no operation of the transaction writes the item itself."""
        return all(role in ("counter", "check") for _, role in self.owners)

    @property
    def is_marker(self) -> bool:
        """Whether it writes a marker of the item, and not the item."""
        return all(role == "marker" for _, role in self.owners)

    def item(self, setup: Setup) -> dict[str, Any]:
        """The entry as an element of TransactItems."""
        return {str(self.write.kind): self.write.request(setup.name_of(self.write.table))}


@dataclass
class _Target:
    """Everything that a transaction does with one item. Operations are given by number."""

    ref: Ref[Any]
    place: Identity
    #: the operation that writes it
    main: int | None = None
    #: the operations that check it
    checks: list[int] = field(default_factory=list)
    #: the operations that change its counters, with the change
    moves: list[tuple[int, CounterChange]] = field(default_factory=list)


def combine_entries(
    operations: Sequence[TransactionWrite],
    writes: Sequence[Write[Any]],
    setup: Setup,
    now: datetime,
    seen: Mapping[Identity, Item | None] | None = None,
) -> list[TransactionEntry]:
    """All entries in call order: the writes, then counter changes and markers.

    `seen` contains the items whose counters could not be changed in the previous attempt: None for one that does not exist.
    """
    targets: dict[Identity, _Target] = {}
    for number, (operation, write) in enumerate(zip(operations, writes, strict=True)):
        _enter(targets, _place(write, setup), number, operation)
    for number, write in enumerate(writes):
        for change in write.counts:
            place = identity(setup.name_of(spec_of(change.ref.entity).table), change.ref.key)
            targets.setdefault(place, _Target(change.ref, place)).moves.append((number, change))
    entries = {target.place: _entry(target, operations, writes, now, seen or {}) for target in targets.values()}
    for marker in _markers(operations, writes, setup):
        other = entries.get(marker.place)
        handed = None if other is None else _handed_over(other, marker)
        if other is not None and handed is None:
            number, first = marker.owners[0][0] + 1, other.owners[0][0] + 1
            raise DuplicateTarget(
                f"Operation {number} must {marker.write.purpose}, and operation {first} must {other.write.purpose}: the same item.",
                fix="Give the operations different values, or write them one after the other.",
            )
        entries[marker.place] = handed or marker
    return list(entries.values())


def _handed_over(one: TransactionEntry, other: TransactionEntry) -> TransactionEntry | None:
    """The entry for a marker that one operation releases and another takes, which gives it a new owner; None if both take it.

    It needs no condition: if the releasing item does not own the marker, the operation on that item fails.
    """
    if {one.write.kind, other.write.kind} != {"Put", "Delete"} or {one.owners[0][1], other.owners[0][1]} != {"marker"}:
        return None
    taken = one if one.write.kind == "Put" else other
    write = replace(taken.write, parameters={"Item": taken.write.parameters["Item"]})
    return TransactionEntry(write, taken.ref, [*one.owners, *other.owners], taken.place)


def _enter(targets: dict[Identity, _Target], place: Identity, number: int, operation: TransactionWrite) -> None:
    target = targets.setdefault(place, _Target(operation.ref, place))
    if operation.verb == "check":
        target.checks.append(number)
    elif target.main is not None:
        raise DuplicateTarget(
            f"Operations {target.main + 1} and {number + 1} both write {operation.ref}.",
            fix="Combine both changes in one operation; only checks and counters can be merged with the operation that writes an item.",
        )
    else:
        target.main = number


def _entry(
    target: _Target,
    operations: Sequence[TransactionWrite],
    writes: Sequence[Write[Any]],
    now: datetime,
    seen: Mapping[Identity, Item | None],
) -> TransactionEntry:
    """The entry of an item."""
    owners: list[tuple[int, Role]] = [(number, "check") for number in target.checks]
    owners += [(number, "counter") for number, _ in target.moves]
    deltas: dict[str, int] = {}
    raisers: dict[str, list[int]] = {}
    counters = {change.wire: change.attribute for _, change in target.moves}
    for number, change in target.moves:
        deltas[change.wire] = deltas.get(change.wire, 0) + change.delta
        if change.delta > 0:
            raisers.setdefault(change.attribute.name, []).append(number)
    bounds = tuple(bound for wire, attribute in counters.items() for bound in upper_bounds(attribute, deltas[wire]))
    condition = all_of(*(operations[number].condition for number in target.checks))
    joined = Joined(deltas, condition, seen.get(target.place), bounds)
    required = any(change.required for _, change in target.moves)
    if target.main is None:
        if deltas and not required and seen.get(target.place, {}) is None:
            # The parent does not exist, so only check that it still does not.
            condition = all_of(condition, missing(spec_of(target.ref.entity).table.hash))
            joined = Joined(condition=condition)
        alone = not deltas and len(target.checks) == 1
        # A single check without counter changes is already planned.
        write = writes[target.checks[0]] if alone else plan_check(target.ref, None, joined)
        return TransactionEntry(
            write, target.ref, owners, target.place, Joined(deltas, condition, joined.seen, joined.bounds), required, raisers
        )
    owners.insert(0, (target.main, "write"))
    operation, write = operations[target.main], writes[target.main]
    if operation.verb == "delete" and required:
        entering = next(number for number, change in target.moves if change.required)
        raise DuplicateTarget(
            f"Operation {entering + 1} writes an item that is counted in {target.ref}, which operation {target.main + 1} deletes.",
            fix="Remove one of the two operations.",
        )
    if deltas or target.checks:
        write = operation.write(now, joined)
    return TransactionEntry(write, target.ref, owners, target.place, joined, required, raisers)


def _markers(operations: Sequence[TransactionWrite], writes: Sequence[Write[Any]], setup: Setup) -> Iterator[TransactionEntry]:
    for number, write in enumerate(writes):
        for marker in write.markers:
            yield TransactionEntry(marker, operations[number].ref, [(number, "marker")], _place(marker, setup))


def _place(write: Write[Any], setup: Setup) -> Identity:
    parameters = write.parameters
    key = parameters.get("Key") or {name: parameters["Item"][name] for name in write.table.attributes}
    return identity(setup.name_of(write.table), key)


def marked_values(marker: Write[Any], entity: type[Any]) -> str:
    """The attributes and values of a marker, for messages: `tenant 'acme' and name 'legal'`."""
    text: str = marker.parameters["Item"][marker.table.hash]["S"]
    _, _, constraint, *values = text.split("#")
    names = spec_of(entity).uniques[constraint].by
    texts = [f"{name} {unquote(value)!r}" for name, value in zip(names, values, strict=True)]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
