"""Batches: many keys or items in concurrent requests of 100 or 25; unprocessed ones are retried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.net import is_throttled
from gateleg.store.errors import NotBatchable, Throttled
from gateleg.store.flow import Pause, Request, Together
from gateleg.store.operations.legacy_keys import migrate_to_current_key, read_older
from gateleg.store.operations.operation import Operation
from gateleg.store.operations.transaction_entries import Identity, identity
from gateleg.store.operations.unreadable import ListReader, shown_item
from gateleg.store.operations.write_kinds import Delete, Put
from gateleg.store.sizes import check_size
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gateleg.model import Item, Table
    from gateleg.model.keys.plans import KeyPlan
    from gateleg.model.planning import Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.rates import Rate
    from gateleg.store.setup import Setup

__all__ = ["BatchGet", "BatchWrite", "batch_get_flow", "batch_write_flow"]

E = TypeVar("E", bound=BaseModel)
GET_LIMIT = 100
WRITE_LIMIT = 25


def rounds(
    work: dict[Identity, Any],
    size: int,
    ask: Callable[[dict[Identity, Any]], Request],
    read: Callable[[dict[str, Any]], list[Identity]],
    setup: Setup,
    rate: Rate | None = None,
) -> Flow[None]:
    """Do all work in requests of `size`, as many at once as the setup allows, until nothing is left.

    `ask` makes the request of a chunk; `read` takes its answer and says what is left undone. What is left waits for the next round, and a
    round after one that left something waits with full jitter.
    """
    delays, pending, number = setup.delays(), dict(work), 0
    while pending:
        places = list(pending)
        left: dict[Identity, Any] = {}
        for first in range(0, len(places), size * setup.concurrency):
            chunks = [
                {place: pending[place] for place in places[start : start + size]}
                for start in range(first, min(first + size * setup.concurrency, len(places)), size)
            ]
            requests = [replace(ask(chunk), retries=number) for chunk in chunks]
            for chunk, reply in zip(chunks, (yield Together(requests)), strict=True):
                if isinstance(reply, ServiceError) and is_throttled(reply.code, reply.status):
                    left |= chunk
                elif isinstance(reply, Exception):
                    raise reply
                else:
                    left |= {place: chunk[place] for place in read(reply)}
                    if rate is not None:
                        yield from rate.charge(reply)
        if left:
            delay = next(delays, None)
            if delay is None:
                raise Throttled(f"{len(left)} of {len(work)} items of the batch were not done.", unprocessed=len(left))
            yield Pause(delay)
        if len(left) < len(pending):
            # It moves: only standing still uses up the tries.
            delays = setup.delays()
        pending, number = left, number + 1


def batch_get_flow(keys: Sequence[tuple[Table, Item]], setup: Setup, consistent: bool, pattern: str) -> Flow[list[Item | None]]:
    """The items of some keys, in their order; None where there is none. Keys may repeat."""
    wanted = [identity(setup.name_of(table), key) for table, key in keys]
    attributes = {setup.name_of(table): table.attributes for table, _ in keys}
    found: dict[Identity, Item] = {}

    def ask(chunk: dict[Identity, Item]) -> Request:
        tables: dict[str, dict[str, Any]] = {}
        for (name, _), key in chunk.items():
            tables.setdefault(name, {"ConsistentRead": True, "Keys": []} if consistent else {"Keys": []})["Keys"].append(key)
        return Request("BatchGetItem", {"RequestItems": tables}, pattern)

    def read(reply: dict[str, Any]) -> list[Identity]:
        for name, items in reply.get("Responses", {}).items():
            found.update({identity(name, {part: item[part] for part in attributes[name]}): item for item in items})
        return [identity(name, key) for name, entry in reply.get("UnprocessedKeys", {}).items() for key in entry["Keys"]]

    yield from rounds(dict(zip(wanted, (key for _, key in keys), strict=True)), GET_LIMIT, ask, read, setup)
    return [found.get(place) for place in wanted]


def batch_write_flow(entries: dict[Identity, dict[str, Any]], setup: Setup, pattern: str, rate: Rate | None = None) -> Flow[int]:
    """Carry out PutRequests and DeleteRequests; the result is their number."""
    attributes: dict[str, tuple[str, ...]] = {}
    for name, parts in entries:
        attributes[name] = tuple(part[0] for part in parts)

    def ask(chunk: dict[Identity, dict[str, Any]]) -> Request:
        tables: dict[str, list[dict[str, Any]]] = {}
        for (name, _), entry in chunk.items():
            tables.setdefault(name, []).append(entry)
        payload: dict[str, Any] = {"RequestItems": tables}
        if rate is not None:
            payload["ReturnConsumedCapacity"] = "TOTAL"
        return Request("BatchWriteItem", payload, pattern)

    def read(reply: dict[str, Any]) -> list[Identity]:
        return [
            identity(name, _entry_key(entry, attributes[name]))
            for name, undone in reply.get("UnprocessedItems", {}).items()
            for entry in undone
        ]

    yield from rounds(entries, WRITE_LIMIT, ask, read, setup, rate)
    return len(entries)


def _entry_key(entry: dict[str, Any], attributes: tuple[str, ...]) -> Item:
    item = entry["DeleteRequest"]["Key"] if "DeleteRequest" in entry else entry["PutRequest"]["Item"]
    return {name: item[name] for name in attributes}


@dataclass(frozen=True, slots=True)
class BatchGet(Operation[list[Any]]):
    """Many items by their keys."""

    refs: tuple[Ref[Any], ...]
    consistent: bool = False

    def flow(self, setup: Setup) -> Flow[list[Any]]:
        """Requests of 100; for what was not found, once more with older keys; and for what was not there either, with the present ones."""
        keys = [(spec_of(ref.entity).table, ref.key) for ref in self.refs]
        items = yield from batch_get_flow(keys, setup, self.consistent, "batch_get")
        reader = ListReader(setup)
        results = [reader.one(spec_of(ref.entity), item) for ref, item in zip(self.refs, items, strict=True)]
        older = [
            (number, key)
            for number, ref in enumerate(self.refs)
            if results[number] is None and spec_of(ref.entity).key.legacy
            for key in ref.legacy()
        ]
        if older:
            found = yield from batch_get_flow(
                [(spec_of(self.refs[number].entity).table, key) for number, key in older], setup, self.consistent, "batch_get"
            )
            for (number, _), item in zip(older, found, strict=True):
                if item is not None and results[number] is None and shown_item(item, self.refs[number].entity, setup) is not None:
                    results[number] = read_older(item, self.refs[number])
        # Somebody may have moved an item to its present key since that was looked at; it does not move back.
        moved = [number for number in dict(older) if results[number] is None]
        if moved:
            again = yield from batch_get_flow([keys[number] for number in moved], setup, self.consistent, "batch_get")
            for number, item in zip(moved, again, strict=True):
                results[number] = reader.one(spec_of(self.refs[number].entity), item)
        return reader.results(results)

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all items."""
        for ref in self.refs:
            yield ref.entity, spec_of(ref.entity).key, ref.values


@dataclass(frozen=True, slots=True)
class BatchWrite(Operation[int]):
    """Many puts and deletes, without conditions."""

    operations: tuple[WriteOperation[Any], ...]

    def flow(self, setup: Setup) -> Flow[int]:
        """Requests of 25. When an item is written twice, the last write counts."""
        now = setup.now()
        entries: dict[Identity, dict[str, Any]] = {}
        for operation in self.operations:
            write = operation.write(now)
            _check_batchable(operation, write)
            if write.kind == "Put":
                item = write.parameters["Item"]
                check_size(item, operation.entity.__name__)
                key, entry = {name: item[name] for name in write.table.attributes}, {"PutRequest": {"Item": item}}
            else:
                key, entry = write.parameters["Key"], {"DeleteRequest": {"Key": write.parameters["Key"]}}
            entries[identity(setup.name_of(write.table), key)] = entry
        older = [operation.ref for operation in self.operations if spec_of(operation.entity).key.legacy]
        return self._write(entries, older, setup)

    def _write(self, entries: dict[Identity, dict[str, Any]], older: list[Ref[Any]], setup: Setup) -> Flow[int]:
        for ref in older:
            yield from migrate_to_current_key(ref, setup)
        return (yield from batch_write_flow(entries, setup, "batch_write"))

    def places(self) -> Iterator[tuple[type[BaseModel], KeyPlan, Mapping[str, Any]]]:
        """Those of all operations."""
        for operation in self.operations:
            yield from operation.places()


def _check_batchable(operation: WriteOperation[Any], write: Write[Any]) -> None:
    """Refuse a write that needs a condition or further writes, and say which."""
    spec = spec_of(operation.entity)
    verb, name = operation.verb, spec.name
    if spec.counted and verb == "put":
        counted = ", ".join(sorted(spec.counted))
        raise NotBatchable(
            f"{name}.{verb}: a batch would write over the counted attributes of {name} ({counted}).",
            fix=f"Use create, put or patch for {name}, one by one or in a transaction.",
        )
    if not write.alone:
        raise NotBatchable(f"{name}.{verb}: {name} has unique constraints or counters, which are kept right by a transaction.")
    if write.kind not in ("Put", "Delete"):
        raise NotBatchable(f"{name}.{verb}: batches only put and delete whole items.")
    if "ConditionExpression" not in write.parameters:
        return
    if spec.version is not None and isinstance(operation, Put | Delete) and operation.check_version and operation.condition is None:
        raise NotBatchable(
            f"{name}.{verb}: {name} has a version ({spec.version.name}), which a batch cannot check.",
            fix="Pass check_version=False to write over whatever is there, or use the single verb or a transaction.",
        )
    raise NotBatchable(f"{name}.{verb} has a condition, which a batch cannot check.")


def batch_get(refs: Sequence[Ref[E]], /, *, consistent: bool = False) -> Operation[list[E | None]]:
    """Any number of items, also of several tables, in the order of their references; None where there is none."""
    return BatchGet(tuple(refs), consistent)


def batch_write(
    puts: Sequence[BaseModel] = (), /, *, deletes: Sequence[Ref[Any] | BaseModel] = (), check_version: bool = True
) -> Operation[int]:
    """Any number of puts and deletes, also of several tables, not atomically; the result is their number.

    Batches have no conditions: items with a version are refused unless `check_version=False`, those with unique constraints or counters
    always.
    """
    writes: list[WriteOperation[Any]] = [Put(instance, check_version=check_version) for instance in puts]
    writes += [Delete(target, check_version=check_version) for target in deletes]
    return BatchWrite(tuple(writes))
