"""Many items at once: batches, and transactions.

A batch reads or writes any number of items in concurrent requests of 100 or 25, and sends unprocessed ones again. A transaction writes
several items together, or none of them, or reads them as they are at one time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.store.errors import InvalidOption, NotAnOperation, NotBatchable, TooMany
from gateleg.store.flow import Request
from gateleg.store.operations.older_items import migrate_to_current_key
from gateleg.store.operations.operation import ItemKey, Operation, batch_get_flow, batch_write_flow, item_key
from gateleg.store.operations.reads import ListReader, read_item, read_older, read_refs, shown_item
from gateleg.store.operations.transaction_flow import OPERATIONS_LIMIT, transaction_flow
from gateleg.store.operations.write_operation import Delete, Put, reread
from gateleg.store.setup import retry_conflicts
from gateleg.store.sizes import check_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateleg.model import Item
    from gateleg.model.keys import KeyPlan
    from gateleg.model.planning import Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup

__all__ = ["BatchGet", "BatchWrite", "Transact", "TransactGet", "batch_get_flow", "batch_write_flow"]

E = TypeVar("E", bound=BaseModel)


def batch_get(refs: Sequence[Ref[E]], /, *, consistent: bool = False) -> Operation[list[E | None]]:
    """Read any number of items, also of several tables.

    Returns them in the order of the references, with None for each item that does not exist. Items that cannot be decoded are None too;
    they are listed in `unreadable` of the result. Raises `Throttled` if the service does not process all keys after many retries.
    """
    return BatchGet(tuple(_listed(refs, Ref, "batch_get", "references, such as Book.key(isbn=...)")), consistent)


def batch_write(
    puts: Sequence[BaseModel] = (), /, *, deletes: Sequence[Ref[Any] | BaseModel] = (), check_version: bool = True
) -> Operation[int]:
    """Put and delete any number of items, also of several tables, but not atomically. Returns their number.

    Batches have no conditions. So entities with a version need `check_version=False`, and entities with unique constraints or counters
    cannot be written; they raise `NotBatchable`. Raises `Throttled` if the service does not process all items after many retries.
    """
    items = _listed(puts, BaseModel, "batch_write", "instances")
    writes: list[WriteOperation[Any]] = [Put(instance, check_version=check_version) for instance in items]
    gone = _listed(deletes, Ref | BaseModel, "batch_write(deletes=...)", "references or instances")
    writes += [Delete(target, check_version=check_version) for target in gone]
    return BatchWrite(tuple(writes))


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
class BatchGet(Operation[list[Any]]):
    """Read many items by key."""

    refs: tuple[Ref[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """Requests of 100 keys, and further ones for legacy keys and for items that upcasters need."""
        reader = ListReader(setup)
        results = yield from read_refs(self.refs, reader, self.consistent)
        return reader.results(results)

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions of all items."""
        for ref in self.refs:
            yield ref.entity, spec_of(ref.entity).key, ref.values


@dataclass(frozen=True, slots=True)
class BatchWrite(Operation[int]):
    """Write many puts and deletes, without conditions."""

    operations: tuple[WriteOperation[Any], ...]

    def flow(self, setup: Setup) -> Flow[int]:
        """Requests of 25 writes. If an item is written twice, the last write wins."""
        now = setup.now()
        entries: dict[ItemKey, dict[str, Any]] = {}
        placed = [operation for operation in self.operations if spec_of(operation.entity).key.writes_legacy]
        for operation in self.operations:
            write = operation.write(now, batched=True) if isinstance(operation, Put) else operation.write(now)
            _check_batchable(operation, write)
            if operation in placed:
                continue
            if write.kind == "Put":
                item = write.parameters["Item"]
                check_size(item, operation.entity.__name__)
                key, entry = {name: item[name] for name in write.table.attributes}, {"PutRequest": {"Item": item}}
            else:
                key, entry = write.parameters["Key"], {"DeleteRequest": {"Key": write.parameters["Key"]}}
            entries[item_key(setup.name_of(write.table), key)] = entry
        older = [operation.ref for operation in self.operations if spec_of(operation.entity).key.legacy and operation not in placed]
        return self._write(entries, older, placed, setup)

    def _write(
        self, entries: dict[ItemKey, dict[str, Any]], older: list[Ref[Any]], placed: Sequence[WriteOperation[Any]], setup: Setup
    ) -> Flow[int]:
        for ref in older:
            yield from migrate_to_current_key(ref, setup)
        for operation in placed:
            # Only a transaction can check that the item is not moved meanwhile.
            yield from operation.flow(setup)
        return len(placed) + (yield from batch_write_flow(entries, setup, "batch_write"))

    def partitions(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """The partitions of all operations."""
        for operation in self.operations:
            yield from operation.partitions()


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


def _check_batchable(operation: WriteOperation[Any], write: Write[Any]) -> None:
    """Raise `NotBatchable` for a write that needs a condition or further writes."""
    spec = spec_of(operation.entity)
    verb, name = operation.verb, spec.name
    if spec.counted and verb == "put":
        counted = ", ".join(sorted(spec.counted))
        raise NotBatchable(
            f"{name}.{verb}: a batch would overwrite the counted attributes of {name} ({counted}).",
            fix=f"Use create, put or patch for {name}, one by one or in a transaction.",
        )
    if not write.alone:
        raise NotBatchable(f"{name}.{verb}: {name} has unique constraints or counters, which need a transaction.")
    if write.kind not in ("Put", "Delete"):
        raise NotBatchable(f"{name}.{verb}: batches can only put and delete whole items.")
    if "ConditionExpression" not in write.parameters:
        return
    if spec.version is not None and isinstance(operation, Put | Delete) and operation.check_version and operation.condition is None:
        raise NotBatchable(
            f"{name}.{verb}: {name} has a version ({spec.version.name}), which a batch cannot check.",
            fix=f"Pass check_version=False to overwrite without a check, or use {verb} for each item, or a transaction.",
        )
    raise NotBatchable(f"{name}.{verb} has a condition, which a batch cannot check.")


def _listed(argument: Any, kind: Any, verb: str, noun: str) -> Sequence[Any]:
    """The elements of a list, which must be of one kind."""
    if isinstance(argument, Ref | BaseModel | type | str):
        raise InvalidOption(f"{verb} takes a list of {noun}, and was given a single {_named(argument)}.", fix="Write [...] around it.")
    elements = list(argument)
    for element in elements:
        if not isinstance(element, kind):
            raise InvalidOption(f"{verb} takes a list of {noun}, and was given {_named(element)}.", fix="Correct that element.")
    return elements


def _named(argument: object) -> str:
    if isinstance(argument, type):
        return f"class, {argument.__name__}"
    return type(argument).__name__


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
