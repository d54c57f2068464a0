"""`Store`: reads and writes entities.

`AsyncStore`: the store for asyncio.

Methods of stores that return changed copies, and `with` blocks: for both kinds of stores, then for sync and async ones.

Threads for concurrent requests of a sync store.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.model.keys import Presets
from gateleg.store.error_translation import translated
from gateleg.store.flow import Pause, Request, StreamedItems, Together, request_of
from gateleg.store.locks import AsyncHeld, Held, acquire
from gateleg.store.observing import ObservedRequest
from gateleg.store.operations import batches, pages, queries, reads, scans, tables, transactions, writes
from gateleg.store.operations.batches import AsyncLoader, Loader
from gateleg.store.operations.operation import check_seconds, locate
from gateleg.store.operations.queries import build_query
from gateleg.store.operations.transactions import AsyncBatch, AsyncTransaction, Batch, Transaction
from gateleg.store.operations.writes import AsyncEdit, Edit
from gateleg.store.setup import OperationDeadline, Options, Scope, Setup, refuse_address, setup_from
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.verbs import async_streams, awaits, runs, streams

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
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


class SharedViews:
    """Methods that both kinds of stores share. Copies with another scope, timeout or rule share the transport."""

    setup: Setup

    def _with(self, setup: Setup) -> Self:
        raise NotImplementedError

    def run(self, operation: Operation[Any]) -> Any:
        """Execute an operation and return its result."""
        raise NotImplementedError

    def scope(self, part: KeyPart | None = None, /, **components: Any) -> Self:
        """A store that is restricted to a partition: `store.scope(Partition("prod", "acme"))` or `store.scope(project_id=p)`.

        Its methods fill in these components of keys and patterns, and raise `OutOfScope` for anything that touches another partition. A
        scoped store can be restricted further, but not extended.
        """
        return self._with(replace(self.setup, scope=Scope.of(part, components).within(self.setup.scope)))

    def within(self, seconds: float) -> Self:
        """A store with a timeout for each operation, including all its requests and pauses; operations then raise `TimedOut`."""
        return self._with(replace(self.setup, timeout=check_seconds("within", seconds)))

    def reading(self, *, expired: bool | None = None, on_unreadable: OnUnreadable | None = None) -> Self:
        """A store with other rules for reads: `store.reading(expired=True)`, `store.reading(on_unreadable=bad.append)`.

        With `expired=True`, reads include expired items that the service has not yet deleted. `on_unreadable` is what queries, pages,
        collections and batches do with an item that cannot be decoded: leave it out and "warn" in the log, "raise" its error, or leave it
        out and call a function with an `Unreadable`.
        """
        rules: dict[str, Any] = {"expired": expired, "on_unreadable": on_unreadable}
        return self._with(replace(self.setup, **{name: rule for name, rule in rules.items() if rule is not None}))

    def moving(self, moves: Rewriter | None) -> Self:
        """A store for use while a migration moves items: operations on them are rewritten for the phase of the move.

        `moves` comes from `gateleg.migrate.Moving`. A host does this for its applications.
        """
        return self._with(replace(self.setup, moves=moves))

    def ask(self, pattern: Access[E], /, *conditions: Condition[E], **arguments: Any) -> Query[E]:
        """A pattern's query with the scope's components, to restrict or filter it: `acme.ask(Agent.by_update).filter(...)`."""
        return build_query(pattern, (*conditions, *self._presets()), arguments)

    def ref(self, entity: type[E], /, *key: Condition[E], **components: Any) -> Ref[E]:
        """A reference with the scope's components: `acme.batch_get([acme.ref(Agent, agent_version_uuid=v), ...])`."""
        return locate(entity, (*key, *self._presets()), components)

    def _presets(self) -> tuple[Any, ...]:
        return () if self.setup.scope is None else (Presets(self.setup.scope.values),)


class Views(SharedViews):
    """The `with` blocks of a `Store`."""

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

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> Held:
        """A block that holds a lock: `with store.lock("nightly-export", seconds=60) as lock`. Raises `LockHeld` if it has another holder.

        The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table must exist.
        """
        return Held(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> Edit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return Edit(instance, self.run)


class AsyncViews(SharedViews):
    """The `async with` blocks of an `AsyncStore`."""

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

    def lock(self, name: str, /, *, seconds: float, holder: str | None = None) -> AsyncHeld:
        """A block that holds a lock: `async with store.lock("nightly-export", seconds=60) as lock`. Raises `LockHeld`.

        The lock expires after `seconds` unless renewed: see `gateleg.store.locks`, whose table must exist.
        """
        return AsyncHeld(acquire(name, seconds=seconds, holder=holder), self.run)

    def edit(self, instance: E, /) -> AsyncEdit[E]:
        """A block with a copy of an instance, whose changes are saved at its end: `async with store.edit(job) as job: job.priority = 90`.

        After the block, the copy has the stored values, including the new version and stamps. Nothing is sent if the block raises or if
        nothing changed. Raises the errors of `patch`, such as `LostRace`.
        """
        return AsyncEdit(instance, self.run)


class Store(Views):
    """Reads and writes entities in DynamoDB.

    Open it with `Store.connect` or `Store.embedded`, and close it with `close` or `with`. Methods such as `get` and `query` have the
    parameters and documentation of the function of the same name in `gateleg.store.operations`. Threads may share a store. `scope`,
    `within` and `using` return cheap copies with other options, which share the transport.
    """

    def __init__(
        self, transport: Transport, prefix: str = "", *, sleep: Callable[[float], None] = time.sleep, **options: Unpack[Options]
    ) -> None:
        refuse_address(type(self), transport)
        self.transport = transport
        self.setup = setup_from(prefix, options)
        self._sleep = sleep
        self._pool = ThreadPool()

    @classmethod
    def embedded(cls, path: str | PathLike[str] = ":memory:", prefix: str = "", **options: Unpack[Options]) -> Store:
        """A store on an embedded engine in this process: in memory, or in a folder or file. `prefix` precedes all table names."""
        return cls.connect(f"embedded:{path}", prefix, **options)

    @classmethod
    def connect(cls, address: str, prefix: str = "", **options: Unpack[Options]) -> Store:
        """The store at an address: `embedded:./data`, `dynamodb:eu-west-1` or `http://host:8001`. `prefix` precedes all table names.

        Raises `BadAddress` for an invalid address, and `CannotOpen` for a file that cannot be opened.
        """
        from gateleg.store.addresses import concurrency_of, open_transport

        options.setdefault("concurrency", concurrency_of(address))
        return cls(open_transport(address), prefix, **options)

    get = runs(reads.get)
    find = runs(reads.find)
    create = runs(writes.create)
    put = runs(writes.put)
    patch = runs(writes.patch)
    upsert = runs(writes.upsert)
    delete = runs(writes.delete)
    save = runs(writes.save)
    retrying = runs(writes.retrying)
    query = streams(queries.query)
    page = runs(pages.page)
    count = runs(queries.count)
    collect = runs(pages.collect)
    delete_all = runs(scans.delete_all)
    batch_get = runs(batches.batch_get)
    batch_write = runs(batches.batch_write)
    transact = runs(transactions.transact)
    transact_get = runs(transactions.transact_get)
    scan = streams(scans.scan)
    export = streams(scans.export)
    create_tables = runs(tables.create_tables)
    ensure_tables = runs(tables.ensure_tables)
    delete_tables = runs(tables.delete_tables)
    health = runs(tables.health)
    table_states = runs(tables.table_states)

    def run(self, operation: Operation[R]) -> R:
        """Execute an operation and return its result."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        result: R = self.carry_out(operation)
        return result

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
                deadline = None if setup.timeout is None else OperationDeadline(setup)
                response = self._send(first, deadline)
        except (ServiceError, Unreachable) as error:
            return self._drive(single.refused(first, error, setup), deadline, first)
        result: Any = single.finish(first, response, setup)
        return self._drive(result, deadline, first) if type(result) is GeneratorType else result

    def stream(self, operation: Stream[R]) -> Iterator[R]:
        """Iterate over the results of a stream, such as a query or scan."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        return self.iterate(operation.flow(self.setup))

    def loader(self, entity: type[E], /, *, consistent: bool = False) -> Loader[E]:
        """A loader that reads items of one entity in batches and caches them. Create one for each request of a user."""
        return Loader(entity, self.setup, self.run, consistent)

    def using(self, transport: Transport) -> Store:
        """A store with the same options but another transport, such as one for another region or other credentials."""
        return self._copy(transport, self.setup)

    def _with(self, setup: Setup) -> Self:
        return self._copy(self.transport, setup)

    def _copy(self, transport: Transport, setup: Setup) -> Self:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"transport": transport, "setup": setup}
        return other

    def drive(self, flow: Flow[R]) -> R:
        """Perform the steps of a flow and return its result."""
        return self._drive(flow, None if self.setup.timeout is None else OperationDeadline(self.setup))

    def _drive(self, flow: Flow[R], deadline: OperationDeadline | None, step: Step | None = None) -> R:
        """Perform the steps of a flow; `step` is the last step that was already performed."""
        try:
            step = next(flow)
            while True:
                step = self._advance(flow, step, deadline)
        except StopIteration as end:
            result: R = end.value
            return result
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    def iterate(self, flow: Flow[Any]) -> Iterator[Any]:
        """Perform the steps of a flow and yield its results."""
        deadline = None if self.setup.timeout is None else OperationDeadline(self.setup)
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, StreamedItems):
                    yield from step.items
                    step = flow.send(None)
                else:
                    step = self._advance(flow, step, deadline)
        except StopIteration:
            return
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    def _advance(self, flow: Flow[Any], step: Step, deadline: OperationDeadline | None) -> Step:
        """Perform a step, send its result to the flow, and return the next step."""
        try:
            if type(step) is Request and self.setup.direct:
                response = self.transport.call(step.operation, step.payload)
            else:
                response = self._perform(step, deadline)
        except (ServiceError, Unreachable) as error:
            return flow.throw(error)
        return flow.send(response)

    def _perform(self, step: Step, deadline: OperationDeadline | None) -> Any:
        if isinstance(step, Request):
            return self._send(step, deadline)
        if isinstance(step, Together):
            return self._pool.map(lambda request: self._attempt(request, deadline), step.requests, self.setup.concurrency)
        if isinstance(step, Pause):
            return self._sleep(step.seconds if deadline is None else deadline.pause(step.seconds))
        raise TypeError(f"{step!r} is not a step for this driver")

    def _attempt(self, request: Request, deadline: OperationDeadline | None) -> Response | Exception:
        try:
            return self._send(request, deadline)
        except (ServiceError, Unreachable) as error:
            return error

    def _send(self, request: Request, deadline: OperationDeadline | None) -> Response:
        if self.setup.direct:
            return self.transport.call(request.operation, request.payload)
        left = None if deadline is None else deadline.left()
        with ObservedRequest(request, self.setup) as watch:
            return watch.record(self.transport.call(request.operation, watch.payload, timeout=left))

    def close(self) -> None:
        """Close the transport, which also closes all stores that share it, such as scopes."""
        self._pool.close()
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncStore(AsyncViews):
    """Reads and writes entities in DynamoDB, for asyncio. It has the methods of `Store`, with the same arguments and results, awaited.

    Open it with `AsyncStore.connect` or `AsyncStore.embedded`, and close it with `close` or `async with`. Options are those of `Store`.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        prefix: str = "",
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        **options: Unpack[Options],
    ) -> None:
        refuse_address(type(self), transport)
        self.transport = transport
        self.setup = setup_from(prefix, options)
        self._sleep = sleep

    @classmethod
    def embedded(cls, path: str | PathLike[str] = ":memory:", prefix: str = "", **options: Unpack[Options]) -> AsyncStore:
        """A store on an embedded engine in this process: in memory, or in a folder or file. `prefix` precedes all table names."""
        return cls.connect(f"embedded:{path}", prefix, **options)

    @classmethod
    def connect(cls, address: str, prefix: str = "", **options: Unpack[Options]) -> AsyncStore:
        """The store at an address: `embedded:./data`, `dynamodb:eu-west-1` or `http://host:8001`. `prefix` precedes all table names.

        Raises `BadAddress` for an invalid address, and `CannotOpen` for a file that cannot be opened.
        """
        from gateleg.store.addresses import concurrency_of, open_async_transport

        options.setdefault("concurrency", concurrency_of(address))
        return cls(open_async_transport(address), prefix, **options)

    get = awaits(reads.get)
    find = awaits(reads.find)
    create = awaits(writes.create)
    put = awaits(writes.put)
    patch = awaits(writes.patch)
    upsert = awaits(writes.upsert)
    delete = awaits(writes.delete)
    save = awaits(writes.save)
    retrying = awaits(writes.retrying)
    query = async_streams(queries.query)
    page = awaits(pages.page)
    count = awaits(queries.count)
    collect = awaits(pages.collect)
    delete_all = awaits(scans.delete_all)
    batch_get = awaits(batches.batch_get)
    batch_write = awaits(batches.batch_write)
    transact = awaits(transactions.transact)
    transact_get = awaits(transactions.transact_get)
    scan = async_streams(scans.scan)
    export = async_streams(scans.export)
    create_tables = awaits(tables.create_tables)
    ensure_tables = awaits(tables.ensure_tables)
    delete_tables = awaits(tables.delete_tables)
    health = awaits(tables.health)
    table_states = awaits(tables.table_states)

    async def run(self, operation: Operation[R]) -> R:
        """Execute an operation and return its result."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        result: R = await self.carry_out(operation)
        return result

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
                deadline = None if setup.timeout is None else OperationDeadline(setup)
                response = await self._send(first, deadline)
        except (ServiceError, Unreachable) as error:
            return await self._drive(single.refused(first, error, setup), deadline, first)
        result: Any = single.finish(first, response, setup)
        return await self._drive(result, deadline, first) if type(result) is GeneratorType else result

    def stream(self, operation: Stream[R]) -> AsyncIterator[R]:
        """Iterate over the results of a stream, such as a query or scan."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        return self.iterate(operation.flow(self.setup))

    def loader(self, entity: type[E], /, *, consistent: bool = False) -> AsyncLoader[E]:
        """A loader that reads items of one entity in batches and caches them. Create one for each request of a user."""
        return AsyncLoader(entity, self.setup, self.run, consistent)

    def using(self, transport: AsyncTransport) -> AsyncStore:
        """A store with the same options but another transport, such as one for another region or other credentials."""
        return self._copy(transport, self.setup)

    def _with(self, setup: Setup) -> Self:
        return self._copy(self.transport, setup)

    def _copy(self, transport: AsyncTransport, setup: Setup) -> Self:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"transport": transport, "setup": setup}
        return other

    async def drive(self, flow: Flow[R]) -> R:
        """Perform the steps of a flow and return its result."""
        return await self._drive(flow, None if self.setup.timeout is None else OperationDeadline(self.setup))

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

    async def iterate(self, flow: Flow[Any]) -> AsyncIterator[Any]:
        """Perform the steps of a flow and yield its results."""
        deadline = None if self.setup.timeout is None else OperationDeadline(self.setup)
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

    async def _perform(self, step: Step, deadline: OperationDeadline | None) -> Any:
        """Perform a step and return its result. Errors of the service are returned, not raised, so that the flow can handle them."""
        if type(step) is Request:
            return await self._attempt(step, deadline)
        if isinstance(step, Together):
            return await self._all(step.requests, deadline)
        if isinstance(step, Pause):
            return await self._sleep(step.seconds if deadline is None else deadline.pause(step.seconds))
        raise TypeError(f"{step!r} is not a step for this driver")

    async def _all(self, requests: list[Request], deadline: OperationDeadline | None) -> list[Response | Exception]:
        if len(requests) == 1 or self.setup.concurrency <= 1:
            return [await self._attempt(request, deadline) for request in requests]
        return list(await asyncio.gather(*[self._attempt(request, deadline) for request in requests]))

    async def _attempt(self, request: Request, deadline: OperationDeadline | None) -> Response | ServiceError | Unreachable:
        try:
            if self.setup.direct:
                return await self.transport.call(request.operation, request.payload)
            return await self._send(request, deadline)
        except (ServiceError, Unreachable) as error:
            return error

    async def _send(self, request: Request, deadline: OperationDeadline | None) -> Response:
        """Send a request that hooks observe or that has a deadline."""
        left = None if deadline is None else deadline.left()
        with ObservedRequest(request, self.setup) as watch:
            return watch.record(await self.transport.call(request.operation, watch.payload, timeout=left))

    async def close(self) -> None:
        """Close the transport, which also closes all stores that share it, such as scopes."""
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


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
                self._executor = ThreadPoolExecutor(max_workers=most, thread_name_prefix="gateleg-store")
        return list(self._executor.map(work, entries))

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown()
                self._executor = None
