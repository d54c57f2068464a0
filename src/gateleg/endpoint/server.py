"""The server: listens, enforces timeouts, and stops gracefully; in this process, in a thread, or in several processes on one port.

Several server processes may share one port, each with its own engine on the same file, so that reads use several cores. Their parent
reserves the port, and opens no engine, because SQLite's locks do not survive a fork.
"""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from email.utils import formatdate
from types import TracebackType
from typing import Self

from gateleg.endpoint.connection import ClientConnection, ServerState
from gateleg.endpoint.dispatcher import Backend, Dispatcher, EndpointOptions
from gateleg.endpoint.signature import Verifier
from gateleg.engine.commit_queue import CommitQueue
from gateleg.event_loops import new_event_loop
from gateleg.processes import run_replicas

#: The maximum seconds for a client to confirm the end of a TLS connection. Idle clients rarely do.
_TLS_SHUTDOWN_SECONDS = 1.0
#: The most writes in a group, so that reads never wait long for the event loop.
_MAX_GROUP_WRITES = 256


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


async def _serve(server: Server, ready: Callable[[], None], until: asyncio.Event) -> None:
    async with server:
        ready()
        await until.wait()


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
