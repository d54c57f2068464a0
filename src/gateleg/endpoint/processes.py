"""Several server processes on one port, each with its own engine on the same file, so that reads use several cores.

The parent opens no engine, because SQLite's locks do not survive a fork. It reserves the port, starts the children, restarts those that
die, and stops them when it receives a signal. If the parent dies, the children notice that its pipe is closed, and stop too.
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

#: Opens an engine, which is closed at the end of the context.
OpenEngine = Callable[[], AbstractContextManager[Backend]]

_log = logging.getLogger(__name__)

#: Delay before restarting a process that died right after its start.
_RESTART_SECONDS = 1.0


def serve_from_processes(open_engine: OpenEngine, options: EndpointOptions, processes: int, ready: Callable[[str], None]) -> None:
    """Serve from several processes until SIGTERM or SIGINT, then let each finish its current requests.

    Each process opens an engine with `open_engine`; the parent must not have one open. Calls `ready` with the URL once all are listening.
    Raises `OSError` if the port is in use, or if the system does not support it.
    """
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise OSError(errno.ENOTSUP, "several processes cannot listen on one port on this system")
    with closing(_reserve_port(options)) as reserved:
        options = replace(options, port=reserved.getsockname()[1], reuse_port=True)
        _ChildProcesses(open_engine, options, processes, ready).run()


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


class _ChildProcesses:
    """The child processes, as managed by the parent."""

    def __init__(self, open_engine: OpenEngine, options: EndpointOptions, processes: int, ready: Callable[[str], None]) -> None:
        self._open_engine = open_engine
        self._options = options
        self._processes = processes
        self._ready = ready
        #: start time by process id
        self._started: dict[int, float] = {}
        self._stopping = False
        #: a pipe that is closed when the parent ends, however that happens
        self._child_end, self._parent_end = os.pipe()

    def run(self) -> None:
        """Start the processes and supervise them until a signal."""
        previous_handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            urls = [self._start() for _ in range(self._processes)]
            if not self._stopping:
                if not all(urls):
                    raise OSError(errno.ECHILD, "a process could not be started: see the log for the reason")
                self._ready(urls[0])
            while self._started:
                self._supervise()
        finally:
            self._stop()
            while self._started:
                self._supervise()
            os.close(self._parent_end)
            os.close(self._child_end)
            for number, handler in previous_handlers.items():
                signal.signal(number, handler)

    def _stop(self, *_: object) -> None:
        self._stopping = True
        for pid in list(self._started):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _start(self) -> str:
        """Start a process; returns the URL that it listens on, or an empty string if it failed."""
        listening, ready_pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(listening)
            os.close(self._parent_end)
            self._serve(ready_pipe)
        os.close(ready_pipe)
        self._started[pid] = time.monotonic()
        if self._stopping:  # the signal arrived before this process was registered
            self._stop()
        with os.fdopen(listening) as file:
            return file.readline().strip()

    def _serve(self, ready_pipe: int) -> None:
        """The main function of a child process."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)

            def ready(url: str) -> None:
                os.write(ready_pipe, f"{url}\n".encode())
                os.close(ready_pipe)

            with self._open_engine() as engine:
                serve_until_signal(engine, self._options, ready, until_closed=self._child_end)
            status = 0
        except BaseException:
            _log.exception("an endpoint process failed")
        finally:
            os._exit(status)

    def _supervise(self) -> None:
        """Wait until a process ends, and restart it unless all are stopping."""
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            self._started.clear()
            return
        started = self._started.pop(pid, None)
        if started is None or self._stopping:
            return
        _log.warning("endpoint process %d ended (exit code %s); restarting it", pid, os.waitstatus_to_exitcode(status))
        if time.monotonic() - started < _RESTART_SECONDS:
            time.sleep(_RESTART_SECONDS)
        if not self._stopping:
            self._start()
