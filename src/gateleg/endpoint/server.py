"""The server: listens, reads the requests of its connections, enforces timeouts, and stops gracefully.

It runs in this process, in a thread, or in several processes on one port, each with its own engine on the same file, so that reads use
several cores. The parent of these processes reserves the port, and opens no engine, because SQLite's locks do not survive a fork.
"""

import asyncio
import contextlib
import errno
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from email.utils import formatdate
from functools import partial
from types import TracebackType
from typing import Self, cast

from gateleg.endpoint.dispatcher import Backend, Dispatcher, EndpointOptions, EngineCall, Kind, Origins, execute, internal_error
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
from gateleg.endpoint.signature import Verifier
from gateleg.engine import EngineError
from gateleg.engine.commit_queue import CommitQueue
from gateleg.event_loops import new_event_loop
from gateleg.processes import run_replicas

_log = logging.getLogger(__name__)

#: The number of pipelined requests to accept before the connection stops reading.
_MAX_PIPELINED_REQUESTS = 16

#: The maximum seconds for a client to confirm the end of a TLS connection. Idle clients rarely do.
_TLS_SHUTDOWN_SECONDS = 1.0

#: The most writes in a group, so that reads never wait long for the event loop.
_MAX_GROUP_WRITES = 256


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


class Server:
    """Serves an engine over HTTP, with the DynamoDB protocol: `async with Server(engine) as server:`.

    Stopping the server does not close the engine. See also `serve_in_thread` and `serve_until_signal`.
    """

    def __init__(self, engine: Backend, options: EndpointOptions | None = None) -> None:
        self.options = options or EndpointOptions()
        self._engine = engine
        self._state: ServerState | None = None
        self._server: asyncio.Server | None = None
        self._ticker: asyncio.TimerHandle | None = None
        self._port = self.options.port

    @property
    def url(self) -> str:
        """The URL for clients."""
        host = f"[{self.options.host}]" if ":" in self.options.host else self.options.host
        return f"{'https' if self.options.tls else 'http'}://{host}:{self._port}"

    async def start(self) -> None:
        """Start listening. Raises `OSError` if the address cannot be used."""
        options = self.options
        loop = asyncio.get_running_loop()
        verifier = Verifier(options.credentials) if options.credentials else None
        dispatcher = Dispatcher(
            self._engine.is_write, region=options.region, verifier=verifier, separate=options.separate, max_body=options.limits.body
        )
        threaded = options.threaded_commits
        if threaded is None:
            threaded = self._engine.durability == "full" and self._engine.path != ":memory:"
        commits = CommitQueue(self._engine, max_writes=_MAX_GROUP_WRITES, thread=True, commits_in_thread=threaded)
        state = self._state = ServerState(self._engine, dispatcher, options.origins(), commits, options.limits)
        self._tick(loop, state)
        try:
            self._server = await loop.create_server(
                lambda: ClientConnection(state),
                options.host,
                options.port,
                ssl=options.tls,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS if options.tls else None,
                backlog=1024,
                reuse_address=True,
                reuse_port=options.reuse_port or None,
            )
        except BaseException:
            self._release(state)
            raise
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, finish requests in progress, and drop those that exceed the drain limit."""
        state, server = self._state, self._server
        if state is None or server is None:
            return
        server.close()
        state.draining = True
        empty = asyncio.Event()
        state.on_empty = empty.set
        for connection in list(state.connections):
            connection.drain()
        if state.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(empty.wait(), state.limits.drain)
        for connection in list(state.connections):
            connection.expire()
        await state.commits.drain()
        self._release(state)
        self._server = self._state = None

    def _release(self, state: ServerState) -> None:
        state.commits.close()
        if self._ticker is not None:
            self._ticker.cancel()

    def _tick(self, loop: asyncio.AbstractEventLoop, state: ServerState) -> None:
        """Once a second: update the clock and close connections past their deadline."""
        now = state.now = loop.time()
        state.date = formatdate(usegmt=True).encode()
        for connection in [c for c in state.connections if c.deadline < now]:
            connection.expire()
        self._ticker = loop.call_later(1.0, self._tick, loop, state)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()


def serve_until_signal(engine: Backend, options: EndpointOptions, ready: Callable[[str], None], until_closed: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Calls `ready` with the URL once clients can connect.

    With `until_closed`, the read end of a pipe, also stops when the other end is closed.
    """

    async def serve() -> None:
        until = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, until.set)
        if until_closed is not None:
            loop.add_reader(until_closed, until.set)
        server = Server(engine, options)
        await _serve(server, lambda: ready(server.url), until)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


async def _serve(server: Server, ready: Callable[[], None], until: asyncio.Event) -> None:
    async with server:
        ready()
        await until.wait()


@contextlib.contextmanager
def serve_in_thread(engine: Backend, options: EndpointOptions | None = None) -> Iterator[str]:
    """Serve from a thread of this process, until the end of the block: `with serve_in_thread(engine) as url:`."""
    server = Server(engine, options)
    loop = new_event_loop()
    started = threading.Event()
    until = asyncio.Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(_serve(server, started.set, until))
        except BaseException as error:
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=run, name="gateleg-endpoint", daemon=True)
    thread.start()
    started.wait()
    try:
        if failures:
            raise failures[0]
        yield server.url
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(until.set)
            thread.join()
    if failures:
        raise failures[0]


#: Opens an engine, which is closed at the end of the context.
OpenEngine = Callable[[], AbstractContextManager[Backend]]


def serve_from_processes(open_engine: OpenEngine, options: EndpointOptions, processes: int, ready: Callable[[str], None]) -> None:
    """Serve from several processes until SIGTERM or SIGINT, then let each finish its current requests.

    Each process opens an engine with `open_engine`; the parent must not have one open. Calls `ready` with the URL once all are listening.
    Raises `OSError` if the port is in use, or if the system does not support it.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise OSError(errno.ENOTSUP, "several processes cannot listen on one port on this system")
    with closing(_reserve_port(options)) as reserved:
        options = replace(options, port=reserved.getsockname()[1], reuse_port=True)

        def serve(ready: Callable[[str], None], until_closed: int) -> None:
            with open_engine() as engine:
                serve_until_signal(engine, options, ready, until_closed)

        run_replicas(serve, processes, ready)


def _reserve_port(options: EndpointOptions) -> socket.socket:
    """A bound socket that does not listen: it reserves the port and determines its number."""
    family, kind, protocol, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    if options.port:
        # Check first: otherwise another multi-process endpoint would share the port, and clients would reach either.
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    reserved = socket.socket(family, kind, protocol)
    try:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(address)
    except BaseException:
        reserved.close()
        raise
    return reserved


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
