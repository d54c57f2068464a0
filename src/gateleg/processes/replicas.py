"""Run the same server in several processes, so that it uses several cores.

The processes are forks of this one, which serves nothing itself: it restarts those that die, and stops them when it receives a signal.
If it dies, they notice that the other end of a pipe is closed, and stop too. What does not survive a fork, such as an open database, must
be opened in the processes.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

_log = logging.getLogger(__name__)
#: Delay before restarting a process that died right after its start.
_RESTART_SECONDS = 1.0

#: Serves until SIGTERM, or until the read end of a pipe is at its end, and calls a function with its URL once it does.
Serve = Callable[[Callable[[str], None], int], None]


def run_replicas(serve: Serve, count: int, ready: Callable[[str], None]) -> None:
    """Run `serve` in processes until SIGTERM or SIGINT, then let each end. Calls `ready` with the URL of the first once all are serving.

    Raises `OSError` if a process ends before it serves.
    """
    _Replicas(serve, count, ready).run()


class _Replicas:
    """The processes, as managed by their parent."""

    def __init__(self, serve: Serve, count: int, ready: Callable[[str], None]) -> None:
        self._serve = serve
        self._count = count
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
            urls = [self._start() for _ in range(self._count)]
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
            self._run_child(ready_pipe)
        os.close(ready_pipe)
        self._started[pid] = time.monotonic()
        if self._stopping:  # the signal arrived before this process was registered
            self._stop()
        with os.fdopen(listening) as file:
            return file.readline().strip()

    def _run_child(self, ready_pipe: int) -> NoReturn:
        """The main function of a child process."""
        status = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)

            def ready(url: str) -> None:
                os.write(ready_pipe, f"{url}\n".encode())
                os.close(ready_pipe)

            self._serve(ready, self._child_end)
            status = 0
        except BaseException:
            _log.exception("a server process failed")
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
        _log.warning("server process %d ended (exit code %s); restarting it", pid, os.waitstatus_to_exitcode(status))
        if time.monotonic() - started < _RESTART_SECONDS:
            time.sleep(_RESTART_SECONDS)
        if not self._stopping:
            self._start()
