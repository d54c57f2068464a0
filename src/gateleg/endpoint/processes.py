"""Several processes on one port, each with an engine of its own on the same file: reads then use as many cores.

The first process opens no engine, because SQLite's locks do not survive a fork. It holds the port, starts the others, starts one again that
has died, and ends them when it is told to. When it dies itself, they see that the pipe from it is closed, and end too.
"""

import errno
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace

from gateleg.endpoint.backend import Backend
from gateleg.endpoint.options import EndpointOptions
from gateleg.endpoint.server import serve_until_signal

__all__ = ["serve_from_processes"]

#: Opens an engine, which is closed when its context ends.
OpenEngine = Callable[[], AbstractContextManager[Backend]]

_log = logging.getLogger(__name__)

#: Seconds before a process is started again that has died soon after its start.
_PAUSE = 1.0


def serve_from_processes(open_engine: OpenEngine, options: EndpointOptions, processes: int, ready: Callable[[str], None]) -> None:
    """Serve from so many processes until SIGTERM or SIGINT, then let each finish what is under way.

    Each opens its engine with `open_engine`, which must leave it closed in this one. `ready` is told the URL once all of them listen.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise OSError(errno.ENOTSUP, "several processes cannot listen on one port on this system")
    with closing(_hold(options)) as held:
        options = replace(options, port=held.getsockname()[1], reuse_port=True)
        _Family(open_engine, options, processes, ready).run()


def _hold(options: EndpointOptions) -> socket.socket:
    """A socket that has the port and does not listen: nobody else gets it, and which one it is is known."""
    family, kind, protocol, _, address = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    if options.port:
        # Another endpoint of several processes would share its port with us, and clients would reach one or the other.
        with socket.socket(family, kind, protocol) as alone:
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(address)
    held = socket.socket(family, kind, protocol)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(address)
    except BaseException:
        held.close()
        raise
    return held


class _Family:
    """The processes that serve, as the one that started them sees them."""

    def __init__(self, open_engine: OpenEngine, options: EndpointOptions, processes: int, ready: Callable[[str], None]) -> None:
        self._open_engine = open_engine
        self._options = options
        self._processes = processes
        self._ready = ready
        #: when each was started, by its number
        self._started: dict[int, float] = {}
        self._ending = False
        #: closed by our end, whatever it is
        self._alive, self._ours = os.pipe()

    def run(self) -> None:
        """Start the processes, and look after them until a signal."""
        was = {number: signal.signal(number, self._end) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            urls = [self._start() for _ in range(self._processes)]
            if not self._ending:
                if not all(urls):
                    raise OSError(errno.ECHILD, "a process could not be started: the log says why")
                self._ready(urls[0])
            while self._started:
                self._look_after()
        finally:
            self._end()
            while self._started:
                self._look_after()
            os.close(self._ours)
            os.close(self._alive)
            for number, handler in was.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self._ending = True
        for number in list(self._started):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)

    def _start(self) -> str:
        """Start a process; the URL that it listens on, or nothing if it could not."""
        listening, told = os.pipe()
        number = os.fork()
        if number == 0:
            os.close(listening)
            os.close(self._ours)
            self._serve(told)
        os.close(told)
        self._started[number] = time.monotonic()
        if self._ending:  # the signal came before we knew of this one
            self._end()
        with os.fdopen(listening) as file:
            return file.readline().strip()

    def _serve(self, told: int) -> None:
        """What a process does all its life."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)

            def ready(url: str) -> None:
                os.write(told, f"{url}\n".encode())
                os.close(told)

            with self._open_engine() as engine:
                serve_until_signal(engine, self._options, ready, until_closed=self._alive)
            status = 0
        except BaseException:
            _log.exception("A process of the endpoint has failed")
        finally:
            os._exit(status)

    def _look_after(self) -> None:
        """Wait until a process ends; start another in its place, unless all shall end."""
        try:
            number, status = os.waitpid(-1, 0)
        except ChildProcessError:
            self._started.clear()
            return
        started = self._started.pop(number, None)
        if started is None or self._ending:
            return
        _log.warning("process %d of the endpoint ended (%s); another one is started", number, os.waitstatus_to_exitcode(status))
        if time.monotonic() - started < _PAUSE:
            time.sleep(_PAUSE)
        if not self._ending:
            self._start()
