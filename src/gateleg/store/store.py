"""`Store`: the verbs, called and answered."""

from __future__ import annotations

import time
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.store.deadlines import Deadline
from gateleg.store.error_translation import translated
from gateleg.store.flow import Found, Pause, Request, Together, request_of
from gateleg.store.observing.notify import Watch
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
from gateleg.store.pools import Pool
from gateleg.store.setup import Options, Setup, setup_from
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.verbs import runs, streams
from gateleg.store.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike
    from types import TracebackType

    from gateleg.store.flow import Flow, Reply, Step
    from gateleg.store.operations.operation import Operation, Stream
    from gateleg.store.transports import Transport

R = TypeVar("R")
E = TypeVar("E", bound=BaseModel)


class Store(Views):
    """Entities in a DynamoDB, through a transport.

    Every verb is documented at the function of the same name in `gateleg.store.operations`, which builds its operation. Stores are cheap
    values: `scope`, `within` and `using` make others that share the transport. Any number of threads may share a store.
    """

    def __init__(
        self, transport: Transport, prefix: str = "", *, sleep: Callable[[float], None] = time.sleep, **options: Unpack[Options]
    ) -> None:
        self.transport = transport
        self.setup = setup_from(prefix, options)
        self._sleep = sleep
        self._pool = Pool()

    @classmethod
    def embedded(cls, path: str | PathLike[str] = ":memory:", prefix: str = "", **options: Unpack[Options]) -> Store:
        """A store on an engine in this process: in memory, or kept in a folder or file."""
        return cls.connect(f"embedded:{path}", prefix, **options)

    @classmethod
    def connect(cls, address: str, prefix: str = "", **options: Unpack[Options]) -> Store:
        """A store by its address: `embedded:./data`, `dynamodb:eu-west-1` or `http://host:8000`."""
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
        """Carry out an operation."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        result: R = self.carry_out(operation)
        return result

    def carry_out(self, operation: Operation[Any]) -> Any:
        """Carry out an operation that the scope allows. A single request goes to the transport without a flow around it."""
        setup = self.setup
        first: Any = operation.start(setup)
        if type(first) is not Request:
            return self.drive(first)
        single: Any = operation
        deadline = None
        try:
            if setup.direct:
                reply = self.transport.call(first.operation, first.payload)
            else:
                deadline = None if setup.timeout is None else Deadline(setup)
                reply = self._send(first, deadline)
        except (ServiceError, Unreachable) as error:
            return self._drive(single.refused(first, error, setup), deadline, first)
        result: Any = single.finish(first, reply, setup)
        return self._drive(result, deadline, first) if type(result) is GeneratorType else result

    def stream(self, operation: Stream[R]) -> Iterator[R]:
        """Iterate over the results of an operation."""
        if self.setup.scope is not None:
            self.setup.scope.check(operation)
        if self.setup.moves is not None:
            operation = self.setup.moves.rewrite(operation)
        return self.iterate(operation.flow(self.setup))

    def loader(self, entity: type[E], /, *, consistent: bool = False) -> Loader[E]:
        """A cache of one entity's items that reads them in batches. Make one for each request of a user."""
        return Loader(entity, self.setup, self.run, consistent)

    def using(self, transport: Transport) -> Store:
        """This store through another transport: another region, other credentials."""
        return self._copy(transport, self.setup)

    def _with(self, setup: Setup) -> Self:
        return self._copy(self.transport, setup)

    def _copy(self, transport: Transport, setup: Setup) -> Self:
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"transport": transport, "setup": setup}
        return other

    def drive(self, flow: Flow[R]) -> R:
        """Take the steps of a flow to its result."""
        return self._drive(flow, None if self.setup.timeout is None else Deadline(self.setup))

    def _drive(self, flow: Flow[R], deadline: Deadline | None, step: Step | None = None) -> R:
        """Take the steps of a flow; `step` is the one before the first."""
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
        """Take the steps of a flow and hand out what it finds."""
        deadline = None if self.setup.timeout is None else Deadline(self.setup)
        step: Step | None = None
        try:
            step = next(flow)
            while True:
                if isinstance(step, Found):
                    yield from step.items
                    step = flow.send(None)
                else:
                    step = self._advance(flow, step, deadline)
        except StopIteration:
            return
        except (ServiceError, Unreachable) as error:
            raise translated(error, request_of(step)) from error

    def _advance(self, flow: Flow[Any], step: Step, deadline: Deadline | None) -> Step:
        """Do what a step says and get the next one."""
        try:
            if type(step) is Request and self.setup.direct:
                reply = self.transport.call(step.operation, step.payload)
            else:
                reply = self._perform(step, deadline)
        except (ServiceError, Unreachable) as error:
            return flow.throw(error)
        return flow.send(reply)

    def _perform(self, step: Step, deadline: Deadline | None) -> Any:
        if isinstance(step, Request):
            return self._send(step, deadline)
        if isinstance(step, Together):
            return self._pool.map(lambda request: self._attempt(request, deadline), step.requests, self.setup.concurrency)
        if isinstance(step, Pause):
            return self._sleep(step.seconds if deadline is None else deadline.pause(step.seconds))
        raise TypeError(f"{step!r} is not a step for this driver")

    def _attempt(self, request: Request, deadline: Deadline | None) -> Reply | Exception:
        try:
            return self._send(request, deadline)
        except (ServiceError, Unreachable) as error:
            return error

    def _send(self, request: Request, deadline: Deadline | None) -> Reply:
        if self.setup.direct:
            return self.transport.call(request.operation, request.payload)
        left = None if deadline is None else deadline.left()
        with Watch(request, self.setup) as watch:
            return watch.answered(self.transport.call(request.operation, watch.payload, timeout=left))

    def close(self) -> None:
        """Close the transport, for all stores that share it."""
        self._pool.close()
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
