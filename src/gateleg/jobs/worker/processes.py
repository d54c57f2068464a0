"""Handlers in processes of their own, which are killed with everything below them when they must end.

The process gets the handler by its name, or makes it again as the host has made it, with a store and all else of its own. What it prints
and logs goes into the job's log.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import sys
from typing import IO, TYPE_CHECKING, Any

import orjson

from gateleg.jobs.errors import BadHandler
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.tables.job import Job
from gateleg.jobs.worker.capture import PrintedLines
from gateleg.jobs.worker.child_process import LINE_LIMIT
from gateleg.jobs.worker.runners import Run
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.worker.child_process import ChildProcess
    from gateleg.jobs.worker.runners import StopReason

#: Seconds between asking a process to end and killing it.
KILL_AFTER = 5.0
#: How much of what a process prints is read at once.
_BLOCK = 64 * 1024
#: Seconds in which what a process has printed is read after its end.
_LAST_WORDS = 1.0


class ChildFailed(Exception):
    """A handler in another process raised. `kinds` are the names of its exception and of that one's bases."""

    def __init__(self, kinds: tuple[str, ...], message: str, trace: str | None = None) -> None:
        super().__init__(message)
        self.kinds = kinds
        self.trace = trace


def module_of(named: Any) -> str:
    """The module to import something from, also when it is the one that was started with `python -m`."""
    module: str = named.__module__
    if module != "__main__":
        return module
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        raise BadHandler(f"{named.__qualname__} is in a script, which the process of a handler cannot import.", fix="Move it to a module.")
    return str(spec.name)


def source_of(handler: Handler) -> dict[str, Any]:
    """Where the process of a handler gets it from; `BadHandler` when it cannot get it."""
    if handler.factory is not None:
        return {"factory": handler.factory.address, "arguments": handler.factory.arguments}
    if "<" in handler.handle.__qualname__ or "." in handler.handle.__qualname__:
        raise BadHandler(
            f"The handler of {handler.job_type} runs in a process, which cannot import {handler.handle.__qualname__}.",
            fix="Define it at the top of a module, or in the function that an Application names as its `jobs`.",
        )
    config = handler.config
    return {
        "handle": [module_of(handler.handle), handler.handle.__qualname__],
        "config": None if config is None else [module_of(config), config.__qualname__],
    }


def modules_of(handlers: Iterable[Handler]) -> set[str]:
    """The modules that the processes of handlers import; `BadHandler` when one of them cannot be had in a process."""
    sources = [source_of(handler) for handler in handlers if handler.runs == "process"]
    return {source["factory"].split(":")[0] if "factory" in source else source["handle"][0] for source in sources}


class ProcessRun(Run):
    """In a process, from start to end of the attempt."""

    _child: ChildProcess | None = None
    _killer: asyncio.TimerHandle | None = None

    async def outcome(self) -> Any:
        """What the handler returned."""
        self._check_stopping()
        order = self._order()
        self._child = await self._means.children.take()
        printing = asyncio.ensure_future(self._print(self._child.printed))
        try:
            self._child.name_scratch(self.scratch)
            self._send(order)
            if self.stopping is not None:
                self.stop(self.stopping)
            answer = await self._converse(self._child.reader)
        finally:
            if self._killer is not None:
                self._killer.cancel()
            # Whatever the handler has started and left behind ends with it.
            await self._means.children.end(self._child)
            await asyncio.wait({printing}, timeout=_LAST_WORDS)
            if printing.cancel():
                await asyncio.wait({printing})
        return self.handler.checked_result(answer)

    def _order(self) -> dict[str, Any]:
        return {
            "path": sys.path,
            "source": source_of(self.handler),
            "job": spec_of(Job).encode(self.job),
            "scratch": str(self.scratch),
        }

    def _send(self, message: dict[str, Any]) -> None:
        if self._child is not None and not self._child.writer.is_closing():
            self._child.writer.write(orjson.dumps(message) + b"\n")

    async def _converse(self, reader: asyncio.StreamReader) -> Any:
        """Do what the process asks until it has a result."""
        while True:
            with contextlib.suppress(ConnectionError):
                line = await _line(reader)
                if line:
                    kind, *arguments = orjson.loads(line)
                    if kind == "result":
                        return arguments[0]
                    await self._heard(kind, arguments)
                    continue
            assert self._child is not None
            status = await self._child.process.wait()
            raise ChildFailed(("process-died",), f"The process ended with status {status} and without a result.")

    async def _heard(self, kind: str, arguments: list[Any]) -> None:
        if kind in ("log", "capture", "progress", "emit", "output", "metric"):
            getattr(self, kind)(*arguments)
        elif kind == "submit":
            await self._submit_for(*arguments)
        elif kind == "snooze":
            raise Snooze(arguments[0])
        elif kind == "give-up":
            raise GiveUp(arguments[0])
        elif kind == "error":
            raise ChildFailed(tuple(arguments[0]), arguments[1], arguments[2])

    async def _submit_for(self, number: int, submissions: list[dict[str, Any]]) -> None:
        from gateleg.jobs.worker.child import submission_of

        try:
            submitted = await self._submit([submission_of(values) for values in submissions])
        except Exception as error:
            self._send({"answer": number, "error": [type(error).__name__, str(error)]})
        else:
            answers = [[spec_of(Job).encode(one.job), one.created] for one in submitted]
            self._send({"answer": number, "submitted": answers})

    async def _print(self, printed: IO[bytes]) -> None:
        """Put what the process prints, by whatever means, into the log."""
        reader = asyncio.StreamReader()
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), printed)
        decoder, lines = codecs.getincrementaldecoder("utf-8")("replace"), PrintedLines(self.capture)
        with contextlib.closing(pipe):
            while block := await reader.read(_BLOCK):
                lines.write("stdout", decoder.decode(block))
        lines.end()

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end, and kill its process a little later."""
        super().stop(reason)
        self._send({"stop": reason})
        if self._child is not None and self._killer is None:
            self._killer = asyncio.get_running_loop().call_later(KILL_AFTER, self.kill)

    def kill(self) -> None:
        """Kill the process and everything below it."""
        if self._child is not None:
            self._child.kill()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._child is not None and self._child.alive


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next message of a process."""
    try:
        return await reader.readline()
    except ValueError:
        what = f"The handler has said or returned more than {LINE_LIMIT:,} bytes at once."
        raise ChildFailed(("too-much-at-once",), f"{what} Put large values into the object store, and return their keys.") from None
