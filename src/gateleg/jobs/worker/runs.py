"""Where handlers run: in the worker's event loop, in their own thread, or in their own process, which can be killed.

The process of a handler imports it by its name, or creates it with the same factory as the host, with its own store and other resources.
Its printed and logged output goes to the job's log. When the handler must end, the process is killed with all its subprocesses.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import inspect
import sys
import threading
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import orjson

from gateleg.jobs.errors import BadHandler, UseAwait
from gateleg.jobs.finish import ChildFailed
from gateleg.jobs.submission import from_json
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import GiveUp, JobContext, Snooze, wait_in
from gateleg.jobs.worker.output import PrintedLines, captured_by
from gateleg.model import spec_of
from gateleg.processes import ChildPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.jobs.submission import Submission, Submitted
    from gateleg.jobs.worker.output import AttemptRecorder, ScratchFolders
    from gateleg.processes import Child

T = TypeVar("T")

StopReason = Literal["cancelled", "timed-out", "draining", "lease-lost"]
#: Seconds between asking a process to end and killing it.
KILL_AFTER_SECONDS = 5.0
#: How much printed output is read at once.
_BLOCK_BYTES = 64 * 1024
#: Seconds to read the remaining output of a process after its end.
_OUTPUT_GRACE_SECONDS = 1.0
#: The maximum size of a message of a handler's process.
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class AttemptResources:
    """The scratch folders and processes that all attempts of a worker share."""

    folders: ScratchFolders
    children: ChildPool = field(default_factory=lambda: ChildPool("gateleg.jobs.worker.child:run_handler", max_line=_MAX_MESSAGE_BYTES))


class Run:
    """Runs the handler of one attempt. `result` returns its result or raises its exception; `stop` asks it to end."""

    def __init__(self, handler: Handler, job: Job, recorder: AttemptRecorder, queue: AsyncQueue, resources: AttemptResources) -> None:
        self.handler = handler
        self.job = job
        self.recorder = recorder
        self._queue = queue
        self._resources = resources
        self._scratch: Path | None = None
        self.stopping: StopReason | None = None

    @property
    def scratch(self) -> Path:
        """The temporary folder of the attempt, created on first use."""
        if self._scratch is None:
            self._scratch = self._resources.folders.make(self.job)
        return self._scratch

    async def clean_up(self) -> None:
        """Remove the temporary folder of the attempt, if it has one."""
        if self._scratch is not None:
            await asyncio.to_thread(self._resources.folders.remove, self._scratch)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from a plain function and return its result."""
        work.close()
        raise UseAwait("job.wait(...) was called in an async handler; it is for plain functions that run in a thread or a process.")

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        raise NotImplementedError

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end."""
        self.stopping = self.stopping or reason

    def _check_stopping(self) -> None:
        """Raise `CancelledError` if the handler was asked to stop before it started."""
        if self.stopping is not None:
            raise asyncio.CancelledError

    def kill(self) -> None:
        """End the handler by force, if possible."""

    @property
    def alive(self) -> bool:
        """Whether the handler still runs."""
        return False

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._submit(submissions)

    async def _submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        return await self._queue.submit_many(submissions, under=self.job)

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        self.recorder.log(message, level)

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add captured output to the log."""
        self.recorder.capture(message, level)

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        self.recorder.progress(done, total, message)

    def emit(self, event: Any) -> None:
        """Emit an event for followers of the job."""
        self.recorder.emit(event)

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored."""
        self.recorder.output(kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        self.recorder.metric(name, value)


class InlineRun(Run):
    """Runs an async handler in the worker's event loop. Stopping cancels its task."""

    _task: asyncio.Task[Any] | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._task = asyncio.current_task()
        self._check_stopping()
        config = self.handler.loaded_config(self.job.job_config)
        try:
            with captured_by(self.recorder):
                result = await self.handler.handle(JobContext(self.job, self), config)
            return self.handler.checked_result(result)
        except SystemExit as exit:
            # That would end the worker with all its other jobs.
            raise RuntimeError(f"The handler called sys.exit({exit.code!r}); raise an exception instead.") from exit

    def stop(self, reason: StopReason) -> None:
        """Cancel the handler's task."""
        super().stop(reason)
        if self._task is not None:
            self._task.cancel()

    @property
    def alive(self) -> bool:
        """Whether the handler has not ended yet."""
        return self._task is not None and not self._task.done()


class ThreadRun(Run):
    """Runs a handler that computes or blocks in its own thread; an async one gets its own event loop there.

    A thread cannot be stopped from outside: the handler must check whether it is to stop.
    """

    _thread: threading.Thread | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._check_stopping()
        self._worker_loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = self._worker_loop.create_future()
        self._thread = threading.Thread(target=self._work, args=(done,), name=f"job-{self.job.job_id}", daemon=True)
        self._thread.start()
        return self.handler.checked_result(await done)

    def _work(self, done: asyncio.Future[Any]) -> None:
        result: Any = None
        error: BaseException | None = None
        try:
            config = self.handler.loaded_config(self.job.job_config)
            with captured_by(self.recorder):
                result = self.handler.handle(JobContext(self.job, self), config)
                if inspect.isawaitable(result):
                    result = asyncio.run(_awaited(result))
        except BaseException as raised:
            error = raised
        # The worker may have stopped waiting for the thread and closed its loop.
        with contextlib.suppress(RuntimeError):
            self._worker_loop.call_soon_threadsafe(_set_done, done, result, error)

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit child jobs in the worker's event loop."""
        pending: Future[list[Submitted]] = asyncio.run_coroutine_threadsafe(self._submit(submissions), self._worker_loop)
        return await asyncio.wrap_future(pending)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the worker's event loop and return its result."""
        return wait_in(self._worker_loop, work)

    @property
    def alive(self) -> bool:
        """Whether the thread has not ended yet."""
        return self._thread is not None and self._thread.is_alive()


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _set_done(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))


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

    _child: Child | None = None
    _kill_timer: asyncio.TimerHandle | None = None

    async def result(self) -> Any:
        """Run the handler and return its validated result."""
        self._check_stopping()
        message = self._start_message()
        child = self._child = await self._resources.children.take()
        assert child.printed is not None
        printing = asyncio.ensure_future(self._print(child.printed))
        try:
            child.remove_at_end(self.scratch)
            self._send(message)
            if self.stopping is not None:
                self.stop(self.stopping)
            answer = await self._receive_result(child)
        finally:
            if self._kill_timer is not None:
                self._kill_timer.cancel()
            # This also ends subprocesses that the handler has left behind.
            await child.end()
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
        if self._child is not None:
            self._child.send(orjson.dumps(message))

    async def _receive_result(self, child: Child) -> Any:
        """Handle the messages of the process until it sends the result."""
        while line := await _line(child):
            kind, *arguments = orjson.loads(line)
            if kind == "result":
                return arguments[0]
            await self._handle_message(kind, arguments)
        status = await child.wait()
        raise ChildFailed(("process-died",), f"The handler's process ended with status {status} before it returned a result.")

    async def _handle_message(self, kind: str, arguments: list[Any]) -> None:
        if kind in ("log", "capture", "progress", "emit", "output", "metric"):
            getattr(self, kind)(*arguments)
        elif kind == "measured":
            if self._queue.context.jobs.on_measurements is not None:
                self._queue.context.jobs.on_measurements(arguments[0])
        elif kind == "submit":
            await self._submit_for(*arguments)
        elif kind == "snooze":
            raise Snooze(arguments[0])
        elif kind == "give-up":
            raise GiveUp(arguments[0])
        elif kind == "error":
            raise ChildFailed(tuple(arguments[0]), arguments[1], arguments[2])

    async def _submit_for(self, number: int, submissions: list[dict[str, Any]]) -> None:
        try:
            submitted = await self._submit([from_json(values) for values in submissions])
        except Exception as error:
            self._send({"answer": number, "error": [type(error).__name__, str(error)]})
        else:
            answers = [[spec_of(Job).encode(submission.job), submission.created] for submission in submitted]
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


async def _line(child: Child) -> bytes:
    """The next message of a process."""
    try:
        return await child.receive()
    except ValueError:
        problem = f"The handler returned or logged more than {_MAX_MESSAGE_BYTES:,} bytes at once."
        raise ChildFailed(("too-much-at-once",), f"{problem} Put large values into the object store and return their keys.") from None
