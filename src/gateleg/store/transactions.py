"""Transactions: several writes that succeed or fail together, and several reads of one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.backoff import settled
from gateleg.store.combining import Entry, combined, identity, marked_values
from gateleg.store.errors import NotFound, Refused, StoreError, TooLarge, TooMany, TransactionCanceled, TransactionConflict, UniqueTaken
from gateleg.store.failures import explained
from gateleg.store.legacy import brought_home, read_older
from gateleg.store.operation import Operation
from gateleg.store.requests import Request
from gateleg.store.sizes import TRANSACTION_LIMIT, check_size
from gateleg.store.transports import ServiceError
from gateleg.store.unreadable import ListReader, shown_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Item, KeyPlan, Ref, Write
    from gateleg.store.combining import Identity
    from gateleg.store.requests import Flow
    from gateleg.store.setup import Setup
    from gateleg.store.write_operation import WriteOperation
    from gateleg.store.writes import Put

E = TypeVar("E", bound=BaseModel)
OPERATIONS_LIMIT = 100


def transaction_flow(
    operations: Sequence[WriteOperation[Any]], setup: Setup, *, writes: Sequence[Write[Any]] | None = None, token: str | None = None
) -> Flow[list[Entry]]:
    """Write all or nothing; asked again while other transactions are in the way. The result is what was sent."""
    if writes is None:
        for operation in operations:
            if spec_of(operation.entity).key.legacy:
                yield from brought_home(operation.ref, setup)
    now = setup.now()
    plans = list(writes) if writes is not None else [operation.write(now) for operation in operations]
    entries = combined(plans, setup)
    payload: dict[str, Any] = {"TransactItems": [entry.item for entry in entries], "ClientRequestToken": token or setup.token()}
    pattern = operations[0].pattern if len(operations) == 1 else "transact"
    request = Request("TransactWriteItems", payload, pattern)
    _check_limits(entries, request)
    try:
        yield from settled(request, setup)
    except ServiceError as error:
        if error.code != "TransactionCanceledException":
            raise
        raise _canceled(operations, entries, error, request) from error
    return entries


def _check_limits(entries: Sequence[Entry], request: Request) -> None:
    if len(entries) > OPERATIONS_LIMIT:
        raise TooMany(f"The transaction has {len(entries)} writes; it takes at most {OPERATIONS_LIMIT}.", request=request)
    total = 0
    for entry in entries:
        put = entry.item.get("Put")
        if put is not None:
            total += check_size(put["Item"], f"Operation {entry.owners[0] + 1} of the transaction", request)
    if total > TRANSACTION_LIMIT:
        what = f"The items of the transaction have {total:,} bytes; it takes at most {TRANSACTION_LIMIT:,}."
        raise TooLarge(what, size=total, limit=TRANSACTION_LIMIT, request=request)


def _canceled(operations: Sequence[WriteOperation[Any]], entries: Sequence[Entry], error: ServiceError, request: Request) -> StoreError:
    """The error of a cancelled transaction; that of its operation when it has only one."""
    reasons: list[StoreError | None] = [None] * len(operations)
    for entry, reason in zip(entries, error.extra.get("CancellationReasons", ()), strict=False):
        if reason.get("Code", "None") == "None":
            continue
        for owner in entry.owners:
            # The first entry of an operation is its own write; what it says outweighs markers and counters.
            if reasons[owner] is None:
                reasons[owner] = _reason(operations[owner], entry, reason, request)
    if len(operations) == 1 and reasons[0] is not None:
        return reasons[0]
    causes = "; ".join(f"{number + 1} ({operations[number].pattern}): {reason.what}" for number, reason in enumerate(reasons) if reason)
    return TransactionCanceled(f"The transaction was refused. {causes or error.message}", reasons=reasons, request=request)


def _reason(operation: WriteOperation[Any], entry: Entry, reason: Mapping[str, Any], request: Request) -> StoreError:
    code, message = reason["Code"], reason.get("Message", "")
    if code == "ConditionalCheckFailed":
        if entry.role == "marker":
            name = entry.write.purpose.removeprefix("hold ")
            return UniqueTaken(f"Another item holds {name} = {marked_values(entry.write)}.", constraint=name, request=request)
        if entry.role == "counter":
            return NotFound(f"There is no item to {entry.write.purpose} in.", fix="Create the parent first, or in the same transaction.")
        item: Item | None = reason.get("Item")
        return explained(operation.expectation(), item or None, request)
    if code == "ValidationError":
        return Refused(message or code, request=request)
    return TransactionConflict(message or code, request=request)


def _stored(operation: Put[Any], entry: Entry) -> Any:
    """The instance that a put has stored, with the counters that the transaction raised in it."""
    item = entry.item["Put"]["Item"]
    return operation.stored(entry.write) if item is entry.write.parameters["Item"] else spec_of(entry.write.entity).decode(item)


@dataclass(frozen=True, slots=True)
class Transact(Operation[list[Any]]):
    """Several writes that succeed or fail together."""

    operations: tuple[WriteOperation[Any], ...]
    token: str | None = None

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """One TransactWriteItems. The result has the stored instance of each put, and None for the rest, in call order."""
        from gateleg.store.writes import Put

        if not self.operations:
            return []
        entries = yield from transaction_flow(self.operations, setup, token=self.token)
        return [
            _stored(operation, entry) if isinstance(operation, Put) else None
            for operation, entry in zip(self.operations, entries, strict=False)
        ]

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all operations."""
        for operation in self.operations:
            yield from operation.places()


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
        return reader.results([_taken(name, ref, found, reader) for name, ref in zip(names, self.refs, strict=True)])

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all items."""
        for ref in self.refs:
            yield ref.entity, spec_of(ref.entity).key, ref.values


def _taken(name: str, ref: Ref[E], found: Mapping[Identity, Item], reader: ListReader) -> E | None:
    """The item of a reference among those that were found, under its present key or an older one."""
    item = found.get(identity(name, ref.key))
    if item is not None:
        taken: E | None = reader.one(spec_of(ref.entity), item)
        return taken
    older = (shown_item(found.get(identity(name, key)), ref.entity, reader.setup) for key in ref.legacy())
    return next((entity for item in older if item is not None and (entity := read_older(item, ref)) is not None), None)


def transact(operations: Sequence[WriteOperation[Any]], /, *, token: str | None = None) -> Operation[list[Any]]:
    """Carry out writes together: `transact([patch(scene, ...), create(event), check(ref, condition)])`.

    All succeed or none; `TransactionCanceled` has the error of each operation in call order. Sending one twice has no further effect:
    `token` names the transaction, and one is made when none is given. The result has the stored instance of each create and put, and None
    for the rest.
    """
    return Transact(tuple(operations), token)


def transact_get(refs: Sequence[Ref[E]], /) -> Operation[list[E | None]]:
    """Read up to 100 items as they are at one moment; those that are not there are None."""
    return TransactGet(tuple(refs))
