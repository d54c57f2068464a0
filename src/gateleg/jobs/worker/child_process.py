"""The processes in which handlers run: starting one, what it is connected by, and killing it with everything below it."""

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

LINE_LIMIT = 16 * 1024 * 1024
#: Seconds in which the supervisor of a process has killed all below it; then it is killed itself.
_KILLED_WITHIN = 20.0


@dataclass
class ChildProcess:
    """A process that waits for a handler to run: `python -m gateleg.jobs.worker.child` in a session of its own.

    It is talked to over a socket, one JSON value a line. It and everything below it ends when its lifeline is closed, be it because this
    process has ended.
    """

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    #: what it prints
    printed: IO[bytes]
    lifeline: IO[bytes]

    @classmethod
    async def start(cls) -> Self:
        """Start a process."""
        ours, theirs = socket.socketpair()
        # A pipe of asyncio's own would have to be closed by everybody before the process counts as ended.
        printed, output = map(os.fdopen, os.pipe(), ("rb", "wb"))
        held, lifeline = map(os.fdopen, os.pipe(), ("rb", "wb"))
        descriptors = (theirs.fileno(), held.fileno())
        with theirs, output, held:
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
        reader, writer = await asyncio.open_connection(sock=ours, limit=LINE_LIMIT)
        return cls(process, reader, writer, printed, lifeline)

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.returncode is None

    def name_scratch(self, folder: Path) -> None:
        """Say which folder goes with the process, however it ends. One that was killed meanwhile needs to know no more."""
        with contextlib.suppress(OSError, ValueError):
            self.lifeline.write(os.fsencode(folder))
            self.lifeline.flush()

    def kill(self) -> None:
        """Have the process and everything below it killed."""
        self.lifeline.close()

    async def end(self) -> None:
        """Kill it, and wait until nothing of it is left."""
        self.kill()
        self.writer.close()
        try:
            await asyncio.wait_for(self.process.wait(), _KILLED_WITHIN)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()

    async def discard(self) -> None:
        """End one that was not used."""
        await self.end()
        self.printed.close()


class ChildPool:
    """One process that has imported what it is likely to need and waits for a handler, from the first that was asked for on.

    Starting Python and importing all that takes longer than many handlers do.
    """

    def __init__(self) -> None:
        self._modules: list[str] = []
        self._spare: Task[ChildProcess] | None = None
        self._unwanted: list[Task[ChildProcess]] = []
        self._ending: set[Task[None]] = set()
        self._closed = False

    def prepare(self, modules: Iterable[str]) -> None:
        """Have processes that wait import these modules meanwhile."""
        self._modules = sorted(modules)

    async def take(self) -> ChildProcess:
        """A process for one handler, and begin to start the next."""
        loop = asyncio.get_running_loop()
        starting = self._spare or loop.create_task(ChildProcess.start())
        self._spare = None
        try:
            child = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Whoever wanted it is to stop; the next one has it.
            self._unwanted.append(starting)
            raise
        if not child.alive:
            await child.discard()
            child = await ChildProcess.start()
        if self._spare is None and not self._closed:
            self._spare = self._unwanted.pop() if self._unwanted else loop.create_task(self._prepared())
        return child

    async def _prepared(self) -> ChildProcess:
        child = await ChildProcess.start()
        child.writer.write(orjson.dumps({"path": sys.path, "modules": self._modules}) + b"\n")
        return child

    async def end(self, child: ChildProcess) -> None:
        """End a process with everything below it. Whoever waits for that may be cancelled: it is done all the same."""
        ending = asyncio.get_running_loop().create_task(child.end())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        await asyncio.shield(ending)

    async def close(self) -> None:
        """End the processes that wait, and wait for those that end."""
        self._closed = True
        waiting = [*self._unwanted, *([] if self._spare is None else [self._spare])]
        self._spare = None
        self._unwanted.clear()
        for starting in waiting:
            await (await starting).discard()
        if self._ending:
            await asyncio.wait(self._ending)
