"""Send writes as one transaction: merge their changes of the same items, retry conflicts, and explain refusals.

A transaction has one entry for each item, because DynamoDB refuses one that contains an item twice: `combine_entries` makes them of the
planned writes, their markers and their counter changes. The changes of an item's counters are added up, and merged with the checks of the
item into the operation that writes it: an update includes them, a new item starts with them, and a deletion drops them.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import unquote

from gateleg.model import DecodeError, Ref, spec_of
from gateleg.model.expressions import all_of, missing
from gateleg.model.planning import MergedChanges, plan_check, plan_counters, upper_bounds
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
from gateleg.store.operations.older_items import empty_key_check, place, upgrade_item
from gateleg.store.operations.operation import ItemKey, item_key
from gateleg.store.operations.reads import needs_lookup, upcast_item
from gateleg.store.setup import retry_conflicts
from gateleg.store.sizes import TRANSACTION_LIMIT, check_size
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.model import Condition, Item
    from gateleg.model.planning import BoundGuard, CounterChange, Write
    from gateleg.store.error_translation import WriteCondition
    from gateleg.store.flow import Flow
    from gateleg.store.setup import Setup

__all__ = ["combine_entries", "transaction_flow"]

OPERATIONS_LIMIT = 100
#: the maximum number of attempts of a transaction whose counters other writers keep changing
_ATTEMPTS = 10
#: the maximum length of a ClientRequestToken
_TOKEN_LENGTH = 36


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

    def write(self, now: datetime, merged: MergedChanges | None = None) -> Write[Any]:
        """Plan the write; `merged` contains other changes of the item in the transaction."""

    def expectation(self) -> WriteCondition:
        """What the write expects of the stored item, to explain a refusal."""


def creates(operation: TransactionWrite) -> bool:
    """Whether a write stores an item if there is none."""
    return operation.verb in ("create", "put", "upsert")


def transaction_flow(
    operations: Sequence[TransactionWrite],
    setup: Setup,
    *,
    writes: Sequence[Write[Any]] | None = None,
    token: str | None = None,
) -> Flow[list[TransactionEntry]]:
    """Send operations as one transaction, and retry while it conflicts with others. Returns the entries that were sent.

    Counters are changed only in items that exist, and never become negative. If an attempt finds that an item does not exist or that its
    counter is too low, the next one skips the change or sets the counter to zero, on condition that the item has not changed.
    """
    now = setup.now()
    if writes is None:
        writes = [operation.write(now) for operation in operations]
    pattern = f"{writes[0].entity.__name__}.{operations[0].verb}" if len(operations) == 1 else "transact"
    seen: dict[ItemKey, Item | None] = {}
    for attempt in range(_ATTEMPTS):
        entries = combine_entries(operations, writes, setup, now, seen)
        items: list[dict[str, Any]] = []
        has_legacy_keys = False
        for entry in entries:
            items.append({entry.write.kind: entry.write.request(entry.place[0])})
            has_legacy_keys = has_legacy_keys or bool(spec_of(entry.write.entity).key.legacy)
        if has_legacy_keys:
            items += yield from _place_legacy(operations, entries, items, setup)
        payload = {"TransactItems": items, "ClientRequestToken": _token(token, setup, items if attempt else None)}
        request = Request("TransactWriteItems", payload, pattern)
        _check_limits(operations, entries, request, len(items))
        try:
            try:
                yield request
            except ServiceError as error:
                yield from retry_conflicts(request, setup, error)
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


def _place_legacy(
    operations: Sequence[TransactionWrite], entries: Sequence[TransactionEntry], items: list[dict[str, Any]], setup: Setup
) -> Flow[list[dict[str, Any]]]:
    """Put the key under which each item is stored into its element of TransactItems.

    Returns further elements, the checks that no item is stored under another key.
    """
    checks = []
    for position, entry in enumerate(entries):
        spec, number = spec_of(entry.write.entity), entry.owners[0][0]
        if not spec.key.legacy or entry.is_marker:
            continue
        placement = yield from place(entry.ref, setup, creates=not entry.is_counters_only and creates(operations[number]))
        ((kind, parameters),) = items[position].items()
        within = {"Item": parameters["Item"] | placement.key} if kind == "Put" else {"Key": placement.key}
        items[position] = {kind: parameters | within}
        checks += [{"ConditionCheck": empty_key_check(setup.name_of(spec.table), key)} for key in placement.empty]
    return checks


def _has_other_copy(entries: Sequence[TransactionEntry], refusal: ServiceError) -> bool:
    """Whether a check behind the entries failed: an item was moved, or stored, while the transaction was prepared."""
    reasons = refusal.extra.get("CancellationReasons", ())
    return any(reason.get("Code") == "ConditionalCheckFailed" for reason in reasons[len(entries) :])


def _upgraded(entries: Sequence[TransactionEntry], refusal: ServiceError, setup: Setup) -> Flow[bool]:
    """Rewrite items that failed a condition in their current schema; return whether one had an older schema."""
    upgraded = False
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") == "ConditionalCheckFailed":
            upgraded |= yield from upgrade_item(spec_of(entry.write.entity), entry.write.parameters, reason.get("Item"), setup)
    return upgraded


def _upcast_reasons(entries: Sequence[TransactionEntry], refusal: ServiceError, setup: Setup) -> Flow[None]:
    """Upcast the items in the cancellation reasons whose upcasters need other items."""
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        spec = spec_of(entry.write.entity)
        if needs_lookup(spec, reason.get("Item")):
            with contextlib.suppress(DecodeError):
                reason["Item"] = yield from upcast_item(spec, reason["Item"], setup)


def _token(token: str | None, setup: Setup, changed: list[dict[str, Any]] | None) -> str:
    """The token of an attempt. A changed request needs a new token, because DynamoDB refuses a known one with another request."""
    if token is None:
        return setup.token()
    return token if changed is None else hashlib.sha256(f"{token} {changed}".encode()).hexdigest()[:_TOKEN_LENGTH]


def _unchanged_counters(
    entries: Sequence[TransactionEntry], error: ServiceError, seen: Mapping[ItemKey, Item | None]
) -> dict[ItemKey, Item | None]:
    """The stored items whose counters could not be changed, if another attempt can take that into account."""
    unchanged: dict[ItemKey, Item | None] = {}
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") != "ConditionalCheckFailed" or not entry.merged.deltas:
            continue
        item: Item | None = reason.get("Item") or None
        known = entry.place in seen
        before = seen.get(entry.place)
        if item is None:
            new = entry.is_counters_only and not entry.required and not (known and before is None)
        elif known and before is None:
            new = True
        else:
            same = known and before is not None and all(before.get(wire) == item.get(wire) for wire in entry.merged.deltas)
            new = entry.merged.lacks(item) and not same
        if new:
            unchanged[entry.place] = item
    return unchanged


def _check_limits(operations: Sequence[TransactionWrite], entries: Sequence[TransactionEntry], request: Request, count: int) -> None:
    """Check the limits of a transaction, and the bounds of counters in new items.

    Those start with the counts of their transaction, so that no database condition applies.
    """
    if count > OPERATIONS_LIMIT:
        raise TooMany(f"The transaction has {count} writes, but at most {OPERATIONS_LIMIT} are allowed.", request=request)
    total = 0
    reasons: dict[int, StoreError] = {}
    for entry in entries:
        if entry.write.kind == "Put":
            total += check_size(entry.write.parameters["Item"], f"Operation {entry.owners[0][0] + 1} of the transaction", request)
            if entry.merged.bounds:
                reasons = _overcounted(operations, entry, entry.merged.broken({}), None, request) | reasons
    if total > TRANSACTION_LIMIT:
        what = f"The items of the transaction have {total:,} bytes, but at most {TRANSACTION_LIMIT:,} are allowed."
        raise TooLarge(what, size=total, limit=TRANSACTION_LIMIT, request=request)
    if reasons:
        raise _cancellation(operations, [reasons.get(number) for number in range(len(operations))], "", request)


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
    conditions = {number: operations[number].expectation() for number, role in entry.owners if role in ("write", "check")}
    # If the item does not exist, a bound can only be the reason if the write would have created it.
    creates_item = not entry.is_counters_only and not any(condition.present for condition in conditions.values())
    broken = entry.merged.broken(item or {}) if item is not None or creates_item else ()
    errors = _overcounted(operations, entry, broken, item, request)
    if item is not None or not broken:
        errors = explain_refusals(conditions, item, request, certain_only=bool(broken)) | errors
    for number, role in entry.owners:
        if role == "marker":
            name = entry.write.purpose.removeprefix("hold ")
            errors[number] = UniqueTaken(
                f"Another {entry.write.entity.__name__} has {marked_values(entry.write)}.",
                constraint=name,
                request=request,
            )
        elif role == "counter" and number not in errors:
            cause_of_counter = _uncounted(operations[number], entry, item, request)
            if cause_of_counter is not None:
                errors[number] = cause_of_counter
    return errors


def _overcounted(
    operations: Sequence[TransactionWrite], entry: TransactionEntry, broken: Sequence[BoundGuard], item: Item | None, request: Request
) -> dict[int, StoreError]:
    """The errors of broken counter bounds, for each operation that increases the counter."""
    errors: dict[int, StoreError] = {}
    for bound in broken:
        for number in entry.raisers.get(bound.attribute, ()):
            errors.setdefault(number, bound_error(bound, entry.ref, item, operations[number].verb, request))
    return errors


def _uncounted(operation: TransactionWrite, entry: TransactionEntry, item: Item | None, request: Request) -> StoreError | None:
    """The error of a counter that could not be changed; None if the entry was refused for another reason."""
    parent = entry.write.entity.__name__
    wires = spec_of(entry.write.entity).counted_wires
    counted = ", ".join(f"{parent}.{name}" for wire, name in wires.items() if wire in entry.merged.deltas)
    if item is None and entry.required:
        error = NotFound(
            f"There is no {entry.ref}, so {counted} cannot count.",
            fix=f"Create the {parent} first, or in the same transaction.",
            request=request,
        )
        # Callers of a host cannot do anything about counters.
        error.public = f"There is no {entry.ref}."
        return error
    if item is None or entry.merged.lacks(item):
        return TransactionConflict(f"{counted} changed during every attempt of {operation.pattern}.", request=request)
    return None


#: What the entry of an item is for an operation: its write or check, or that of a marker or counter that follows from it.
Role = Literal["write", "check", "marker", "counter"]


@dataclass(slots=True)
class TransactionEntry:
    """One entry of TransactWriteItems: everything that a transaction does with one item, or the write of a marker."""

    #: the table and key of the item
    place: ItemKey
    #: the operation that writes or checks the item, or the reference to an item of which only counters change
    target: TransactionWrite | Ref[Any]
    write: Write[Any]
    #: the operations that it belongs to, by number, and its role for each
    owners: list[tuple[int, Role]]
    #: the counter changes and checks that are merged into it
    merged: MergedChanges = field(default_factory=MergedChanges)
    #: whether it fails if the item does not exist, even if only its counters change
    required: bool = False
    #: the operations that increase a counter, by the Python name of the counting attribute
    raisers: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def ref(self) -> Ref[Any]:
        """The reference to the item; for a marker, to the item that it belongs to."""
        return self.target if isinstance(self.target, Ref) else self.target.ref

    @property
    def is_counters_only(self) -> bool:
        """Whether no operation of the transaction writes the item itself."""
        return all(role in ("counter", "check") for _, role in self.owners)

    @property
    def is_marker(self) -> bool:
        """Whether it writes a marker of the item, and not the item."""
        return all(role == "marker" for _, role in self.owners)


@dataclass(slots=True)
class _Plans:
    """Everything that a transaction does with one item. Operations are given by number."""

    target: TransactionWrite | Ref[Any]
    #: the operation that writes it
    main: int | None = None
    #: the operations that check it
    checks: list[int] = field(default_factory=list)
    #: the operations that change its counters, with the change
    counts: list[tuple[int, CounterChange]] = field(default_factory=list)


def combine_entries(
    operations: Sequence[TransactionWrite],
    writes: Sequence[Write[Any]],
    setup: Setup,
    now: datetime,
    seen: Mapping[ItemKey, Item | None] | None = None,
) -> list[TransactionEntry]:
    """All entries in call order: the writes, then counter changes and markers.

    `seen` contains the items whose counters could not be changed in the previous attempt: None for one that does not exist.
    """
    items: dict[ItemKey, _Plans] = {}
    names = setup.names
    for number, (operation, write) in enumerate(zip(operations, writes, strict=True)):
        place = item_key(names[write.table], write.key)
        plans = items.get(place)
        if plans is None:
            plans = items[place] = _Plans(operation)
        if operation.verb == "check":
            plans.checks.append(number)
        elif plans.main is not None:
            raise DuplicateTarget(
                f"Operations {plans.main + 1} and {number + 1} both write {operation.ref}.",
                fix="Combine both changes in one operation; only checks and counters can be merged with the operation that writes an item.",
            )
        else:
            plans.main = number
    for number, write in enumerate(writes):
        for change in write.counts:
            ref = change.ref
            place = item_key(names[spec_of(ref.entity).table], ref.key)
            plans = items.get(place)
            if plans is None:
                plans = items[place] = _Plans(ref)
            plans.counts.append((number, change))
    entries = {place: _entry(place, plans, operations, writes, now, seen or {}) for place, plans in items.items()}
    for number, write in enumerate(writes):
        for marker in write.markers:
            place = item_key(names[marker.table], marker.key)
            _add_marker(entries, TransactionEntry(place, operations[number], marker, [(number, "marker")]))
    return list(entries.values())


def _add_marker(entries: dict[ItemKey, TransactionEntry], marker: TransactionEntry) -> None:
    """Add the entry of a marker. One that another operation releases is handed over."""
    other = entries.get(marker.place)
    handed_over = marker if other is None else _handed_over(other, marker)
    if handed_over is None:
        assert other is not None
        number, first = marker.owners[0][0] + 1, other.owners[0][0] + 1
        raise DuplicateTarget(
            f"Operation {number} must {marker.write.purpose}, and operation {first} must {other.write.purpose}: the same item.",
            fix="Give the operations different values, or write them one after the other.",
        )
    entries[marker.place] = handed_over


def _handed_over(marker: TransactionEntry, other: TransactionEntry) -> TransactionEntry | None:
    """The entry for a marker that one operation releases and another takes, which gives it a new owner; None if both take it.

    It needs no condition: if the releasing item does not own the marker, the operation on that item fails.
    """
    if {marker.write.kind, other.write.kind} != {"Put", "Delete"} or {marker.owners[0][1], other.owners[0][1]} != {"marker"}:
        return None
    taken = marker if marker.write.kind == "Put" else other
    write = replace(taken.write, parameters={"Item": taken.write.parameters["Item"]})
    return TransactionEntry(taken.place, taken.target, write, [*marker.owners, *other.owners])


def _entry(
    place: ItemKey,
    plans: _Plans,
    operations: Sequence[TransactionWrite],
    writes: Sequence[Write[Any]],
    now: datetime,
    seen: Mapping[ItemKey, Item | None],
) -> TransactionEntry:
    """The entry of an item: the planned write, or if other operations concern the item too, a new plan with their changes."""
    main, checks = plans.main, plans.checks
    if main is not None and not checks and not plans.counts:
        return TransactionEntry(place, plans.target, writes[main], [(main, "write")])
    if main is None and len(checks) == 1 and not plans.counts:
        return TransactionEntry(place, plans.target, writes[checks[0]], [(checks[0], "check")])
    merged, raisers, required = _merge(plans, operations, seen.get(place))
    owners: list[tuple[int, Role]] = [(number, "check") for number in checks] if checks else []
    for number, _ in plans.counts:
        owners.append((number, "counter"))
    if main is not None:
        owners.insert(0, (main, "write"))
        operation = operations[main]
        if required and operation.verb == "delete":
            entering = next(number for number, change in plans.counts if change.required)
            raise DuplicateTarget(
                f"Operation {entering + 1} writes an item that is counted in {operation.ref}, which operation {main + 1} deletes.",
                fix="Remove one of the two operations.",
            )
        return TransactionEntry(place, operation, operation.write(now, merged), owners, merged, required, raisers)
    ref = plans.target if isinstance(plans.target, Ref) else plans.target.ref
    if merged.deltas and (required or place not in seen or seen[place] is not None):
        write = plan_counters(ref, merged)
    else:
        if merged.deltas:
            # The parent does not exist, so only check that it still does not.
            merged = MergedChanges(merged.deltas, all_of(merged.condition, missing(spec_of(ref.entity).table.hash)))
        write = plan_check(ref, merged.condition)
    return TransactionEntry(place, ref, write, owners, merged, required, raisers)


def _merge(
    plans: _Plans, operations: Sequence[TransactionWrite], seen: Item | None
) -> tuple[MergedChanges, Mapping[str, Sequence[int]], bool]:
    """The counter changes and checks of an item, the operations that increase each counter, and whether the item must exist."""
    deltas: dict[str, int] = {}
    counters: dict[str, Any] = {}
    raisers: dict[str, list[int]] = {}
    required = False
    for number, change in plans.counts:
        wire = change.wire
        counters[wire] = change.attribute
        deltas[wire] = deltas.get(wire, 0) + change.delta
        required = required or change.required
        if change.delta > 0:
            raisers.setdefault(change.attribute.name, []).append(number)
    bounds: tuple[BoundGuard, ...] = ()
    for wire, attribute in counters.items():
        if attribute.bounds is not None:
            bounds += upper_bounds(attribute, deltas[wire])
    condition = all_of(*[operations[number].condition for number in plans.checks]) if plans.checks else None
    return MergedChanges(deltas, condition, seen, bounds), raisers, required


def marked_values(marker: Write[Any]) -> str:
    """The attributes and values of a marker, for messages: `tenant 'acme' and name 'legal'`."""
    text: str = marker.parameters["Item"][marker.table.hash]["S"]
    _, _, constraint, *values = text.split("#")
    names = spec_of(marker.entity).uniques[constraint].by
    texts = [f"{name} {unquote(value)!r}" for name, value in zip(names, values, strict=True)]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
