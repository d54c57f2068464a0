"""Batches: reads and writes of many items in concurrent requests of 100 or 25; unprocessed items are retried.

Loaders combine reads of single items into batches, and cache them. Create one for each request of a user: caches must be short-lived.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from gateleg.model import Ref, spec_of
from gateleg.model.keys import Presets
from gateleg.store.errors import InvalidOption, NotBatchable
from gateleg.store.operations.entity_reads import GET_LIMIT, ListReader, batch_get_flow, batch_write_flow, read_refs
from gateleg.store.operations.legacy_keys import migrate_to_current_key
from gateleg.store.operations.operation import Identity, Operation, identity, locate
from gateleg.store.operations.write_operation import Delete, Put
from gateleg.store.transports import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    from gateleg.model import Condition
    from gateleg.model.keys import KeyPlan
    from gateleg.model.planning import Write
    from gateleg.store.flow import Flow
    from gateleg.store.operations.write_operation import WriteOperation
    from gateleg.store.setup import Setup, Unreadable

__all__ = ["BatchGet", "BatchWrite", "batch_get_flow", "batch_write_flow"]

E = TypeVar("E", bound=BaseModel)


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
        entries: dict[Identity, dict[str, Any]] = {}
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
            entries[identity(setup.name_of(write.table), key)] = entry
        older = [operation.ref for operation in self.operations if spec_of(operation.entity).key.legacy and operation not in placed]
        return self._write(entries, older, placed, setup)

    def _write(
        self, entries: dict[Identity, dict[str, Any]], older: list[Ref[Any]], placed: Sequence[WriteOperation[Any]], setup: Setup
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


def _listed(given: Any, kind: Any, verb: str, wanted: str) -> Sequence[Any]:
    """The elements of a list, which must be of one kind."""
    if isinstance(given, Ref | BaseModel | type | str):
        raise InvalidOption(f"{verb} takes a list of {wanted}, and was given a single {_named(given)}.", fix="Write [...] around it.")
    elements = list(given)
    for element in elements:
        if not isinstance(element, kind):
            raise InvalidOption(f"{verb} takes a list of {wanted}, and was given {_named(element)}.", fix="Correct that element.")
    return elements


def _named(given: object) -> str:
    if isinstance(given, type):
        return f"class, {given.__name__}"
    return type(given).__name__


class _Keys(Generic[E]):
    """References, cache keys and read operations of a loader."""

    def __init__(self, entity: type[E], setup: Setup, consistent: bool) -> None:
        self._entity = entity
        self._setup = setup
        self._consistent = consistent
        self._table = setup.name_of(spec_of(entity).table)

    def ref(self, conditions: tuple[Condition, ...], components: dict[str, Any]) -> Ref[E]:
        """The reference for a caller's arguments, completed with the components of the scope."""
        scope = self._setup.scope
        presets: tuple[Any, ...] = () if scope is None else (Presets(scope.values),)
        return locate(self._entity, (*conditions, *presets), components)

    def place(self, ref: Ref[E]) -> Identity:
        """The cache key of a reference."""
        return identity(self._table, ref.key)

    def operation(self, refs: Sequence[Ref[E]]) -> Operation[list[E | None]]:
        """The operation that reads the items of references."""
        return BatchGet(tuple(refs), self._consistent)


class Loader(Generic[E]):
    """Reads items of one entity by key, in batches, and caches them: `store.loader(Agent).load_many([Agent.key(...), ...])`."""

    def __init__(self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Any], consistent: bool = False) -> None:
        self._keys = _Keys(entity, setup, consistent)
        self._run = run
        self._cache: dict[Identity, E | None] = {}
        self._unreadable: dict[Identity, Unreadable] = {}

    def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._keys.ref(key, components)
        found = self.load_many([ref])[0]
        bad = self._unreadable.get(self._keys.place(ref))
        if bad is not None:
            raise bad.error
        return found

    def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        places = [self._keys.place(ref) for ref in refs]
        wanted = {place: ref for place, ref in zip(places, refs, strict=True) if place not in self._cache}
        if wanted:
            found = self._run(self._keys.operation(list(wanted.values())))
            self._cache |= dict(zip(wanted, found, strict=True))
            self._unreadable |= {self._keys.place(bad.ref): bad for bad in found.unreadable}
        return [self._cache[place] for place in places]

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        place = self._keys.place(spec_of(type(instance)).ref(instance))
        self._cache[place] = instance
        self._unreadable.pop(place, None)

    def clear(self) -> None:
        """Empty the cache."""
        self._cache.clear()
        self._unreadable.clear()


class AsyncLoader(Generic[E]):
    """Reads items of one entity by key and caches them. Items requested in the same iteration of the event loop are read in one batch."""

    def __init__(
        self, entity: type[E], setup: Setup, run: Callable[[Operation[Any]], Coroutine[Any, Any, Any]], consistent: bool = False
    ) -> None:
        self._keys = _Keys(entity, setup, consistent)
        self._run = run
        self._cache: dict[Identity, asyncio.Future[E | None]] = {}
        self._waiting: dict[Identity, Ref[E]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable: dict[Identity, Unreadable] = {}

    async def load(self, *key: Condition[E], **components: Any) -> E | None:
        """Read one item by its key components; None if it does not exist. Raises `DecodeError` if the item cannot be decoded."""
        ref = self._keys.ref(key, components)
        found = await self._future(ref)
        bad = self._unreadable.get(self._keys.place(ref))
        if bad is not None:
            raise bad.error
        return found

    async def load_many(self, refs: Sequence[Ref[E]]) -> list[E | None]:
        """Read several items, in the order of the references, with None for each item that does not exist or cannot be decoded."""
        return list(await asyncio.gather(*[self._future(ref) for ref in refs]))

    def prime(self, instance: E) -> None:
        """Add an instance to the cache, such as one that was just written."""
        future: asyncio.Future[E | None] = asyncio.get_running_loop().create_future()
        future.set_result(instance)
        place = self._keys.place(spec_of(type(instance)).ref(instance))
        self._cache[place] = future
        self._unreadable.pop(place, None)

    def clear(self) -> None:
        """Empty the cache; reads in progress continue."""
        self._cache = {place: future for place, future in self._cache.items() if not future.done()}
        self._unreadable.clear()

    def _future(self, ref: Ref[E]) -> asyncio.Future[E | None]:
        place = self._keys.place(ref)
        future = self._cache.get(place)
        if future is None:
            loop = asyncio.get_running_loop()
            future = self._cache[place] = loop.create_future()
            self._waiting[place] = ref
            if len(self._waiting) == 1:
                # Requests until the next iteration of the event loop join this batch.
                loop.call_soon(self._dispatch)
        # Shielded, so that cancelling one caller does not cancel the read for others.
        return asyncio.shield(future)

    def _dispatch(self) -> None:
        waiting, self._waiting = list(self._waiting.items()), {}
        for start in range(0, len(waiting), GET_LIMIT):
            task = asyncio.get_running_loop().create_task(self._load(dict(waiting[start : start + GET_LIMIT])))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _load(self, batch: dict[Identity, Ref[E]]) -> None:
        futures = {place: self._cache[place] for place in batch}
        try:
            results = await self._run(self._keys.operation(list(batch.values())))
        except BaseException as error:
            for place, future in futures.items():
                self._cache.pop(place, None)
                if not future.done():
                    future.set_exception(error) if isinstance(error, Exception) else future.cancel()
            if not isinstance(error, Exception):
                raise
            return
        self._unreadable |= {self._keys.place(bad.ref): bad for bad in results.unreadable}
        for future, result in zip(futures.values(), results, strict=True):
            if not future.done():
                future.set_result(result)
