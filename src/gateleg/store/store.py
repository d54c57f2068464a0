"""`Store`: reads and writes entities."""

from __future__ import annotations

import time
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
from gateleg.store.operations.loaders import Loader
from gateleg.store.setup import Options, Setup, refuse_address, setup_from
from gateleg.store.thread_pool import ThreadPool
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.verbs import runs, streams
from gateleg.store.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike
    from types import TracebackType

    from gateleg.store.flow import Flow, Response, Step
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.transports import Transport

R = TypeVar("R")
E = TypeVar("E", bound=BaseModel)


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
    save = runs(saves.save)
    retrying = runs(saves.retrying)
    query = streams(queries.query)
    page = runs(pages.page)
    count = runs(queries.count)
    collect = runs(collects.collect)
    delete_all = runs(bulk_deletes.delete_all)
    batch_get = runs(batches.batch_get)
    batch_write = runs(batches.batch_write)
    transact = runs(transactions.transact)
    transact_get = runs(transactions.transact_get)
    scan = streams(scans.scan)
    export = streams(scans.export)
    create_tables = runs(tables.create_tables)
    ensure_tables = runs(tables.ensure_tables)
    delete_tables = runs(tables.delete_tables)
    health = runs(health_checks.health)
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
