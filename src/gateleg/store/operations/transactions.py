"""Transactions: several writes that succeed or fail together, and consistent reads of several items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import spec_of
from gateleg.store.errors import NotAnOperation, TooMany
from gateleg.store.flow import Request
from gateleg.store.operations.entity_reads import ListReader, read_item, read_older, shown_item
from gateleg.store.operations.operation import Operation, item_key
from gateleg.store.operations.transaction_flow import OPERATIONS_LIMIT, transaction_flow
from gateleg.store.operations.write_operation import Put, reread
from gateleg.store.setup import retry_conflicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Item, Ref
    from gateleg.model.keys import KeyPlan
    from gateleg.store.flow import Flow
    from gateleg.store.operations.operation import ItemKey
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

__all__ = ["Transact", "TransactGet"]

E = TypeVar("E", bound=BaseModel)


def transact(operations: Sequence[WriteOperation[Any]], /, *, token: str | None = None) -> Operation[list[Any]]:
    """Execute up to 100 writes and checks atomically: `transact([patch(scene, ...), create(event), check(ref, condition)])`.

    Returns the stored instance of each create and put, and None for other operations, in call order. Raises `TransactionCanceled`, whose
    `reasons` are the errors of the operations, if they were not executed.

    `token` identifies the transaction, so that repeating it has no further effect; by default, the store generates one for its retries. An
    item can be written by one operation only, but it can also be checked.
    """
    if isinstance(operations, Operation):
        raise NotAnOperation("A transaction takes a list of writes and checks, not a single one.", fix="Write transact([...]).")
    for operation in operations:
        if not isinstance(operation, Operation):
            raise NotAnOperation(f"A transaction takes writes and checks, not an instance of {type(operation).__name__}.")
    return Transact(tuple(operations), token)


def transact_get(refs: Sequence[Ref[E]], /) -> Operation[list[E | None]]:
    """Read up to 100 items in one transaction, so that all are from the same moment. Items that do not exist are None."""
    return TransactGet(tuple(refs))


@dataclass(frozen=True, slots=True)
class Transact(Operation[list[Any]]):
    """Execute several writes atomically."""

    operations: tuple[WriteOperation[Any], ...]
    token: str | None = None

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """One TransactWriteItems. After a put that kept the counts of an existing item, the item is read again."""
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
        """The partitions of all operations."""
        for operation in self.operations:
            yield from operation.partitions()


@dataclass(frozen=True, slots=True)
class TransactGet(Operation[list[Any]]):
    """Read several items in one transaction."""

    refs: tuple[Ref[Any], ...]

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """One TransactGetItems, which also reads legacy keys."""
        if not self.refs:
            return []
        names = [setup.name_of(spec_of(ref.entity).table) for ref in self.refs]
        places = [(name, key) for name, ref in zip(names, self.refs, strict=True) for key in (ref.key, *ref.legacy())]
        # Several items may share a legacy key, which is read once.
        gets = {item_key(*place): {"Get": {"TableName": place[0], "Key": place[1]}} for place in places}
        if len(gets) > OPERATIONS_LIMIT:
            raise TooMany(f"The transaction reads {len(gets)} items, but at most {OPERATIONS_LIMIT} are allowed.")
        payload = {"TransactItems": list(gets.values())}
        response = yield from retry_conflicts(Request("TransactGetItems", payload, "transact_get"), setup)
        items = {place: entry["Item"] for place, entry in zip(gets, response["Responses"], strict=True) if entry.get("Item")}
        reader = ListReader(setup)
        results = []
        for name, ref in zip(names, self.refs, strict=True):
            results.append((yield from _find_result(name, ref, items, reader)))
        return reader.results(results)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions of all items."""
        for ref in self.refs:
            yield ref.entity, spec_of(ref.entity).key, ref.values


def _find_result(name: str, ref: Ref[E], items: Mapping[ItemKey, Item], reader: ListReader) -> Flow[E | None]:
    """Find and decode the item of a reference among the items that were read, by its current key or a legacy key."""
    item = items.get(item_key(name, ref.key))
    if item is not None:
        result: E | None = yield from read_item(spec_of(ref.entity), item, reader)
        return result
    for key in ref.legacy():
        older = shown_item(items.get(item_key(name, key)), ref.entity, reader.setup)
        entity = None if older is None else (yield from read_older(older, ref, reader.setup))
        if entity is not None:
            return entity
    return None
