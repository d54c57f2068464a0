"""Group commit: a store on an embedded engine whose concurrent flows share SQLite transactions.

Flows that write in the same iteration of the event loop run inside one transaction, and continue once it is durable. All other writers, in
this process or another, wait meanwhile. So nobody can write between the read and the write of a flow, such as a claim.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from gateleg.store.error_translation import translated
from gateleg.store.flow import Request, Together, request_of
from gateleg.store.observing import ObservedRequest
from gateleg.store.store import AsyncStore
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.embedded import commit_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.flow import Flow, Response, Step
    from gateleg.store.operations.operation import Operation
    from gateleg.store.transports.embedded import GroupCommitTransport

__all__ = ["GroupCommitStore"]

R = TypeVar("R")

_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
#: The largest page that a query may read inside the transaction, while other writers wait.
_MAX_PAGE_ITEMS = 250
#: The maximum number of flows in one transaction: it blocks the event loop until it is committed.
_MAX_FLOWS = 32
#: The longest time to wait for more writes to share a transaction.
_LINGER_SECONDS = 0.003


class _PendingFlow:
    """A flow that waits for a commit, with its current step and the response to it."""

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.step: Step | None = next(flow)
        self.response: Any = None
        self.result: Any = None
        self.error: Exception | None = None
        self.committed: asyncio.Future[None] | None = None
        #: for a write that was prepared outside the transaction: executes it
        self.second_step: Callable[[], Response] | None = None

    def advance(self, response: Any) -> None:
        """Send the response to the flow, and store its next step, its result or its error."""
        self.response = None
        sent = self.step
        try:
            self.step = self.flow.throw(response) if isinstance(response, Exception) else self.flow.send(response)
        except StopIteration as end:
            self.step, self.result = None, end.value
        except (ServiceError, Unreachable) as error:
            self.step, self.error = None, translated(error, request_of(sent))
            self.error.__cause__ = error
        except Exception as error:
            self.step, self.error = None, error

    def acknowledge(self, outcome: Exception | None) -> None:
        """Let the task of the flow continue. If the whole transaction failed, its write gets that error, and may be tried again."""
        if outcome is not None and self.step is not None and _needs_commit(self.step):
            error = commit_error(outcome)
            self.response = [error] * len(self.step.requests) if isinstance(self.step, Together) else error
        # A hook may have cancelled the task meanwhile.
        if self.committed is not None and not self.committed.done():
            self.committed.set_result(None)


class GroupCommitStore(AsyncStore):
    """An `AsyncStore` whose flows share commits."""

    transport: GroupCommitTransport

    def __init__(self, store: AsyncStore, transport: GroupCommitTransport) -> None:
        super().__init__(transport)
        self.setup = store.setup
        self.commits = transport.commit_queue(max_writes=_MAX_FLOWS, linger=_LINGER_SECONDS)

    async def carry_out(self, operation: Operation[Any]) -> Any:
        """Execute an operation as a flow that takes part in shared commits."""
        return await self.drive(operation.flow(self.setup))

    async def drive(self, flow: Flow[R]) -> R:
        """Perform the steps of a flow and return its result."""
        if self.setup.timeout is not None:
            return await super().drive(flow)
        try:
            pending = _PendingFlow(flow)
        except StopIteration as end:
            return cast("R", end.value)
        while pending.step is not None:
            if _needs_commit(pending.step):
                await self._join_commit(pending)
                if pending.response is None:
                    continue
            else:
                pending.response = await self._perform(pending.step, None)
            pending.advance(pending.response)
        if pending.error is not None:
            raise pending.error
        return cast("R", pending.result)

    async def _join_commit(self, pending: _PendingFlow) -> None:
        """Wait until the flow has run inside a transaction that is committed."""
        if isinstance(pending.step, Request) and not self.setup.hooks:
            pending.second_step = self.transport.prepare_call(pending.step.operation, pending.step.payload)
        pending.committed = asyncio.get_running_loop().create_future()
        self.commits.submit(partial(self._run_until_write, pending), pending.acknowledge)
        await pending.committed

    def _run_until_write(self, pending: _PendingFlow) -> None:
        """Run a flow up to and including its first write, whose response is sent after the commit. Stop before a step of any other kind."""
        if pending.committed is None or pending.committed.done():
            return  # its task was cancelled meanwhile
        while (step := pending.step) is not None:
            second_step, pending.second_step = pending.second_step, None
            if _is_write(step):
                pending.response = (
                    [self._call(request) for request in step.requests] if isinstance(step, Together) else self._call(step, second_step)
                )
                return
            if not _is_read(step):
                return
            pending.advance(self._call(step, second_step))

    def _call(self, request: Request, second_step: Callable[[], Response] | None = None) -> Response | Exception:
        try:
            if second_step is not None:
                return second_step()
            if not self.setup.hooks:
                return self.transport.execute(request.operation, request.payload)
            with ObservedRequest(request, self.setup) as watch:
                return watch.record(self.transport.execute(request.operation, watch.payload))
        except Exception as error:
            return error


def _is_write(step: Step) -> TypeGuard[Request | Together]:
    """Whether a step consists of writes only."""
    if isinstance(step, Together):
        return all(request.operation in _WRITES for request in step.requests)
    return isinstance(step, Request) and step.operation in _WRITES


def _is_short_query(step: Step) -> TypeGuard[Request]:
    """Whether a step is a query of a short page."""
    return isinstance(step, Request) and step.operation == "Query" and step.payload.get("Limit", _MAX_PAGE_ITEMS + 1) <= _MAX_PAGE_ITEMS


def _needs_commit(step: Step) -> bool:
    """Whether a step must run inside the transaction: it writes, or reads items that the flow may write next."""
    return _is_write(step) or _is_short_query(step)


def _is_read(step: Step) -> TypeGuard[Request]:
    return _is_short_query(step) or (isinstance(step, Request) and step.operation == "GetItem")
