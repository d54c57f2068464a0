"""A client connection: receives requests and writes the responses in order.

Group commit: writes that arrive together, or during a commit, become durable with one commit.
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import cast

from gateleg.endpoint.dispatcher import Backend, Dispatcher, EngineCall, Group, Kind, Origins, execute, internal_error
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

_log = logging.getLogger(__name__)

#: The maximum number of writes in a group, so that reads never wait long for the event loop.
_MAX_GROUP_WRITES = 256

Respond = Callable[[OutgoingResponse], None]
_Outcome = tuple[EngineCall, Respond, OutgoingResponse]


class Commits:
    """Runs all operations that may change data, one at a time, in order of arrival.

    Writes of items run on the event loop and are answered after the commit of their group. With `threaded`, a thread commits, so that reads
    continue while the disk is busy; otherwise the loop commits. All other operations run in the thread.
    """

    def __init__(self, backend: Backend, loop: asyncio.AbstractEventLoop, *, threaded: bool) -> None:
        self._backend = backend
        self._loop = loop
        self._threaded = threaded
        self._waiting: deque[tuple[EngineCall, Respond]] = deque()
        self._running = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._jobs: SimpleQueue[Callable[[], list[_Outcome]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run_jobs, name="gateleg-commits", daemon=True)
        self._thread.start()

    def submit(self, call: EngineCall, respond: Respond) -> None:
        """Queue a call; `respond` is called on the event loop when its effect is durable or it has failed."""
        self._waiting.append((call, respond))
        if not self._running:
            self._running = True
            self._idle.clear()
            self._loop.call_soon(self._run_next)

    async def drain(self) -> None:
        """Wait until no operation is in progress."""
        await self._idle.wait()

    def close(self) -> None:
        """Stop the thread after its current job."""
        self._jobs.put(None)
        self._thread.join()

    def _run_next(self) -> None:
        call, respond = self._waiting[0]
        if call.kind is Kind.WRITE:
            self._run_group(self._take_writes())
        else:
            self._waiting.popleft()
            self._jobs.put(lambda: [(call, respond, execute(self._backend, call))])

    def _take_writes(self) -> list[tuple[EngineCall, Respond]]:
        waiting = self._waiting
        batch: list[tuple[EngineCall, Respond]] = []
        while waiting and waiting[0][0].kind is Kind.WRITE and len(batch) < _MAX_GROUP_WRITES:
            batch.append(waiting.popleft())
        return batch

    def _run_group(self, batch: list[tuple[EngineCall, Respond]]) -> None:
        try:
            group = self._backend.try_begin_group()
        except Exception as error:
            self._finish([(call, respond, _failure(call, error)) for call, respond in batch])
            return
        if group is None:
            # Another process is writing: wait in the thread, so that reads continue.
            self._jobs.put(lambda: self._run_group_in_thread(batch))
            return
        outcomes = [(call, respond, execute(self._backend, call)) for call, respond in batch]
        if self._threaded:
            self._jobs.put(lambda: _commit(group, outcomes))
        else:
            self._finish(_commit(group, outcomes))

    def _run_group_in_thread(self, batch: list[tuple[EngineCall, Respond]]) -> list[_Outcome]:
        """Run a whole group of writes in the thread."""
        try:
            group = self._backend.begin_group()
        except Exception as error:
            return [(call, respond, _failure(call, error)) for call, respond in batch]
        return _commit(group, [(call, respond, execute(self._backend, call)) for call, respond in batch])

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._loop.call_soon_threadsafe(self._finish, job())

    def _finish(self, outcomes: list[_Outcome]) -> None:
        # Replies come first, so that the requests they make room for can join the next commit.
        for _, respond, response in outcomes:
            respond(response)
        if self._waiting:
            self._loop.call_soon(self._run_next)
        else:
            self._running = False
            self._idle.set()


def _commit(group: Group, outcomes: list[_Outcome]) -> list[_Outcome]:
    """Commit a group and return the outcomes; if the commit fails, all fail, because even failed conditions may depend on lost writes."""
    try:
        group.commit()
    except Exception as error:
        return [(call, respond, _failure(call, error)) for call, respond, _ in outcomes]
    return outcomes


def _failure(call: EngineCall, error: Exception) -> OutgoingResponse:
    if isinstance(error, EngineError):
        return error_response(error, call.content_type)
    _log.error("could not commit %s", call.operation, exc_info=error)
    return internal_error(call.content_type)


#: The number of pipelined requests to accept before the connection stops reading.
_MAX_PIPELINED_REQUESTS = 16


class ServerState:
    """State that the connections of a server share."""

    def __init__(self, backend: Backend, gate: Dispatcher, origins: Origins, commits: Commits, limits: Limits) -> None:
        self.backend = backend
        self.gate = gate
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
        #: the write that waits for its commit
        self._pending_write: IncomingRequest | None = None
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
        decision = state.origins.refusal(request) or state.gate.decide(request)
        if isinstance(decision, OutgoingResponse):
            self._send(request, decision)
        elif decision.kind is Kind.READ:
            self._send(request, execute(state.backend, decision))
        else:
            self._pending_write = request
            self.deadline = float("inf")
            state.commits.submit(decision, self._reply)

    def _reply(self, response: OutgoingResponse) -> None:
        """Answer the pending write."""
        request, self._pending_write = self._pending_write, None
        if request is not None and self._transport is not None:
            self._send(request, response)
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
