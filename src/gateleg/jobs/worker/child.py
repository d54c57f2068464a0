"""The inside of a handler's process: `run_handler` runs the handler that the worker sends, and returns its result or error.

Messages are lines of JSON: what the handler logs, reports and submits to the worker, answers and the request to stop from it.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
import tempfile
import threading
import traceback
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import JobError
from gateleg.jobs.rules import class_name, error_message, escape_undecodable
from gateleg.jobs.submission import Submission, Submitted, as_json
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import GiveUp, JobContext, Snooze, wait_in
from gateleg.jobs.worker.output import PrintedLines, checked_event, log_to, print_to
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from gateleg.jobs.handlers import Handle
    from gateleg.processes import Connection

T = TypeVar("T")


class WorkerConnection:
    """The connection from a handler's process to the worker that started it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._answers: dict[int, Future[dict[str, Any]]] = {}
        self.printed = PrintedLines(self.capture)
        self.stopping: str | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._scratch: Path | None = None
        #: called when the handler is to stop
        self.on_stop: Callable[[], object] = lambda: None

    def receive(self) -> dict[str, Any]:
        """The next message of the worker. Exits the process if the worker has closed the connection."""
        line = self._connection.receive()
        if not line:
            # The supervisor kills the subprocesses.
            os._exit(1)
        message: dict[str, Any] = orjson.loads(line)
        return message

    def listen(self) -> None:
        """Handle the messages of the worker, forever."""
        while True:
            message = self.receive()
            if "stop" in message:
                self.stopping = message["stop"]
                self.on_stop()
            elif "answer" in message:
                self._answers.pop(message["answer"]).set_result(message)

    def send(self, kind: str, *arguments: Any) -> None:
        """Send a message to the worker."""
        self._connection.send(orjson.dumps([kind, *arguments]))

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        self.send("log", escape_undecodable(message), escape_undecodable(level))

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add captured output to the log."""
        self.send("capture", escape_undecodable(message), escape_undecodable(level))

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        self.send("progress", done, total, escape_undecodable(message))

    def emit(self, event: Any) -> None:
        """Emit an event for followers of the job."""
        self.send("emit", checked_event(event)[0])

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored."""
        self.send("output", kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        self.send("metric", name, value)

    @property
    def scratch(self) -> Path:
        """The temporary folder of the attempt, which the worker has created."""
        assert self._scratch is not None
        return self._scratch

    @scratch.setter
    def scratch(self, folder: Path) -> None:
        """Set the folder, and make it the temporary folder of this process and its subprocesses."""
        self._scratch = folder
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in this process's event loop and return its result."""
        assert self.loop is not None
        return wait_in(self.loop, work)

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit child jobs through the worker."""
        number, answer = len(self._answers) + id(submissions), Future[dict[str, Any]]()
        self._answers[number] = answer
        self.send("submit", number, [as_json(submission) for submission in submissions])
        message = await asyncio.wrap_future(answer)
        if "error" in message:
            raise JobError(message["error"][1], fix=f"The worker raised {message['error'][0]}.")
        return [Submitted(spec_of(Job).decode(item), created) for item, created in message["submitted"]]


def _import(address: list[str]) -> Any:
    module, name = address
    member: Any = importlib.import_module(module)
    for part in name.split("."):
        member = getattr(member, part)
    return member


@asynccontextmanager
async def _handler_and_config(worker: WorkerConnection, source: dict[str, Any], job: Job) -> AsyncIterator[tuple[Handle, Any]]:
    """The handler of a job, imported or from the factory that the host also used, and its validated config.

    What the handler has measured with the resources of the factory is sent to the worker.
    """
    if "factory" not in source:
        config = source["config"]
        yield _import(source["handle"]), job.job_config if config is None else _import(config).model_validate(job.job_config)
        return
    async with _import(source["factory"].split(":"))(**source["arguments"]) as jobs:
        handler = jobs.of(job.job_type)
        try:
            yield handler.handle, handler.loaded_config(job.job_config)
        finally:
            if jobs.measurements is not None and (measured := jobs.measurements()):
                worker.send("measured", measured)


async def _in_thread(handle: Handle, context: JobContext, config: Any) -> Any:
    """Call a plain function in a thread, so that it can use `job.wait`. The process does not wait for the thread to end."""
    done: Future[Any] = Future()

    def call() -> None:
        try:
            done.set_result(handle(context, config))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    result = await asyncio.wrap_future(done)
    return await result if inspect.isawaitable(result) else result


async def _await_handler(worker: WorkerConnection, message: dict[str, Any]) -> Any:
    """Run the handler and return its result. A stop message cancels its task."""
    loop = worker.loop = asyncio.get_running_loop()
    job = spec_of(Job).decode(message["job"])
    async with _handler_and_config(worker, message["source"], job) as (handle, config):
        log_to(worker)
        context = JobContext(job, worker)
        work = handle(context, config) if inspect.iscoroutinefunction(handle) else _in_thread(handle, context, config)
        task = asyncio.ensure_future(work)
        worker.on_stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if worker.stopping is not None:
            task.cancel()
        return await task


def _result(worker: WorkerConnection, message: dict[str, Any]) -> Any:
    """Run the handler, send the rest of its printed output, and return its result as JSON values."""
    print_to(worker)
    try:
        result = asyncio.run(_await_handler(worker, message))
        return result.model_dump(mode="json") if isinstance(result, BaseModel) else result
    finally:
        worker.printed.end()


def run_handler(connection: Connection) -> None:
    """Run one handler and send its result or error to the worker."""
    worker = WorkerConnection(connection)
    message = worker.receive()
    sys.path[:] = message["path"]
    worker.scratch = Path(message["scratch"])
    threading.Thread(target=worker.listen, daemon=True).start()
    try:
        worker.send("result", _result(worker, message))
    except Snooze as snooze:
        worker.send("snooze", snooze.seconds)
    except GiveUp as error:
        worker.send("give-up", error_message(error))
    except BaseException as error:
        kinds = [class_name(kind) for kind in type(error).__mro__ if kind is not object]
        # Leave out the frame of this function.
        trace = traceback.format_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        worker.send("error", kinds, error_message(error), escape_undecodable("".join(trace)))
