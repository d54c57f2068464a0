"""`Store` and `AsyncStore`: read and write entities.

Their methods are made from the functions that build operations; operations are flows of steps, and a store is the driver that performs
them. What both stores share is in `StoreBase`; the drivers differ only in that one of them awaits (`tests/store/test_drivers.py` compares
them).
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast

from pydantic import BaseModel

from gateleg.model.keys import Presets
from gateleg.store.addresses import concurrency_of, open_async_transport, open_transport
from gateleg.store.blocks import AsyncBatch, AsyncEdit, AsyncHeldLock, AsyncTransaction, Batch, Edit, HeldLock, Transaction
from gateleg.store.error_translation import translated
from gateleg.store.flow import Pause, Request, StreamedItems, Together, request_of
from gateleg.store.loaders import AsyncLoader, Loader
from gateleg.store.locks import acquire
from gateleg.store.observing import ObservedRequest
from gateleg.store.operations import batches, pages, queries, reads, scans, tables, writes
from gateleg.store.operations.operation import check_seconds, locate
from gateleg.store.operations.queries import build_query
from gateleg.store.setup import OperationDeadline, Options, Scope, Setup, refuse_address, setup_from
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.verbs import async_method, async_stream_method, stream_method, sync_method

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from concurrent.futures import ThreadPoolExecutor
    from os import PathLike
    from types import TracebackType

    from gateleg.model import Access, Condition, KeyPart, Query, Ref
    from gateleg.store.flow import Flow, Response, Step
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.setup import OnUnreadable, Rewriter
    from gateleg.store.transports import AsyncTransport, Transport

R = TypeVar("R")
E = TypeVar("E", bound=BaseModel)
A = TypeVar("A")
Op = TypeVar("Op", bound="Operation[Any]")


class StoreBase:
    """What both kinds of stores share: opening, and cheap copies with another scope, timeout or rule, which share the transport."""

    transport: Any
    setup: Setup

    def __init__(self, transport: Any, prefix: str = "", **options: Unpack[Options]) -> None:
        refuse_address(type(self), transport)
        self.transport = transport
        self.setup = setup_from(prefix, options)

    @classmethod
    def embedded(cls, path: str | PathLike[str] = ":memory:", prefix: str = "", **options: Unpack[Options]) -> Self:
        """A store on an embedded engine in this process: in memory, or in a folder or file. `prefix` precedes all table names."""
        return cls.connect(f"embedded:{path}", prefix, **options)

    @classmethod
    def connect(cls, address: str, prefix: str = "", **options: Unpack[Options]) -> Self:
        """The store at an address: `embedded:./data`, `dynamodb:eu-west-1` or `http://host:8001`. `prefix` precedes all table names.

        Raises `BadAddress` for an invalid address, and `CannotOpen` for a file that cannot be opened.
        """
        options.setdefault("concurrency", concurrency_of(address))
        return cls(cls._open(address), prefix, **options)

    @staticmethod
    def _open(address: str) -> Any:
        """The transport to the store at an address."""
        raise NotImplementedError

    def scope(self, part: KeyPart | None = None, /, **components: Any) -> Self:
        """A store that is restricted to a partition: `store.scope(Partition("prod", "acme"))` or `store.scope(project_id=p)`.

        Its methods fill in these components of keys and patterns, and raise `OutOfScope` for anything that touches another partition. A
        scoped store can be restricted further, but not extended.
        """
        return self._with(scope=Scope.of(part, components).within(self.setup.scope))

    def within(self, seconds: float) -> Self:
        """A store with a timeout for each operation, including all its requests and pauses; operations then raise `TimedOut`."""
        return self._with(timeout=check_seconds("within", seconds))

    def reading(self, *, expired: bool | None = None, on_unreadable: OnUnreadable | None = None) -> Self:
        """A store with other rules for reads: `store.reading(expired=True)`, `store.reading(on_unreadable=bad.append)`.

        With `expired=True`, reads include expired items that the service has not yet deleted. `on_unreadable` is what queries, pages,
        collections and batches do with an item that cannot be decoded: leave it out and "warn" in the log, "raise" its error, or leave it
        out and call a function with an `Unreadable`.
        """
        rules: dict[str, Any] = {"expired": expired, "on_unreadable": on_unreadable}
        return self._with(**{name: rule for name, rule in rules.items() if rule is not None})

    def moving(self, moves: Rewriter | None) -> Self:
        """A store for use while a migration moves items: operations on them are rewritten for the phase of the move.

        `moves` comes from `gateleg.migrate.Moving`. A host does this for its applications.
        """
        return self._with(moves=moves)

    def ask(self, pattern: Access[E], /, *conditions: Condition[E], **arguments: Any) -> Query[E]:
        """A pattern's query with the scope's components, to restrict or filter it: `acme.ask(Agent.by_update).filter(...)`."""
        return build_query(pattern, (*conditions, *self._presets()), arguments)

    def ref(self, entity: type[E], /, *key: Condition[E], **components: Any) -> Ref[E]:
        """A reference with the scope's components: `acme.batch_get([acme.ref(Agent, agent_version_uuid=v), ...])`."""
        return locate(entity, (*key, *self._presets()), components)

    def _presets(self) -> tuple[Any, ...]:
        return () if self.setup.scope is None else (Presets(self.setup.scope.values),)

    def _with(self, **changes: Any) -> Self:
        """A copy with changes of the setup."""
        return self._copy(setup=replace(self.setup, **changes))

    def _copy(self, **members: Any) -> Self:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | members
        return other

    def _prepared(self, operation: Op) -> Op:
        """The operation to carry out: checked against the scope, and rewritten for a migration that moves its items."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        return operation if self.setup.moves is None else cast("Op", self.setup.moves.rewrite(operation))

    def _new_deadline(self) -> OperationDeadline | None:
        """The deadline of an operation that begins now."""
        return None if self.setup.timeout is None else OperationDeadline(self.setup)


class Store(StoreBase):
    """Reads and writes entities in DynamoDB.

    Open it with `Store.connect` or `Store.embedded`, and close it with `close` or `with`. Methods such as `get` and `query` have the
    parameters and documentation of the function of the same name in `gateleg.store.operations`. Threads may share a store. `scope`,
    `within` and `using` return cheap copies with other options, which share the transport.
    """

    transport: Transport

    def __init__(
        self, transport: Transport, prefix: str = "", *, sleep: Callable[[float], None] = time.sleep, **options: Unpack[Options]
    ) -> None:
        super().__init__(transport, prefix, **options)
        self._sleep = sleep
        self._pool = ThreadPool()

    @staticmethod
    def _open(address: str) -> Transport:
        return open_transport(address)

    get = sync_method(reads.get)
    find = sync_method(reads.find)
    create = sync_method(writes.create)
    put = sync_method(writes.put)
    patch = sync_method(writes.patch)
    upsert = sync_method(writes.upsert)
    delete = sync_method(writes.delete)
    save = sync_method(writes.save)
    retrying = sync_method(writes.retrying)
    query = stream_method(queries.query)
    page = sync_method(pages.page)
    count = sync_method(queries.count)
    collect = sync_method(pages.collect)
    delete_all = sync_method(scans.delete_all)
    batch_get = sync_method(batches.batch_get)
    batch_write = sync_method(batches.batch_write)
    transact = sync_method(batches.transact)
    transact_get = sync_method(batches.transact_get)
    scan = stream_method(scans.scan)
    export = stream_method(scans.export)
    create_tables = sync_method(tables.create_tables)
    ensure_tables = sync_method(tables.ensure_tables)
    delete_tables = sync_method(tables.delete_tables)
    health = sync_method(tables.health)
    table_states = sync_method(tables.table_states)

    def run(self, operation: Operation[R]) -> R:
        """Execute an operation and return its result."""
        result: R = self.carry_out(self._prepared(operation))
        return result

    def stream(self, operation: Stream[R]) -> Iterator[R]:
        """Iterate over the results of a stream, such as a query or scan."""
        return self.iterate(self._prepared(operation).flow(self.setup))

    def loader(self, entity: type[E], /, *, consistent: bool = False) -> Loader[E]:
        """A loader that reads items of one entity in batches and caches them. Create one for each request of a user."""
        return Loader(entity, self.setup, self.run, consistent)

    def transaction(self, *, token: str | None = None) -> Transaction:
        """A block whose writes are executed atomically at its end: `with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent if the block raises. `tx.results` is then the result of `transact`, which also documents `token` and errors.
        """
        return Transaction(self.setup, self.run, token)

    def batch(self) -> Batch:
        """A block whose puts and deletes are sent at its end, not atomically: `with store.batch() as batch: batch.put(...)`.

        Nothing is sent if the block raises.
        """
        return Batch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> HeldLock:
        """A block that holds a lock: `with store.lock("nightly-export", seconds=60) as lock`.

        Raises `LockHeld` if it has another holder. The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table
        must exist.
        """
        return HeldLock(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> Edit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return Edit(instance, self.run)

    def using(self, transport: Transport) -> Store:
        """A store with the same options but another transport, such as one for another region or other credentials."""
        return self._copy(transport=transport)

    def close(self) -> None:
        """Close the transport, which also closes all stores that share it, such as scopes."""
        self._pool.close()
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def carry_out(self, operation: Operation[Any]) -> Any:
        """Execute an operation that was checked against the scope. A single request is sent without creating a flow."""
        setup = self.setup
        first: Any = operation.start(setup)
        if type(first) is not Request:
            return self.drive(first)
        single: Any = operation
        deadline = None
        try:
            if setup.direct:
                response = self.transport.call(first.operation, first.payload)
            else:
                deadline = self._new_deadline()
                response = self._send(first, deadline)
        except (ServiceError, Unreachable) as error:
            return self._drive(single.refused(first, error, setup), deadline, first)
        result: Any = single.finish(first, response, setup)
        return self._drive(result, deadline, first) if type(result) is GeneratorType else result

    def drive(self, flow: Flow[R]) -> R:
        """Perform the steps of a flow and return its result."""
        return self._drive(flow, self._new_deadline())

    def iterate(self, flow: Flow[Any]) -> Iterator[Any]:
        """Perform the steps of a flow and yield its results."""
        deadline = self._new_deadline()
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, StreamedItems):
                    yield from step.items
                    step = flow.send(None)
                else:
                    response = self._perform(step, deadline)
                    step = flow.throw(response) if isinstance(response, Exception) else flow.send(response)
        except StopIteration:
            return
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    def _drive(self, flow: Flow[R], deadline: OperationDeadline | None, step: Step | None = None) -> R:
        """Perform the steps of a flow; `step` is the last step that was already performed."""
        try:
            step = next(flow)
            while True:
                response = self._perform(step, deadline)
                step = flow.throw(response) if isinstance(response, Exception) else flow.send(response)
        except StopIteration as end:
            result: R = end.value
            return result
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    def _perform(self, step: Step, deadline: OperationDeadline | None) -> Any:
        """Perform a step and return its result. Errors of the service are returned, not raised, so that the flow can handle them."""
        if type(step) is Request:
            try:
                if self.setup.direct:
                    return self.transport.call(step.operation, step.payload)
                return self._send(step, deadline)
            except (ServiceError, Unreachable) as error:
                return error
        if isinstance(step, Together):
            return self._perform_all(step.requests, deadline)
        if isinstance(step, Pause):
            return self._sleep(step.seconds if deadline is None else deadline.pause(step.seconds))
        raise TypeError(f"{step!r} is not a step for this driver")

    def _perform_all(self, requests: list[Request], deadline: OperationDeadline | None) -> list[Any]:
        return self._pool.map(lambda request: self._perform(request, deadline), requests, self.setup.concurrency)

    def _send(self, request: Request, deadline: OperationDeadline | None) -> Response:
        """Send a request that hooks observe or that has a deadline."""
        left = None if deadline is None else deadline.left()
        with ObservedRequest(request, self.setup) as watch:
            return watch.record(self.transport.call(request.operation, watch.payload, timeout=left))


async def _sleep(seconds: float) -> None:
    """`asyncio.sleep`, which is imported where it is used: programs without an event loop do not need it."""
    from asyncio import sleep

    await sleep(seconds)


class AsyncStore(StoreBase):
    """Reads and writes entities in DynamoDB, for asyncio. It has the methods of `Store`, with the same arguments and results, awaited.

    Open it with `AsyncStore.connect` or `AsyncStore.embedded`, and close it with `close` or `async with`. Options are those of `Store`.
    """

    transport: AsyncTransport

    def __init__(
        self,
        transport: AsyncTransport,
        prefix: str = "",
        *,
        sleep: Callable[[float], Awaitable[None]] = _sleep,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(transport, prefix, **options)
        self._sleep = sleep

    @staticmethod
    def _open(address: str) -> AsyncTransport:
        return open_async_transport(address)

    get = async_method(reads.get)
    find = async_method(reads.find)
    create = async_method(writes.create)
    put = async_method(writes.put)
    patch = async_method(writes.patch)
    upsert = async_method(writes.upsert)
    delete = async_method(writes.delete)
    save = async_method(writes.save)
    retrying = async_method(writes.retrying)
    query = async_stream_method(queries.query)
    page = async_method(pages.page)
    count = async_method(queries.count)
    collect = async_method(pages.collect)
    delete_all = async_method(scans.delete_all)
    batch_get = async_method(batches.batch_get)
    batch_write = async_method(batches.batch_write)
    transact = async_method(batches.transact)
    transact_get = async_method(batches.transact_get)
    scan = async_stream_method(scans.scan)
    export = async_stream_method(scans.export)
    create_tables = async_method(tables.create_tables)
    ensure_tables = async_method(tables.ensure_tables)
    delete_tables = async_method(tables.delete_tables)
    health = async_method(tables.health)
    table_states = async_method(tables.table_states)

    async def run(self, operation: Operation[R]) -> R:
        """Execute an operation and return its result."""
        result: R = await self.carry_out(self._prepared(operation))
        return result

    def stream(self, operation: Stream[R]) -> AsyncIterator[R]:
        """Iterate over the results of a stream, such as a query or scan."""
        return self.iterate(self._prepared(operation).flow(self.setup))

    def loader(self, entity: type[E], /, *, consistent: bool = False) -> AsyncLoader[E]:
        """A loader that reads items of one entity in batches and caches them. Create one for each request of a user."""
        return AsyncLoader(entity, self.setup, self.run, consistent)

    def transaction(self, *, token: str | None = None) -> AsyncTransaction:
        """A block whose writes are executed atomically at its end: `async with store.transaction() as tx: tx.patch(...); tx.create(...)`.

        Nothing is sent if the block raises. `tx.results` is then the result of `transact`, which also documents `token` and errors.
        """
        return AsyncTransaction(self.setup, self.run, token)

    def batch(self) -> AsyncBatch:
        """A block whose puts and deletes are sent at its end, not atomically: `async with store.batch() as batch: batch.put(...)`.

        Nothing is sent if the block raises.
        """
        return AsyncBatch(self.setup, self.run)

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> AsyncHeldLock:
        """A block that holds a lock: `async with store.lock("nightly-export", seconds=60) as lock`.

        Raises `LockHeld` if it has another holder. The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table
        must exist.
        """
        return AsyncHeldLock(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> AsyncEdit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `async with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return AsyncEdit(instance, self.run)

    def using(self, transport: AsyncTransport) -> AsyncStore:
        """A store with the same options but another transport, such as one for another region or other credentials."""
        return self._copy(transport=transport)

    async def close(self) -> None:
        """Close the transport, which also closes all stores that share it, such as scopes."""
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def carry_out(self, operation: Operation[Any]) -> Any:
        """Execute an operation that was checked against the scope. A single request is sent without creating a flow."""
        setup = self.setup
        first: Any = operation.start(setup)
        if type(first) is not Request:
            return await self.drive(first)
        single: Any = operation
        deadline = None
        try:
            if setup.direct:
                response = await self.transport.call(first.operation, first.payload)
            else:
                deadline = self._new_deadline()
                response = await self._send(first, deadline)
        except (ServiceError, Unreachable) as error:
            return await self._drive(single.refused(first, error, setup), deadline, first)
        result: Any = single.finish(first, response, setup)
        return await self._drive(result, deadline, first) if type(result) is GeneratorType else result

    async def drive(self, flow: Flow[R]) -> R:
        """Perform the steps of a flow and return its result."""
        return await self._drive(flow, self._new_deadline())

    async def iterate(self, flow: Flow[Any]) -> AsyncIterator[Any]:
        """Perform the steps of a flow and yield its results."""
        deadline = self._new_deadline()
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, StreamedItems):
                    for item in step.items:
                        yield item
                    step = flow.send(None)
                else:
                    response = await self._perform(step, deadline)
                    step = flow.throw(response) if isinstance(response, Exception) else flow.send(response)
        except StopIteration:
            return
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    async def _drive(self, flow: Flow[R], deadline: OperationDeadline | None, step: Step | None = None) -> R:
        """Perform the steps of a flow; `step` is the last step that was already performed."""
        try:
            step = next(flow)
            while True:
                response = await self._perform(step, deadline)
                step = flow.throw(response) if isinstance(response, Exception) else flow.send(response)
        except StopIteration as end:
            result: R = end.value
            return result
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    async def _perform(self, step: Step, deadline: OperationDeadline | None) -> Any:
        """Perform a step and return its result. Errors of the service are returned, not raised, so that the flow can handle them."""
        if type(step) is Request:
            try:
                if self.setup.direct:
                    return await self.transport.call(step.operation, step.payload)
                return await self._send(step, deadline)
            except (ServiceError, Unreachable) as error:
                return error
        if isinstance(step, Together):
            return await self._perform_all(step.requests, deadline)
        if isinstance(step, Pause):
            return await self._sleep(step.seconds if deadline is None else deadline.pause(step.seconds))
        raise TypeError(f"{step!r} is not a step for this driver")

    async def _perform_all(self, requests: list[Request], deadline: OperationDeadline | None) -> list[Any]:
        if len(requests) == 1 or self.setup.concurrency <= 1:
            return [await self._perform(request, deadline) for request in requests]
        from asyncio import gather

        return list(await gather(*[self._perform(request, deadline) for request in requests]))

    async def _send(self, request: Request, deadline: OperationDeadline | None) -> Response:
        """Send a request that hooks observe or that has a deadline."""
        left = None if deadline is None else deadline.left()
        with ObservedRequest(request, self.setup) as watch:
            return watch.record(await self.transport.call(request.operation, watch.payload, timeout=left))


class ThreadPool:
    """A pool of threads that is created at its first use."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, work: Callable[[A], R], entries: Sequence[A], most: int) -> list[R]:
        """Call `work` for each entry, up to `most` at once, and return the results in order. Uses no threads if nothing is concurrent."""
        if most <= 1 or len(entries) <= 1:
            return [work(entry) for entry in entries]
        with self._lock:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(max_workers=most, thread_name_prefix="gateleg-store")
        return list(self._executor.map(work, entries))

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown()
                self._executor = None
