"""The parent's side of limited processes: start one, or fork one from a server that has loaded the libraries."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK_BYTES = 1 << 20
PROGRAM = "gateleg.limited_process"
#: Each thread of numpy would need memory, and a process with threads cannot be forked safely.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}


class Child(Protocol):
    """A process that handles one request."""

    def talk(self, request: bytes, most: int) -> bytes | None:
        """Send the request, and return the answer once the process has ended; None if it is longer than `most` bytes."""
        ...

    def kill(self) -> None:
        """Kill the process and its descendants."""
        ...

    @property
    def status(self) -> int:
        """Its exit status, as in `subprocess`."""
        ...


class StartedChild:
    """A process that was started for this request."""

    def __init__(self, errors: IO[bytes]) -> None:
        # Do not start it through the event loop: uvloop forks, which can hang in a process with threads.
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | _ONE_THREAD,
            start_new_session=True,
        )

    @property
    def status(self) -> int:
        """Its exit status, as in `subprocess`."""
        return self._process.returncode

    def talk(self, request: bytes, most: int) -> bytes | None:
        """Send the request and read the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._process.stdout as output:
            # The process may have ended meanwhile.
            with contextlib.suppress(BrokenPipeError), self._process.stdin as sent:
                sent.write(request)
            answer = _read(output.fileno(), most)
            if answer is None:
                self.kill()
        self._process.wait()
        return answer

    def kill(self) -> None:
        """Kill the process and its descendants."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":
                    self._process.kill()
                else:
                    os.killpg(self._process.pid, signal.SIGKILL)


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(leader, signal.SIGKILL)
        except ProcessLookupError:
            # The process was just forked and has no process group yet.
            os.kill(leader, signal.SIGKILL)


class ServerGone(Exception):
    """The fork server ended before it took the request."""


class ForkedChild:
    """A process forked by a fork server for this request."""

    def __init__(self, server: ForkServer, errors: IO[bytes]) -> None:
        requests, self._request = os.pipe()
        self._answer, answer = os.pipe()
        self._statuses, statuses = os.pipe()
        self._group: int | None = None
        self._killed = False
        self._alone = threading.Lock()
        self.status = -int(signal.SIGKILL)
        try:
            server.send((requests, answer, statuses, errors.fileno()))
        except OSError:
            for file in (self._request, self._answer, self._statuses):
                os.close(file)
            raise ServerGone from None
        finally:
            for file in (requests, answer, statuses):
                os.close(file)

    def talk(self, request: bytes, most: int) -> bytes | None:
        """Send the request and read the answer. Raises `ServerGone` if the server did not fork."""
        with os.fdopen(self._statuses, "rb") as statuses, os.fdopen(self._answer, "rb") as answer:
            with contextlib.suppress(BrokenPipeError), os.fdopen(self._request, "wb") as requests:
                first = statuses.readline()
                if first and self._begin(int(first)):
                    requests.write(request)
            if not first:
                raise ServerGone
            found = _read(answer.fileno(), most)
            if found is None:
                self.kill()
            last = statuses.readline()
            with self._alone:
                self._group = None
        if last:
            self.status = int(last)
        return found

    def _begin(self, group: int) -> bool:
        """Record the process that does the work. Returns False if this child was killed before."""
        with self._alone:
            self._group = group
            if self._killed:
                _kill_group(group)
            return not self._killed

    def kill(self) -> None:
        """Kill the process and its descendants, also if it is forked only after this call."""
        with self._alone:
            self._killed = True
            if self._group is not None:
                _kill_group(self._group)


class ForkServer:
    """A process that has imported modules, and forks a process for each request. It ends with this process, or when idle."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._calls, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, "fork-server", str(theirs.fileno()), *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | _ONE_THREAD,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as sent:
            sent.write(json.dumps(sys.path).encode() + b"\n")

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, files: Sequence[int]) -> None:
        """Make the server fork a process with these file descriptors. Raises `OSError` if the server has ended."""
        if self._process.poll() is not None:
            raise BrokenPipeError
        socket.send_fds(self._calls, [b"."], files)

    def close(self) -> None:
        """Stop the server. Processes that it has forked continue."""
        self._calls.close()
        self._process.wait()


_servers: dict[tuple[str, ...], ForkServer] = {}
_owner = os.getpid()
_starting = threading.Lock()


def open_child(modules: Sequence[str], errors: IO[bytes], *, preloaded: bool) -> Child:
    """A process for one request: forked by the server of these modules if requested and possible, otherwise started."""
    if not preloaded or sys.platform == "win32":
        return StartedChild(errors)
    try:
        return ForkedChild(_server(tuple(modules)), errors)
    except ServerGone:
        return ForkedChild(_server(tuple(modules), fresh=True), errors)


def _server(modules: tuple[str, ...], *, fresh: bool = False) -> ForkServer:
    global _owner
    with _starting:
        if _owner != os.getpid():
            # This process was forked, so the servers belong to its parent.
            _servers.clear()
            _owner = os.getpid()
        if fresh and modules in _servers:
            _servers.pop(modules).close()
        if modules not in _servers:
            _servers[modules] = ForkServer(modules)
        return _servers[modules]


@atexit.register
def close_servers() -> None:
    """Stop the fork servers of this process."""
    with _starting:
        while _servers and _owner == os.getpid():
            _servers.popitem()[1].close()


def _read(file: int, most: int) -> bytes | None:
    """Everything in a pipe; None if it is more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    while part := os.read(file, _CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if size > most:
            return None
    return b"".join(parts)
