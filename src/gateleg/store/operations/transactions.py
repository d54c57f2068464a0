"""Transactions: several writes that succeed or fail together, and several reads of one moment."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import DecodeError, spec_of
from gateleg.store.backoff import settled
from gateleg.store.error_translation import beyond, explained_together, refused
from gateleg.store.errors import (
    NotAnOperation,
    NotFound,
    StoreError,
    TooLarge,
    TooMany,
    TransactionCanceled,
    TransactionConflict,
    UniqueTaken,
)
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import brought_up_item, needs_lookup, read_item, read_older
from gateleg.store.operations.legacy_keys import migrate_to_current_key
from gateleg.store.operations.operation import Operation
from gateleg.store.operations.schema_upgrades import upgrade_item
from gateleg.store.operations.transaction_entries import Entry, combined, identity, marked_values
from gateleg.store.operations.unreadable import ListReader, shown_item
from gateleg.store.sizes import TRANSACTION_LIMIT, check_size
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Item, Ref
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.planning import Guard, Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.transaction_entries import Identity
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

__all__ = ["Transact", "TransactGet", "transaction_flow"]

E = TypeVar("E", bound=BaseModel)
OPERATIONS_LIMIT = 100
#: how often a transaction is sent whose counters other writers change in between
_ATTEMPTS = 10
#: what DynamoDB takes as a ClientRequestToken
_TOKEN_LENGTH = 36


def transaction_flow(
    operations: Sequence[WriteOperation[Any]], setup: Setup, *, writes: Sequence[Write[Any]] | None = None, token: str | None = None
) -> Flow[list[Entry]]:
    """Write all or nothing; asked again while other transactions are in the way. The result is what was sent.

    Counters are moved only in items that exist, and never below zero. Where the first attempt finds that an item is gone or its count too
    low, the next one leaves the move out or ends at zero, on the condition that this is still so.
    """
    if writes is None:
        for operation in operations:
            if spec_of(operation.entity).key.legacy:
                yield from migrate_to_current_key(operation.ref, setup)
    now = setup.now()
    plans = list(writes) if writes is not None else [operation.write(now) for operation in operations]
    pattern = operations[0].pattern if len(operations) == 1 else "transact"
    seen: dict[Identity, Item | None] = {}
    for attempt in range(_ATTEMPTS):
        entries = combined(operations, plans, setup, now, seen)
        items = [entry.item(setup) for entry in entries]
        payload = {"TransactItems": items, "ClientRequestToken": _token(token, setup, items if attempt else None)}
        request = Request("TransactWriteItems", payload, pattern)
        _check_limits(entries, request)
        _check_new_parents(operations, entries, request)
        try:
            yield from settled(request, setup)
            return entries
        except ServiceError as error:
            if error.code != "TransactionCanceledException":
                raise
            refusal = error
        if (yield from _upgraded(entries, refusal, setup)):
            continue
        unmoved = _unmoved(entries, refusal, seen)
        if not unmoved:
            break
        seen |= unmoved
    yield from _bring_up_reasons(entries, refusal, setup)
    raise _canceled(operations, entries, refusal, request) from refusal


def _upgraded(entries: Sequence[Entry], refusal: ServiceError, setup: Setup) -> Flow[bool]:
    """Store the items that were in the way in their present schema; whether one of them had an older one."""
    found = False
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") == "ConditionalCheckFailed":
            found |= yield from upgrade_item(spec_of(entry.ref.entity), entry.write.parameters, reason.get("Item"), setup)
    return found


def _bring_up_reasons(entries: Sequence[Entry], refusal: ServiceError, setup: Setup) -> Flow[None]:
    """Bring the items that were in the way to their present schema, where that takes other items."""
    for entry, reason in zip(entries, refusal.extra.get("CancellationReasons", ()), strict=False):
        spec = spec_of(entry.ref.entity)
        if needs_lookup(spec, reason.get("Item")):
            with contextlib.suppress(DecodeError):
                reason["Item"] = yield from brought_up_item(spec, reason["Item"], setup)


def single_flow(operation: WriteOperation[Any], setup: Setup, write: Write[Any] | None = None) -> Flow[None]:
    """The transaction of one verb, which fails with the error of that verb."""
    try:
        yield from transaction_flow([operation], setup, writes=None if write is None else [write])
    except TransactionCanceled as canceled:
        raise (canceled.reasons[0] or canceled) from canceled.__cause__


def _token(given: str | None, setup: Setup, changed: list[dict[str, Any]] | None) -> str:
    """The token of an attempt: DynamoDB refuses one that it knows with another request, so a changed request has one of its own."""
    if given is None:
        return setup.token()
    return given if changed is None else hashlib.sha256(f"{given} {changed}".encode()).hexdigest()[:_TOKEN_LENGTH]


def _unmoved(entries: Sequence[Entry], error: ServiceError, seen: Mapping[Identity, Item | None]) -> dict[Identity, Item | None]:
    """The items whose counters could not be moved, as they are, where another attempt can take that into account."""
    found: dict[Identity, Item | None] = {}
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code") != "ConditionalCheckFailed" or not entry.joined.deltas:
            continue
        item: Item | None = reason.get("Item") or None
        known = entry.place in seen
        before = seen.get(entry.place)
        if item is None:
            new = entry.of_counters_only and not entry.required and not (known and before is None)
        elif known and before is None:
            new = True
        else:
            same = known and before is not None and all(before.get(wire) == item.get(wire) for wire in entry.joined.deltas)
            new = entry.joined.lacks(item) and not same
        if new:
            found[entry.place] = item
    return found


def _check_limits(entries: Sequence[Entry], request: Request) -> None:
    if len(entries) > OPERATIONS_LIMIT:
        raise TooMany(f"The transaction has {len(entries)} writes; it takes at most {OPERATIONS_LIMIT}.", request=request)
    total = 0
    for entry in entries:
        if entry.write.kind == "Put":
            total += check_size(entry.write.parameters["Item"], f"Operation {entry.owners[0][0] + 1} of the transaction", request)
    if total > TRANSACTION_LIMIT:
        what = f"The items of the transaction have {total:,} bytes; it takes at most {TRANSACTION_LIMIT:,}."
        raise TooLarge(what, size=total, limit=TRANSACTION_LIMIT, request=request)


def _check_new_parents(operations: Sequence[WriteOperation[Any]], entries: Sequence[Entry], request: Request) -> None:
    """A new item begins with the counts of its transaction: no condition of the database sees them."""
    reasons: list[StoreError | None] = [None] * len(operations)
    for entry in entries:
        if entry.write.kind == "Put" and (broken := entry.joined.broken({})):
            for number, cause in _overcounted(operations, entry, broken, None, request).items():
                reasons[number] = reasons[number] or cause
    if any(reasons):
        raise _cancellation(operations, reasons, "", request)


def _canceled(
    operations: Sequence[WriteOperation[Any]], entries: Sequence[Entry], error: ServiceError, request: Request
) -> TransactionCanceled:
    """The error of a cancelled transaction, with the reasons of its operations."""
    reasons: list[StoreError | None] = [None] * len(operations)
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code", "None") == "None":
            continue
        # The first entry of an operation is its own write; what it says outweighs markers and counters.
        for number, cause in _reasons(operations, entry, reason, request).items():
            reasons[number] = reasons[number] or cause
    return _cancellation(operations, reasons, error.message, request)


def _cancellation(
    operations: Sequence[WriteOperation[Any]], reasons: list[StoreError | None], otherwise: str, request: Request
) -> TransactionCanceled:
    causes = "; ".join(f"{number + 1} ({operations[number].pattern}): {reason.message}" for number, reason in enumerate(reasons) if reason)
    error = TransactionCanceled(f"The transaction was refused. {causes or otherwise}", reasons=reasons, request=request)
    if any(reason is not None and reason.public is not None for reason in reasons):
        messages = dict.fromkeys(reason.public or reason.message for reason in reasons if reason is not None)
        error.public = f"The transaction was refused. {' '.join(messages)}"
    return error


def _reasons(operations: Sequence[WriteOperation[Any]], entry: Entry, reason: Mapping[str, Any], request: Request) -> dict[int, StoreError]:
    """Why an entry was refused, for each of the operations that it belongs to."""
    code, message = reason["Code"], reason.get("Message") or reason["Code"]
    if code != "ConditionalCheckFailed":
        what = f"{message.rstrip('.')}."
        cause = refused(what, message, request) if code == "ValidationError" else TransactionConflict(what, request=request)
        return {number: cause for number, _ in entry.owners}
    item: Item | None = reason.get("Item") or None
    own = {number: operations[number].expectation() for number, role in entry.owners if role in ("write", "check")}
    # Without an item, a bound can be to blame only where the write would have made one.
    creates_item = not entry.of_counters_only and not any(one.present for one in own.values())
    broken = entry.joined.broken(item or {}) if item is not None or creates_item else ()
    found = _overcounted(operations, entry, broken, item, request)
    if item is not None or not broken:
        found = explained_together(own, item, request, certain_only=bool(broken)) | found
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
    operations: Sequence[WriteOperation[Any]], entry: Entry, broken: Sequence[Guard], item: Item | None, request: Request
) -> dict[int, StoreError]:
    """The bounds of counters that are broken, for each of the operations that raise them."""
    found: dict[int, StoreError] = {}
    for bound in broken:
        for number in entry.raisers.get(bound.attribute, ()):
            found.setdefault(number, beyond(bound, entry.ref, item, operations[number].verb, request))
    return found


def _uncounted(operation: WriteOperation[Any], entry: Entry, item: Item | None, request: Request) -> StoreError | None:
    """Why a counter could not be moved; None when that was not why the entry was refused."""
    parent = entry.write.entity.__name__
    wires = spec_of(entry.write.entity).counted_wires
    counted = ", ".join(f"{parent}.{name}" for wire, name in wires.items() if wire in entry.joined.deltas)
    if item is None and entry.required:
        error = NotFound(
            f"There is no {entry.ref} to count {counted} in.",
            fix=f"Create the {parent} first, or in the same transaction.",
            request=request,
        )
        # What counts where is nothing that a caller of a host can do something about.
        error.public = f"There is no {entry.ref}."
        return error
    if item is None or entry.joined.lacks(item):
        return TransactionConflict(f"{counted} changed each time {operation.pattern} was tried.", request=request)
    return None


@dataclass(frozen=True, slots=True)
class Transact(Operation[list[Any]]):
    """Several writes that succeed or fail together."""

    operations: tuple[WriteOperation[Any], ...]
    token: str | None = None

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """One TransactWriteItems. The result has the stored instance of each put, and None for the rest, in call order.

        A put over an item that keeps its counts is read again.
        """
        from gateleg.store.operations.write_kinds import Put, reread

        if not self.operations:
            return []
        entries = yield from transaction_flow(self.operations, setup, token=self.token)
        sent = {number: entry.write for entry in entries for number, role in entry.owners if role == "write"}
        results: list[Any] = []
        for number, operation in enumerate(self.operations):
            if not isinstance(operation, Put):
                results.append(None)
            elif sent[number].kind == "Update":
                results.append((yield from reread(operation, setup)))
            else:
                results.append(sent[number].instance)
        return results

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all operations."""
        for operation in self.operations:
            yield from operation.partitions()


@dataclass(frozen=True, slots=True)
class TransactGet(Operation[list[Any]]):
    """Several items as they are at one moment."""

    refs: tuple[Ref[Any], ...]

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """One TransactGetItems, which asks for older forms of keys too; items that are not there are None."""
        if not self.refs:
            return []
        names = [setup.name_of(spec_of(ref.entity).table) for ref in self.refs]
        places = [(name, key) for name, ref in zip(names, self.refs, strict=True) for key in (ref.key, *ref.legacy())]
        # Items that an older form of their keys does not tell apart have it in common.
        gets = {identity(*place): {"Get": {"TableName": place[0], "Key": place[1]}} for place in places}
        if len(gets) > OPERATIONS_LIMIT:
            raise TooMany(f"The transaction reads {len(gets)} items; it takes at most {OPERATIONS_LIMIT}.")
        payload = {"TransactItems": list(gets.values())}
        reply = yield from settled(Request("TransactGetItems", payload, "transact_get"), setup)
        found = {place: answer["Item"] for place, answer in zip(gets, reply["Responses"], strict=True) if answer.get("Item")}
        reader = ListReader(setup)
        results = []
        for name, ref in zip(names, self.refs, strict=True):
            results.append((yield from _taken(name, ref, found, reader)))
        return reader.results(results)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all items."""
        for ref in self.refs:
            yield ref.entity, spec_of(ref.entity).key, ref.values


def _taken(name: str, ref: Ref[E], found: Mapping[Identity, Item], reader: ListReader) -> Flow[E | None]:
    """The item of a reference among those that were found, under its present key or an older one."""
    item = found.get(identity(name, ref.key))
    if item is not None:
        taken: E | None = yield from read_item(spec_of(ref.entity), item, reader)
        return taken
    for key in ref.legacy():
        older = shown_item(found.get(identity(name, key)), ref.entity, reader.setup)
        entity = None if older is None else (yield from read_older(older, ref, reader.setup))
        if entity is not None:
            return entity
    return None


def transact(operations: Sequence[WriteOperation[Any]], /, *, token: str | None = None) -> Operation[list[Any]]:
    """Carry out writes together: `transact([patch(scene, ...), create(event), check(ref, condition)])`.

    All succeed or none; `TransactionCanceled` has the error of each operation in call order, also when there is only one. Checks of an item
    that another operation writes or counts in are made by that write. Sending one twice has no further effect:
    `token` names the transaction, and one is made when none is given. The result has the stored instance of each create and put, and None
    for the rest.
    """
    if isinstance(operations, Operation):
        raise NotAnOperation("A transaction takes a list of writes and checks, and was given a single one.", fix="Write transact([...]).")
    for operation in operations:
        if not isinstance(operation, Operation):
            raise NotAnOperation(f"A transaction takes writes and checks, and was given an instance of {type(operation).__name__}.")
    return Transact(tuple(operations), token)


def transact_get(refs: Sequence[Ref[E]], /) -> Operation[list[E | None]]:
    """Read up to 100 items as they are at one moment; those that are not there are None."""
    return TransactGet(tuple(refs))
