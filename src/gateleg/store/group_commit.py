"""A store on an engine in this process whose flows share commits: those that go on in the same turn of the event loop have one.

Each flow is answered by itself, and goes on once what it wrote is durable. While a commit is being made nobody else writes, in this process
or in another. So a flow that looks first and writes then, as a claim does, writes to what it saw: nobody comes in between.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from gateleg.store.async_store import AsyncStore
from gateleg.store.error_translation import translated
from gateleg.store.flow import Request, Together, request_of
from gateleg.store.observing.notify import Watch
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.flow import Flow, Reply, Step
    from gateleg.store.operations.operation import Operation
    from gateleg.store.transports.inline_embedded import DirectTransport

__all__ = ["GroupCommitStore"]

R = TypeVar("R")

_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"})
#: The longest page of a query that is read while others may not write.
_PAGE = 250
#: How many flows share a commit: the more, the longer the event loop stands still.
_SEATS = 32
#: Seconds for which a commit is put off at most, while more is expected for it.
_LINGER = 0.003


class _PendingFlow:
    """A flow that waits for a commit: what it asks, and the answer once there is one."""

    def __init__(self, flow: Flow[Any]) -> None:
        self.flow = flow
        self.step: Step | None = next(flow)
        self.reply: Any = None
        self.result: Any = None
        self.error: Exception | None = None
        self.turn: asyncio.Future[None] | None = None
        #: the rest of the answer to a write that was made ready
        self.rest: Callable[[], Reply] | None = None

    def advance(self, reply: Any) -> None:
        """Tell the flow its answer, and note what it asks next, or how it has ended."""
        self.reply = None
        asked = self.step
        try:
            self.step = self.flow.throw(reply) if isinstance(reply, Exception) else self.flow.send(reply)
        except StopIteration as end:
            self.step, self.result = None, end.value
        except (ServiceError, Unreachable) as error:
            self.step, self.error = None, translated(error, request_of(asked))
            self.error.__cause__ = error
        except Exception as error:
            self.step, self.error = None, error


class GroupCommitStore(AsyncStore):
    """A store whose flows share commits."""

    transport: DirectTransport

    def __init__(self, store: AsyncStore, transport: DirectTransport) -> None:
        super().__init__(transport)
        self.setup = store.setup
        self._seats: list[_PendingFlow] = []
        #: Whether more is about to be written that is worth a short wait, since it then shares the commit.
        self.expects_more: Callable[[], bool] = lambda: False
        self._until = 0.0

    async def carry_out(self, operation: Operation[Any]) -> Any:
        """Carry out an operation, as a flow that has its part in a commit."""
        return await self.drive(operation.flow(self.setup))

    async def drive(self, flow: Flow[R]) -> R:
        """Take the steps of a flow to its result."""
        if self.setup.timeout is not None:
            return await super().drive(flow)
        try:
            seat = _PendingFlow(flow)
        except StopIteration as end:
            return cast("R", end.value)
        while seat.step is not None:
            if _begins(seat.step):
                await self._turn_of(seat)
                if seat.reply is None:
                    continue
            else:
                seat.reply = await self._perform(seat.step, None)
            seat.advance(seat.reply)
        if seat.error is not None:
            raise seat.error
        return cast("R", seat.result)

    async def _turn_of(self, seat: _PendingFlow) -> None:
        """Wait until the flow has had its part in a commit."""
        loop = asyncio.get_running_loop()
        if isinstance(seat.step, Request) and not self.setup.hooks:
            seat.rest = self.transport.ready(seat.step.operation, seat.step.payload, seat.step.statement)
        if not self._seats:
            # One turn later, so that a claim that follows from the end of a job shares the commit with it.
            loop.call_soon(loop.call_soon, self._sit)
            self._until = loop.time() + _LINGER
        self._seats.append(seat)
        seat.turn = loop.create_future()
        await seat.turn

    def _sit(self) -> None:
        if self.expects_more() and len(self._seats) < _SEATS and asyncio.get_running_loop().time() < self._until:
            asyncio.get_running_loop().call_soon(self._sit)
            return
        seats, self._seats[:] = self._seats[:_SEATS], self._seats[_SEATS:]
        if self._seats:
            asyncio.get_running_loop().call_soon(self._sit)
        # A flow whose task was cancelled meanwhile asks for nothing any more.
        seats = [seat for seat in seats if seat.turn is not None and not seat.turn.done()]
        try:
            with self.transport.one_commit():
                for seat in seats:
                    self._serve(seat)
        except Exception as error:
            # Whatever it was: nobody may wait for ever, and what was asked can be asked again.
            for seat in seats:
                if seat.step is not None and _begins(seat.step):
                    seat.reply = [error] * len(seat.step.requests) if isinstance(seat.step, Together) else error
        for seat in seats:
            # A hook may have cancelled the task meanwhile.
            if seat.turn is not None and not seat.turn.done():
                seat.turn.set_result(None)

    def _serve(self, seat: _PendingFlow) -> None:
        """Read for a flow until it writes; what it writes is answered when it is durable. What is not for here is left to be done after."""
        while (step := seat.step) is not None:
            rest, seat.rest = seat.rest, None
            if _writes(step):
                seat.reply = [self._answer(one) for one in step.requests] if isinstance(step, Together) else self._answer(step, rest)
                return
            if not _reads(step):
                return
            seat.advance(self._answer(step, rest))

    def _answer(self, request: Request, rest: Callable[[], Reply] | None = None) -> Reply | Exception:
        try:
            if rest is not None:
                return rest()
            if not self.setup.hooks:
                return self.transport.answer(request.operation, request.payload, request.statement)
            with Watch(request, self.setup) as watch:
                return watch.answered(self.transport.answer(request.operation, watch.payload))
        except Exception as error:
            return error


def _writes(step: Step) -> TypeGuard[Request | Together]:
    """Whether a step is a small write, or several at once."""
    if isinstance(step, Together):
        return all(request.operation in _WRITES for request in step.requests)
    return isinstance(step, Request) and step.operation in _WRITES


def _looks(step: Step) -> TypeGuard[Request]:
    """Whether a step reads a short page."""
    return isinstance(step, Request) and step.operation == "Query" and step.payload.get("Limit", _PAGE + 1) <= _PAGE


def _begins(step: Step) -> bool:
    """Whether a flow needs a commit for its step, or may write to what the step shows."""
    return _writes(step) or _looks(step)


def _reads(step: Step) -> TypeGuard[Request]:
    return _looks(step) or (isinstance(step, Request) and step.operation == "GetItem")
