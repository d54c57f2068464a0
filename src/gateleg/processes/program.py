"""The inside of child processes: what runs in a process that `gateleg.processes.children` has started.

    python -m gateleg.processes run <module:function> <channel> <lifeline>
    python -m gateleg.processes serve-forks <module:function> <socket>

`run` calls the function once, with the `Connection` to the parent, in a child of a supervisor. `serve-forks` does so in a new process for
each call. Both read what to import from one line of standard input. The supervisor itself imports nothing more, so that it stays small.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import traceback
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from gateleg.processes.supervisor import reap, supervise

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Seconds after which an idle fork server ends. The next call starts another one.
_IDLE_SECONDS = 300.0


class Connection:
    """The child's connection to its parent: lines in both directions. Any thread may send."""

    def __init__(self, channel: int) -> None:
        self._socket = socket.socket(fileno=channel)
        self._lines = self._socket.makefile("rb")
        self._lock = threading.Lock()

    def receive(self) -> bytes:
        """The next line of the parent; empty if it has closed the connection."""
        return self._lines.readline()

    def send(self, content: bytes) -> None:
        """Send a line, which must contain no line break."""
        with self._lock:
            self._socket.sendall(content)
            self._socket.sendall(b"\n")


def main() -> None:
    """Run the program that the arguments name."""
    kind, function, *files = sys.argv[1:]
    start = json.loads(sys.stdin.buffer.readline())
    if kind == "serve-forks":
        _import_early(start["path"], start["modules"])
        _serve_forks(function, socket.socket(fileno=int(files[0])))
        return
    channel, lifeline = map(int, files)

    def run() -> NoReturn:
        _import_early(start["path"], start["modules"])
        _call(function, channel)

    supervise(run, channel, lifeline)


def _import_early(path: list[str], modules: Sequence[str]) -> None:
    """Import modules before they are needed. Errors are ignored here, and reported when the module is needed."""
    sys.path[:] = path
    for name in modules:
        with contextlib.suppress(Exception):
            import_module(name)


def _serve_forks(function: str, calls: socket.socket) -> None:
    """Call a function in a new process for each call received over a socket, until the other end is closed.

    Each call consists of three file descriptors: the channel, the lifeline, and a file for the printed output.
    """
    calls.settimeout(_IDLE_SECONDS)
    with calls:
        while True:
            try:
                _, files, _, _ = socket.recv_fds(calls, 1, 3)
            except TimeoutError:
                return
            reap()
            if len(files) < 3:
                return
            if os.fork() == 0:
                calls.close()
                _supervise_fork(function, *files)
            for file in files:
                os.close(file)


def _supervise_fork(function: str, channel: int, lifeline: int, output: int) -> NoReturn:
    os.setsid()
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    supervise(lambda: _call(function, channel), channel, lifeline)


def _call(function: str, channel: int) -> NoReturn:
    """Call the function, and exit without the exit handlers of libraries, which may be slow or crash."""
    status = 1
    try:
        os.set_inheritable(channel, False)
        module, _, name = function.partition(":")
        getattr(import_module(module), name)(Connection(channel))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
