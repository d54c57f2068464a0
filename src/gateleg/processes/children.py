"""The parent's side of child processes: start one, or fork one from a server that has imported the modules, and kill it.

Every child has a supervisor, which ends it with all its descendants: when `Child.kill` is called, or when this process dies.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_PROGRAM = [sys.executable, "-m", "gateleg.processes"]
#: How long the supervisor has to kill all processes before it is killed itself.
_KILL_TIMEOUT_SECONDS = 20.0


class _Ends(NamedTuple):
    """This process's ends of the connections to a child."""

    channel: socket.socket
    lifeline: socket.socket
    #: the supervisor, unless another process has started it
    process: subprocess.Popen[bytes] | None = None


class Child:
    """A process that runs one function, `module:function`, which gets a `Connection`. Leaving the `async with` block kills it."""

    def __init__(self, ends: _Ends, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lifeline = ends.lifeline
        self._process = ends.process
        self._reader = reader
        self._writer = writer
        self._killing: asyncio.TimerHandle | None = None
        #: the process id of the supervisor; None as long as a fork server has not started it
        self.pid = None if ends.process is None else ends.process.pid
        #: whether its supervisor has started; a fork server may end before it takes a call
        self.has_started = False
        #: its exit status once it has ended, as in `subprocess`; that of a killed process if the supervisor was killed itself
        self.status = -int(signal.SIGKILL)
        #: the read end of a pipe with its standard output and error, unless it was started with a file for them
        self.printed: IO[bytes] | None = None
        self._ended = asyncio.get_running_loop().create_task(self._watch())

    @classmethod
    async def start(
        cls,
        function: str,
        *,
        max_line: int,
        modules: Sequence[str] = (),
        output: IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Self:
        """Start a process that imports `modules` and calls the function. Its output goes to `output`, or else to a pipe, `printed`.

        `max_line` is the maximum number of bytes of a line that it sends.
        """
        if output is not None:
            return await cls._open(partial(_start, function, modules, output, env), max_line)
        # Not a pipe of asyncio, which would not report the end of the process until all its descendants have closed it.
        printed, output = map(os.fdopen, os.pipe(), ("rb", "wb"))
        with output:
            try:
                child = await cls._open(partial(_start, function, modules, output, env), max_line)
            except BaseException:
                printed.close()
                raise
        child.printed = printed
        return child

    @classmethod
    async def fork(cls, function: str, *, max_line: int, modules: Sequence[str], output: IO[bytes]) -> Self:
        """Fork a process from a server that has imported `modules`, which is started at first use. `has_started` says whether it did."""
        return await cls._open(partial(_fork, function, tuple(modules), output), max_line)

    @classmethod
    async def _open(cls, open_ends: Callable[[], _Ends], max_line: int) -> Self:
        # In a thread, and not through the event loop: uvloop forks, which can hang in a process with threads.
        opening = asyncio.ensure_future(asyncio.to_thread(open_ends))
        try:
            ends = await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread still starts the process, which must be killed.
            with contextlib.suppress(OSError):
                await (await cls._connect(await opening, max_line)).end()
            raise
        return await cls._connect(ends, max_line)

    @classmethod
    async def _connect(cls, ends: _Ends, max_line: int) -> Self:
        ends.lifeline.setblocking(False)
        return cls(ends, *await asyncio.open_connection(sock=ends.channel, limit=max_line))

    async def _watch(self) -> None:
        """Read the lines of the supervisor, and reap it at its end."""
        lines = b""
        with contextlib.suppress(ConnectionError):
            while data := await asyncio.get_running_loop().sock_recv(self._lifeline, 64):
                lines += data
                pid, *status = map(int, lines.splitlines())
                self.has_started, self.pid = True, pid
                self.status = status[0] if status else self.status
        self._lifeline.close()
        if self._killing is not None:
            self._killing.cancel()
        if self._process is not None:
            self._process.wait()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended yet."""
        return not self._ended.done()

    async def wait(self) -> int:
        """Wait until the process and its descendants have ended, and return its exit status."""
        await asyncio.shield(self._ended)
        return self.status

    def send(self, content: bytes) -> None:
        """Send a line, unless the process has ended."""
        if not self._writer.is_closing():
            self._writer.write(content + b"\n")

    async def receive(self) -> bytes:
        """The next line of the process; empty at the end. Raises `ValueError` if it is longer than `max_line`."""
        with contextlib.suppress(ConnectionError):
            return await self._reader.readline()
        return b""

    def remove_at_end(self, folder: Path) -> None:
        """Let the supervisor remove a folder when the process ends."""
        with contextlib.suppress(OSError):
            self._lifeline.send(os.fsencode(folder))

    def kill(self) -> None:
        """Let the supervisor kill the process and its descendants, and kill the supervisor if it takes too long."""
        if self._killing is None and self.alive:
            with contextlib.suppress(OSError):
                self._lifeline.shutdown(socket.SHUT_WR)
            self._killing = asyncio.get_running_loop().call_later(_KILL_TIMEOUT_SECONDS, self._kill_supervisor)

    def _kill_supervisor(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.pid is not None:
                os.killpg(self.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Kill the process, and wait until it and its descendants have ended. They end even if the caller is cancelled."""
        self.kill()
        self._writer.close()
        await self.wait()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.end()


def _connected() -> tuple[_Ends, tuple[socket.socket, socket.socket]]:
    channel, their_channel = socket.socketpair()
    lifeline, their_lifeline = socket.socketpair()
    return _Ends(channel, lifeline), (their_channel, their_lifeline)


def _start(function: str, modules: Sequence[str], output: IO[bytes], env: Mapping[str, str] | None) -> _Ends:
    """Start a process for one call."""
    ends, (channel, lifeline) = _connected()
    with channel, lifeline:
        try:
            return ends._replace(process=_popen(["run", function], (channel, lifeline), modules, stdout=output, stderr=output, env=env))
        except BaseException:
            ends.channel.close()
            ends.lifeline.close()
            raise


def _popen(
    arguments: Sequence[str],
    sockets: Sequence[socket.socket],
    modules: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start the program in its own session, and send it the modules to import."""
    files = [end.fileno() for end in sockets]
    process = subprocess.Popen(
        [*_PROGRAM, *arguments, *map(str, files)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env=None if env is None else {**os.environ, **env},
        pass_fds=files,
        start_new_session=True,
    )
    assert process.stdin is not None
    # It may have ended meanwhile.
    with contextlib.suppress(BrokenPipeError), process.stdin as start:
        start.write(json.dumps({"path": sys.path, "modules": list(modules)}).encode() + b"\n")
    return process


class _ForkServer:
    """A process that has imported modules, and forks a process for each call. It ends with this process, or when idle."""

    def __init__(self, function: str, modules: Sequence[str]) -> None:
        self._calls, theirs = socket.socketpair()
        with theirs:
            self._process = _popen(["serve-forks", function], [theirs], modules, stdout=subprocess.DEVNULL, env=ONE_THREAD)
        self.pid = self._process.pid

    def send(self, files: Sequence[int]) -> None:
        """Make the server fork a process with these file descriptors. Raises `OSError` if it has ended."""
        if self._process.poll() is not None:
            raise BrokenPipeError
        socket.send_fds(self._calls, [b"."], files)

    def close(self) -> None:
        """Stop the server. Processes that it has forked continue."""
        self._calls.close()
        self._process.wait()


#: Each thread of numpy would need memory, and a process with threads cannot be forked safely.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
_servers: dict[tuple[str, ...], _ForkServer] = {}
_owner = os.getpid()
_starting = threading.Lock()


def _fork(function: str, modules: tuple[str, ...], output: IO[bytes]) -> _Ends:
    """Have a process forked for one call."""
    ends, (channel, lifeline) = _connected()
    files = (channel.fileno(), lifeline.fileno(), output.fileno())
    with channel, lifeline:
        try:
            fork_server(function, modules).send(files)
        except OSError:
            # The server ends itself after some idle time.
            with contextlib.suppress(OSError):
                fork_server(function, modules, fresh=True).send(files)
    return ends


def fork_server(function: str, modules: tuple[str, ...], *, fresh: bool = False) -> _ForkServer:
    """The fork server for a function and modules; with `fresh`, another one than before."""
    global _owner
    key = (function, *modules)
    with _starting:
        if _owner != os.getpid():
            # This process was forked, so the servers belong to its parent.
            _servers.clear()
            _owner = os.getpid()
        if fresh and key in _servers:
            _servers.pop(key).close()
        if key not in _servers:
            _servers[key] = _ForkServer(function, modules)
        return _servers[key]


@atexit.register
def close_fork_servers() -> None:
    """Stop the fork servers of this process."""
    with _starting:
        while _servers and _owner == os.getpid():
            _servers.popitem()[1].close()


class ChildPool:
    """Starts a process for each call of a function, and keeps a spare one with the modules imported, from the first use on.

    Starting Python and importing the modules takes longer than many calls.
    """

    def __init__(self, function: str, *, max_line: int) -> None:
        self._function = function
        self._max_line = max_line
        self._modules: list[str] = []
        self._spare: Task[Child] | None = None
        self._unused: list[Task[Child]] = []
        self._taken: set[Child] = set()
        self._closed = False

    def prepare(self, modules: Iterable[str]) -> None:
        """Set the modules that spare processes import."""
        self._modules = sorted(modules)

    def _start(self, modules: Sequence[str] = ()) -> Task[Child]:
        return asyncio.get_running_loop().create_task(Child.start(self._function, max_line=self._max_line, modules=modules))

    async def take(self) -> Child:
        """Take the process for one call, and start the next spare one. The caller ends it."""
        starting = self._spare or self._start()
        self._spare = None
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The caller was cancelled while it waited. The next one takes this process.
            self._unused.append(starting)
            raise
        if not child.alive:
            await _discard(child)
            child = await self._start()
        if self._spare is None and not self._closed:
            self._spare = self._unused.pop() if self._unused else self._start(self._modules)
        self._taken = {taken for taken in self._taken if taken.alive} | {child}
        return child

    async def close(self) -> None:
        """End the spare process and all others."""
        self._closed = True
        waiting = [*self._unused, *([] if self._spare is None else [self._spare])]
        self._spare = None
        self._unused.clear()
        for starting in waiting:
            await _discard(await starting)
        for child in self._taken:
            await child.end()


async def _discard(child: Child) -> None:
    await child.end()
    if child.printed is not None:
        child.printed.close()
