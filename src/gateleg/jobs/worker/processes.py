"""Handlers in their own processes, which are killed with all their subprocesses when they must end.

A process imports the handler by its name, or creates it with the same factory as the host, with its own store and other resources. Its
printed and logged output goes to the job's log.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import sys
from typing import IO, TYPE_CHECKING, Any

import orjson

from gateleg.jobs.errors import BadHandler
from gateleg.jobs.finish.outcome import ChildFailed
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.tables.job import Job
from gateleg.jobs.worker.capture import PrintedLines
from gateleg.jobs.worker.child_process import MAX_LINE_BYTES
from gateleg.jobs.worker.runners import Run
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.worker.child_process import ChildProcess
    from gateleg.jobs.worker.runners import StopReason

#: Seconds between asking a process to end and killing it.
KILL_AFTER_SECONDS = 5.0
#: How much printed output is read at once.
_BLOCK_BYTES = 64 * 1024
#: Seconds to read the remaining output of a process after its end.
_OUTPUT_GRACE_SECONDS = 1.0


def module_of(target: Any) -> str:
    """The module from which to import a function or class, also if the module was started with `python -m`."""
    module: str = target.__module__
    if module != "__main__":
        return module
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is None:
        raise BadHandler(f"{target.__qualname__} is defined in a script, which another process cannot import.", fix="Move it to a module.")
    return str(spec.name)


def source_of(handler: Handler) -> dict[str, Any]:
    """How a process finds the handler: import addresses or a factory. Raises `BadHandler` if it cannot be imported."""
    if handler.factory is not None:
        return {"factory": handler.factory.address, "arguments": handler.factory.arguments}
    if "<" in handler.handle.__qualname__ or "." in handler.handle.__qualname__:
        raise BadHandler(
            f"The handler of {handler.job_type} has runs='process', but another process cannot import {handler.handle.__qualname__}.",
            fix="Define it at the top level of a module, or in the function that an Application has as its `jobs`.",
        )
    config = handler.config
    return {
        "handle": [module_of(handler.handle), handler.handle.__qualname__],
        "config": None if config is None else [module_of(config), config.__qualname__],
    }


def modules_of(handlers: Iterable[Handler]) -> set[str]:
    """The modules that the processes of handlers import. Raises `BadHandler` if a handler cannot be imported."""
    sources = [source_of(handler) for handler in handlers if handler.runs == "process"]
    return {source["factory"].split(":")[0] if "factory" in source else source["handle"][0] for source in sources}


class ProcessRun(Run):
    """Runs the handler of one attempt in its own process."""

    _child: ChildProcess | None = None
    _kill_timer: asyncio.TimerHandle | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._check_stopping()
        message = self._start_message()
        self._child = await self._resources.children.take()
        printing = asyncio.ensure_future(self._print(self._child.printed))
        try:
            self._child.set_scratch(self.scratch)
            self._send(message)
            if self.stopping is not None:
                self.stop(self.stopping)
            answer = await self._receive_result(self._child.reader)
        finally:
            if self._kill_timer is not None:
                self._kill_timer.cancel()
            # This also ends subprocesses that the handler has left behind.
            await self._resources.children.end(self._child)
            await asyncio.wait({printing}, timeout=_OUTPUT_GRACE_SECONDS)
            if printing.cancel():
                await asyncio.wait({printing})
        return self.handler.checked_result(answer)

    def _start_message(self) -> dict[str, Any]:
        return {
            "path": sys.path,
            "source": source_of(self.handler),
            "job": spec_of(Job).encode(self.job),
            "scratch": str(self.scratch),
        }

    def _send(self, message: dict[str, Any]) -> None:
        if self._child is not None and not self._child.writer.is_closing():
            self._child.writer.write(orjson.dumps(message) + b"\n")

    async def _receive_result(self, reader: asyncio.StreamReader) -> Any:
        """Handle the messages of the process until it sends the result."""
        while True:
            with contextlib.suppress(ConnectionError):
                line = await _line(reader)
                if line:
                    kind, *arguments = orjson.loads(line)
                    if kind == "result":
                        return arguments[0]
                    await self._handle_message(kind, arguments)
                    continue
            assert self._child is not None
            status = await self._child.process.wait()
            raise ChildFailed(("process-died",), f"The handler's process ended with status {status} before it returned a result.")

    async def _handle_message(self, kind: str, arguments: list[Any]) -> None:
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
        """Add everything that the process prints to the job's log."""
        reader = asyncio.StreamReader()
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), printed)
        decoder, lines = codecs.getincrementaldecoder("utf-8")("replace"), PrintedLines(self.capture)
        with contextlib.closing(pipe):
            while block := await reader.read(_BLOCK_BYTES):
                lines.write("stdout", decoder.decode(block))
        lines.end()

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end, and kill its process if it has not ended after `KILL_AFTER_SECONDS`."""
        super().stop(reason)
        self._send({"stop": reason})
        if self._child is not None and self._kill_timer is None:
            self._kill_timer = asyncio.get_running_loop().call_later(KILL_AFTER_SECONDS, self.kill)

    def kill(self) -> None:
        """Kill the process and its subprocesses."""
        if self._child is not None:
            self._child.kill()

    @property
    def alive(self) -> bool:
        """Whether the process has not ended yet."""
        return self._child is not None and self._child.alive


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next message of a process."""
    try:
        return await reader.readline()
    except ValueError:
        problem = f"The handler returned or logged more than {MAX_LINE_BYTES:,} bytes at once."
        raise ChildFailed(("too-much-at-once",), f"{problem} Put large values into the object store and return their keys.") from None
