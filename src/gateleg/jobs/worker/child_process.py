"""The processes that run handlers: start one, connect to it, and kill it with all its subprocesses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Self

import orjson

if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Iterable
    from pathlib import Path

MAX_LINE_BYTES = 16 * 1024 * 1024
#: How long the supervisor has to kill the subprocesses of a handler before it is killed itself.
_KILL_TIMEOUT_SECONDS = 20.0


@dataclass
class ChildProcess:
    """A process that waits for one handler and runs it: `python -m gateleg.jobs.worker.child`, in its own session.

    Messages are lines of JSON over a socket. The process and its subprocesses end when their lifeline, a pipe, is closed: by this process,
    or by the operating system if this process dies.
    """

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    #: its standard output and error
    printed: IO[bytes]
    lifeline: IO[bytes]

    @classmethod
    async def start(cls) -> Self:
        """Start a process."""
        ours, theirs = socket.socketpair()
        # asyncio would not report the end of the process until all its subprocesses have closed an asyncio pipe.
        printed, output = map(os.fdopen, os.pipe(), ("rb", "wb"))
        child_lifeline, lifeline = map(os.fdopen, os.pipe(), ("rb", "wb"))
        descriptors = (theirs.fileno(), child_lifeline.fileno())
        with theirs, output, child_lifeline:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "gateleg.jobs.worker.child",
                *map(str, descriptors),
                pass_fds=descriptors,
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
            )
        reader, writer = await asyncio.open_connection(sock=ours, limit=MAX_LINE_BYTES)
        return cls(process, reader, writer, printed, lifeline)

    @property
    def alive(self) -> bool:
        """Whether the process has not ended yet."""
        return self.process.returncode is None

    def set_scratch(self, folder: Path) -> None:
        """Tell the supervisor which folder to remove when the process ends. Does nothing if the process was already killed."""
        with contextlib.suppress(OSError, ValueError):
            self.lifeline.write(os.fsencode(folder))
            self.lifeline.flush()

    def kill(self) -> None:
        """Let the supervisor kill the process and its subprocesses."""
        self.lifeline.close()

    async def end(self) -> None:
        """Kill the process and wait until it and its subprocesses have ended."""
        self.kill()
        self.writer.close()
        try:
            await asyncio.wait_for(self.process.wait(), _KILL_TIMEOUT_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    async def discard(self) -> None:
        """End an unused process."""
        await self.end()
        self.printed.close()


class ChildPool:
    """Keeps one spare process with the handlers' modules imported, from the first use on.

    Starting Python and importing the modules takes longer than many handlers run.
    """

    def __init__(self) -> None:
        self._modules: list[str] = []
        self._spare: Task[ChildProcess] | None = None
        self._unused: list[Task[ChildProcess]] = []
        self._outcome: set[Task[None]] = set()
        self._closed = False

    def prepare(self, modules: Iterable[str]) -> None:
        """Set the modules that spare processes import."""
        self._modules = sorted(modules)

    async def take(self) -> ChildProcess:
        """Take the process for one handler, and start the next spare one."""
        loop = asyncio.get_running_loop()
        starting = self._spare or loop.create_task(ChildProcess.start())
        self._spare = None
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The attempt was stopped while it waited. The next attempt takes this process.
            self._unused.append(starting)
            raise
        if not child.alive:
            await child.discard()
            child = await ChildProcess.start()
        if self._spare is None and not self._closed:
            self._spare = self._unused.pop() if self._unused else loop.create_task(self._prepared())
        return child

    async def _prepared(self) -> ChildProcess:
        child = await ChildProcess.start()
        child.writer.write(orjson.dumps({"path": sys.path, "modules": self._modules}) + b"\n")
        return child

    async def end(self, child: ChildProcess) -> None:
        """End a process with its subprocesses, even if the caller is cancelled while it waits."""
        outcome = asyncio.get_running_loop().create_task(child.end())
        self._outcome.add(outcome)
        outcome.add_done_callback(self._outcome.discard)
        await asyncio.shield(outcome)

    async def close(self) -> None:
        """End the spare process, and wait for processes that are still ending."""
        self._closed = True
        waiting = [*self._unused, *([] if self._spare is None else [self._spare])]
        self._spare = None
        self._unused.clear()
        for starting in waiting:
            await (await starting).discard()
        if self._outcome:
            await asyncio.wait(self._outcome)
