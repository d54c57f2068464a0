"""`AsyncStore`: the store for asyncio."""

from __future__ import annotations

import asyncio
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.store.deadlines import OperationDeadline
from gateleg.store.error_translation import translated
from gateleg.store.flow import Pause, Request, StreamedItems, Together, request_of
from gateleg.store.observing.observed_request import ObservedRequest
from gateleg.store.operations import (
    batches,
    bulk_deletes,
    collects,
    health_checks,
    pages,
    queries,
    reads,
    saves,
    scans,
    tables,
    transactions,
    writes,
)
from gateleg.store.operations.loaders import AsyncLoader
from gateleg.store.setup import Options, Setup, refuse_address, setup_from
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.verbs import async_streams, awaits
from gateleg.store.views import AsyncViews

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from os import PathLike
    from types import TracebackType

    from gateleg.store.flow import Flow, Response, Step
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.transports import AsyncTransport

R = TypeVar("R")
E = TypeVar("E", bound=BaseModel)


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
    save = awaits(saves.save)
    retrying = awaits(saves.retrying)
    query = async_streams(queries.query)
    page = awaits(pages.page)
    count = awaits(queries.count)
    collect = awaits(collects.collect)
    delete_all = awaits(bulk_deletes.delete_all)
    batch_get = awaits(batches.batch_get)
    batch_write = awaits(batches.batch_write)
    transact = awaits(transactions.transact)
    transact_get = awaits(transactions.transact_get)
    scan = async_streams(scans.scan)
    export = async_streams(scans.export)
    create_tables = awaits(tables.create_tables)
    ensure_tables = awaits(tables.ensure_tables)
    delete_tables = awaits(tables.delete_tables)
    health = awaits(health_checks.health)
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
