"""Send writes as one transaction: merge their changes of the same items, retry conflicts, and explain refusals.

The entries of a transaction: all writes with their markers and counter changes, one entry for each item.

DynamoDB refuses a transaction that contains an item twice. So the changes of an item's counters are added up, and merged with the checks of
the item into the operation that writes it: an update includes them, a new item starts with them, and a deletion drops them.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import unquote

from gateleg.model import DecodeError, spec_of
from gateleg.model.expressions import all_of, missing
from gateleg.model.planning import Joined, plan_check, upper_bounds
from gateleg.store.error_translation import bound_error, explain_refusals, refused
from gateleg.store.errors import (
    DuplicateTarget,
    NotFound,
    StoreError,
    TooLarge,
    TooMany,
    TransactionCanceled,
    TransactionConflict,
    UniqueTaken,
)
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import needs_lookup, upcast_item
from gateleg.store.operations.legacy_keys import empty_key_check, place
from gateleg.store.operations.legacy_merge import upgrade_item
from gateleg.store.operations.operation import Identity, identity
from gateleg.store.setup import retry_conflicts
from gateleg.store.sizes import TRANSACTION_LIMIT, check_size
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from gateleg.model import Condition, Item, Ref
    from gateleg.model.planning import BoundGuard, CounterChange, Write
    from gateleg.store.error_translation import Expectation
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["OPERATIONS_LIMIT", "combine_entries", "single_flow", "transaction_flow"]


OPERATIONS_LIMIT = 100
#: the maximum number of attempts of a transaction whose counters other writers keep changing
_ATTEMPTS = 10
#: the maximum length of a ClientRequestToken
_TOKEN_LENGTH = 36


def transaction_flow(
    operations: Sequence[TransactionWrite], setup: Setup, *, writes: Sequence[Write[Any]] | None = None, token: str | None = None
) -> Flow[list[TransactionEntry]]:
    """Send operations as one transaction, and retry while it conflicts with others. Returns the entries that were sent.

    Counters are changed only in items that exist, and never become negative. If an attempt finds that an item does not exist or that its
    counter is too low, the next one skips the change or sets the counter to zero, on condition that the item has not changed.
    """
    now = setup.now()
    plans = list(writes) if writes is not None else [operation.write(now) for operation in operations]
    pattern = operations[0].pattern if len(operations) == 1 else "transact"
    seen: dict[Identity, Item | None] = {}
    for attempt in range(_ATTEMPTS):
        entries = combine_entries(operations, plans, setup, now, seen)
        items = yield from _items(operations, entries, setup)
        payload = {"TransactItems": items, "ClientRequestToken": _token(token, setup, items if attempt else None)}
        request = Request("TransactWriteItems", payload, pattern)
        _check_limits(entries, request, len(items))
        _check_new_parents(operations, entries, request)
        try:
            yield from retry_conflicts(request, setup)
            return entries
        except ServiceError as error:
            if error.code != "TransactionCanceledException":
                raise
            refusal = error
        if _has_other_copy(entries, refusal) or (yield from _upgraded(entries, refusal, setup)):
            continue
        unchanged = _unchanged_counters(entries, refusal, seen)
        if not unchanged:
            break
        seen |= unchanged
    yield from _upcast_reasons(entries, refusal, setup)
    raise _canceled(operations, entries, refusal, request) from refusal


def _items(operations: Sequence[TransactionWrite], entries: Sequence[TransactionEntry], setup: Setup) -> Flow[list[dict[str, Any]]]:
    """The elements of TransactItems: the entries, then for those with legacy keys checks that no item is stored under another key."""
    items, checks = [entry.item(setup) for entry in entries], []
    for position, entry in enumerate(entries):
        spec, number = spec_of(entry.ref.entity), entry.owners[0][0]
        if not spec.key.legacy or entry.is_marker:
            continue
        placement = yield from place(entry.ref, setup, creates=not entry.is_counters_only and creates(operations[number]))
        ((kind, parameters),) = items[position].items()
        within = {"Item": parameters["Item"] | placement.key} if kind == "Put" else {"Key": placement.key}
        items[position] = {kind: parameters | within}
        checks += [{"ConditionCheck": empty_key_check(setup.name_of(spec.table), key)} for key in placement.empty]
    return items + checks


def _has_other_copy(entries: Sequence[TransactionEntry], refusal: ServiceError) -> bool:
    """Whether a check behind the entries failed: an item was moved, or stored, while the transaction was prepared."""
    reasons = refusal.extra.get("CancellationReasons", ())
    return any(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons[len(entries) :])


def _upgraded(entries: Sequence[TransactionEntry], refusal: ServiceError, setup: Setup) -> Flow[bool]:
    """Rewrite items that failed a condition in their current schema; return whether one had an older schema."""
    found = False
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") == "ConditionalCheckFailed":
            found |= yield from upgrade_item(spec_of(entry.ref.entity), entry.write.parameters, reason.get("Item"), setup)
    return found


def _upcast_reasons(entries: Sequence[TransactionEntry], refusal: ServiceError, setup: Setup) -> Flow[None]:
    """Upcast the items in the cancellation reasons whose upcasters need other items."""
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        spec = spec_of(entry.ref.entity)
        if needs_lookup(spec, reason.get("Item")):
            with contextlib.suppress(DecodeError):
                reason["Item"] = yield from upcast_item(spec, reason["Item"], setup)


def single_flow(operation: TransactionWrite, setup: Setup, write: Write[Any] | None = None) -> Flow[None]:
    """Run one operation as a transaction, raising the error of the operation rather than `TransactionCanceled`."""
    try:
        yield from transaction_flow([operation], setup, writes=None if write is None else [write])
    except TransactionCanceled as canceled:
        raise (canceled.reasons[0] or canceled) from canceled.__cause__


def _token(token: str | None, setup: Setup, changed: list[dict[str, Any]] | None) -> str:
    """The token of an attempt. A changed request needs a new token, because DynamoDB refuses a known one with another request."""
    if token is None:
        return setup.token()
    return token if changed is None else hashlib.sha256(f"{token} {changed}".encode()).hexdigest()[:_TOKEN_LENGTH]


def _unchanged_counters(
    entries: Sequence[TransactionEntry], error: ServiceError, seen: Mapping[Identity, Item | None]
) -> dict[Identity, Item | None]:
    """The stored items whose counters could not be changed, if another attempt can take that into account."""
    found: dict[Identity, Item | None] = {}
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") != "ConditionalCheckFailed" or not entry.joined.deltas:
            continue
        item: Item | None = reason.get("Item") or None
        known = entry.place in seen
        before = seen.get(entry.place)
        if item is None:
            new = entry.is_counters_only and not entry.required and not (known and before is None)
        elif known and before is None:
            new = True
        else:
            same = known and before is not None and all(before.get(wire) == item.get(wire) for wire in entry.joined.deltas)
            new = entry.joined.lacks(item) and not same
        if new:
            found[entry.place] = item
    return found


def _check_limits(entries: Sequence[TransactionEntry], request: Request, count: int) -> None:
    if count > OPERATIONS_LIMIT:
        raise TooMany(f"The transaction has {count} writes, but at most {OPERATIONS_LIMIT} are allowed.", request=request)
    total = 0
    for entry in entries:
        if entry.write.kind == "Put":
            total += check_size(entry.write.parameters["Item"], f"Operation {entry.owners[0][0] + 1} of the transaction", request)
    if total > TRANSACTION_LIMIT:
        what = f"The items of the transaction have {total:,} bytes, but at most {TRANSACTION_LIMIT:,} are allowed."
        raise TooLarge(what, size=total, limit=TRANSACTION_LIMIT, request=request)


def _check_new_parents(operations: Sequence[TransactionWrite], entries: Sequence[TransactionEntry], request: Request) -> None:
    """Check the bounds of counters in new items, which start with the counts of their transaction, so no database condition applies."""
    reasons: list[StoreError | None] = [None] * len(operations)
    for entry in entries:
        if entry.write.kind == "Put" and (broken := entry.joined.broken({})):
            for number, cause in _overcounted(operations, entry, broken, None, request).items():
                reasons[number] = reasons[number] or cause
    if any(reasons):
        raise _cancellation(operations, reasons, "", request)


def _canceled(
    operations: Sequence[TransactionWrite], entries: Sequence[TransactionEntry], error: ServiceError, request: Request
) -> TransactionCanceled:
    """The error of a canceled transaction, with the errors of its operations."""
    reasons: list[StoreError | None] = [None] * len(operations)
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code", "None") == "None":
            continue
        # The first entry of an operation is its write, whose error takes precedence over markers and counters.
        for number, cause in _reasons(operations, entry, reason, request).items():
            reasons[number] = reasons[number] or cause
    return _cancellation(operations, reasons, error.message, request)


def _cancellation(
    operations: Sequence[TransactionWrite], reasons: list[StoreError | None], otherwise: str, request: Request
) -> TransactionCanceled:
    causes = "; ".join(f"{number + 1} ({operations[number].pattern}): {reason.message}" for number, reason in enumerate(reasons) if reason)
    error = TransactionCanceled(f"The transaction was refused. {causes or otherwise}", reasons=reasons, request=request)
    if any(reason is not None and reason.public is not None for reason in reasons):
        messages = dict.fromkeys(reason.public or reason.message for reason in reasons if reason is not None)
        error.public = f"The transaction was refused. {' '.join(messages)}"
    return error


def _reasons(
    operations: Sequence[TransactionWrite], entry: TransactionEntry, reason: Mapping[str, Any], request: Request
) -> dict[int, StoreError]:
    """The errors of a refused entry, for each operation that it belongs to."""
    code, message = reason["Code"], reason.get("Message") or reason["Code"]
    if code != "ConditionalCheckFailed":
        what = f"{message.rstrip('.')}."
        cause = refused(what, message, request) if code == "ValidationError" else TransactionConflict(what, request=request)
        return {number: cause for number, _ in entry.owners}
    item: Item | None = reason.get("Item") or None
    expected = {number: operations[number].expectation() for number, role in entry.owners if role in ("write", "check")}
    # If the item does not exist, a bound can only be the reason if the write would have created it.
    creates_item = not entry.is_counters_only and not any(one.present for one in expected.values())
    broken = entry.joined.broken(item or {}) if item is not None or creates_item else ()
    found = _overcounted(operations, entry, broken, item, request)
    if item is not None or not broken:
        found = explain_refusals(expected, item, request, certain_only=bool(broken)) | found
    for number, role in entry.owners:
        if role == "marker":
            name = entry.write.purpose.removeprefix("hold ")
            found[number] = UniqueTaken(
                f"Another {entry.ref.entity.__name__} has {marked_values(entry.write, entry.ref.entity)}.", constraint=name, request=request
            )
        elif role == "counter" and number not in found:
            cause_of_counter = _uncounted(operations[number], entry, item, request)
            if cause_of_counter is not None:
                found[number] = cause_of_counter
    return found


def _overcounted(
    operations: Sequence[TransactionWrite], entry: TransactionEntry, broken: Sequence[BoundGuard], item: Item | None, request: Request
) -> dict[int, StoreError]:
    """The errors of broken counter bounds, for each operation that increases the counter."""
    found: dict[int, StoreError] = {}
    for bound in broken:
        for number in entry.raisers.get(bound.attribute, ()):
            found.setdefault(number, bound_error(bound, entry.ref, item, operations[number].verb, request))
    return found


def _uncounted(operation: TransactionWrite, entry: TransactionEntry, item: Item | None, request: Request) -> StoreError | None:
    """The error of a counter that could not be changed; None if the entry was refused for another reason."""
    parent = entry.write.entity.__name__
    wires = spec_of(entry.write.entity).counted_wires
    counted = ", ".join(f"{parent}.{name}" for wire, name in wires.items() if wire in entry.joined.deltas)
    if item is None and entry.required:
        error = NotFound(
            f"There is no {entry.ref}, so {counted} cannot count.",
            fix=f"Create the {parent} first, or in the same transaction.",
            request=request,
        )
        # Callers of a host cannot do anything about counters.
        error.public = f"There is no {entry.ref}."
        return error
    if item is None or entry.joined.lacks(item):
        return TransactionConflict(f"{counted} changed during every attempt of {operation.pattern}.", request=request)
    return None


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
