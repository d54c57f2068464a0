"""A client connection: receives requests and writes the responses in order."""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, cast

from gateleg.endpoint.dispatcher import Backend, Dispatcher, EngineCall, Kind, Origins, execute, internal_error
from gateleg.endpoint.http import (
    CONTINUE,
    IncomingRequest,
    Limits,
    OutgoingResponse,
    ReadPhase,
    RequestIds,
    RequestReader,
    error_response,
    render,
)
from gateleg.engine import EngineError
from gateleg.engine.commit_queue import CommitQueue

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)

#: The number of pipelined requests to accept before the connection stops reading.
_MAX_PIPELINED_REQUESTS = 16


class ServerState:
    """State that the connections of a server share."""

    def __init__(self, backend: Backend, dispatcher: Dispatcher, origins: Origins, commits: CommitQueue, limits: Limits) -> None:
        self.backend = backend
        self.dispatcher = dispatcher
        self.origins = origins
        self.commits = commits
        self.limits = limits
        self.request_ids = RequestIds()
        self.connections: set[ClientConnection] = set()
        #: loop time and HTTP date, updated every second
        self.now = 0.0
        self.date = b""
        self.draining = False
        self.on_empty: Callable[[], None] | None = None


class ClientConnection(asyncio.Protocol):
    """Handles the requests of a client one by one, and writes the responses."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._reader = RequestReader(state.limits)
        self._queue = self._reader.requests
        self._transport: asyncio.Transport | None = None
        #: the write that waits for its commit, and its call
        self._pending_write: tuple[IncomingRequest, EngineCall] | None = None
        #: whether the client reads its responses
        self._writable = True
        #: whether the connection reads from the client
        self._reading = True
        #: whether the final response is sent; further input is discarded, so that the client can read the response
        self._closing = False
        #: the loop time at which the connection is closed
        self.deadline = state.now + state.limits.idle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._state.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Unregister the connection. A write in progress continues."""
        self._transport = None
        self._queue.clear()
        state = self._state
        state.connections.discard(self)
        if state.on_empty is not None and not state.connections:
            state.on_empty()

    def pause_writing(self) -> None:
        """The client does not read its responses: stop serving it."""
        self._writable = False
        self.deadline = self._state.now + self._state.limits.send

    def resume_writing(self) -> None:
        """The client reads again."""
        self._writable = True
        self._reset_deadline()
        self._serve_queue()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes and serve complete requests."""
        reader = self._reader
        if reader.ended:
            return
        before = reader.phase
        reader.feed(data)
        if reader.phase is not before:
            limits = self._state.limits
            self.deadline = self._state.now + (limits.head_time if reader.phase is ReadPhase.HEAD else limits.body_time)
        self._serve_queue()

    def eof_received(self) -> bool:
        """The client has finished sending; it may still wait for responses."""
        transport = self._transport
        if transport is None or self._closing or not self._has_unanswered():
            return False
        self._reader.end()
        return transport.can_write_eof()

    def drain(self) -> None:
        """The server is stopping: finish the current requests, then close."""
        if self._closing:
            self.expire()
            return
        if self._reader.phase is ReadPhase.IDLE:
            self._reader.end()
        self._update_reading()

    def expire(self) -> None:
        """Abort the connection: its deadline has passed."""
        if self._transport is not None:
            self._transport.abort()

    def _serve_queue(self) -> None:
        """Serve requests in order, until one has to wait for a commit."""
        queue = self._queue
        while queue and self._pending_write is None and self._writable:
            self._serve(queue.popleft())
        self._update_reading()

    def _serve(self, request: IncomingRequest) -> None:
        state = self._state
        routed = state.origins.refusal(request) or state.dispatcher.route(request)
        if isinstance(routed, OutgoingResponse):
            self._send(request, routed)
        elif routed.kind is Kind.READ:
            self._send(request, execute(state.backend, routed))
        else:
            self._pending_write = request, routed
            self.deadline = float("inf")
            state.commits.submit(partial(execute, state.backend, routed), self._reply, alone=routed.kind is Kind.EXCLUSIVE)

    def _reply(self, outcome: OutgoingResponse | Exception) -> None:
        """Answer the pending write, which is committed or has failed."""
        pending, self._pending_write = self._pending_write, None
        if pending is not None:
            request, call = pending
            self._send(request, _failure(call, outcome) if isinstance(outcome, Exception) else outcome)
            self._serve_queue()

    def _send(self, request: IncomingRequest, response: OutgoingResponse) -> None:
        state = self._state
        if self._transport is None:
            return
        keep_alive = request.keep_alive and not state.draining
        cors = state.origins.headers(request)
        self._transport.write(
            render(request, response, date=state.date, request_id=state.request_ids.next(), keep_alive=keep_alive, cors=cors)
        )
        if not keep_alive:
            self._queue.clear()
            self._reader.end()
        self._reset_deadline()

    def _reset_deadline(self) -> None:
        """Set the deadline for the client's next action."""
        if self._writable and self._pending_write is None:
            limits = self._state.limits
            self.deadline = self._state.now + (limits.idle if self._reader.phase is ReadPhase.IDLE else limits.body_time)

    def _has_unanswered(self) -> bool:
        return self._pending_write is not None or bool(self._queue)

    def _update_reading(self) -> None:
        """After serving: close the connection, pause or resume reading, or send 100 Continue."""
        transport, reader = self._transport, self._reader
        if transport is None or self._closing:
            return
        if reader.ended:
            if not self._has_unanswered():
                self._finish(transport)
            return
        if reader.expects_continue and not self._has_unanswered():
            reader.expects_continue = False
            transport.write(CONTINUE)
        if self._reading is not (self._writable and (not self._queue or self._has_room())):
            self._reading = not self._reading
            if self._reading:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _has_room(self) -> bool:
        """Whether to accept more pipelined requests."""
        return len(self._queue) < _MAX_PIPELINED_REQUESTS and sum(len(request.body) for request in self._queue) < self._state.limits.body

    def _finish(self, transport: asyncio.Transport) -> None:
        """Send the final response, if there is one, and close."""
        limits = self._state.limits
        final_response = self._reader.final_response
        if final_response is None:
            self.deadline = self._state.now + limits.send
            transport.close()
            return
        transport.write(final_response)
        self._closing = True
        self.deadline = self._state.now + limits.linger
        # Closing at once would reset the connection while the client is still sending, and it would not see the response.
        if transport.can_write_eof():
            transport.write_eof()
        if not self._reading:
            self._reading = True
            transport.resume_reading()


def _failure(call: EngineCall, error: Exception) -> OutgoingResponse:
    if isinstance(error, EngineError):
        return error_response(error, call.content_type)
    _log.error("could not commit %s", call.operation, exc_info=error)
    return internal_error(call.content_type)
