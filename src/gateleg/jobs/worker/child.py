"""What runs in the process of a handler: `python -m gateleg.jobs.worker.child <socket> <lifeline>`."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import inspect
import os
import socket
import sys
import tempfile
import threading
import traceback
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import orjson
from pydantic import BaseModel

from gateleg.jobs.context import JobContext, wait_in
from gateleg.jobs.errors import JobError
from gateleg.jobs.rules import class_name
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.submit.submission import Submission, Submitted
from gateleg.jobs.tables.job import Job
from gateleg.jobs.texts import told_by, writable
from gateleg.jobs.worker.capture import PrintedLines, log_to, print_to
from gateleg.jobs.worker.output import checked_event
from gateleg.jobs.worker.supervisor import supervised
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from gateleg.jobs.handlers import Handle

T = TypeVar("T")


class Pipe:
    """The link from a handler to the worker that started its process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._lock = threading.Lock()
        self._answers: dict[int, Future[dict[str, Any]]] = {}
        self.printed = PrintedLines(self.capture)
        self.stopping: str | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._scratch: Path | None = None
        #: called when the handler is to stop
        self.on_stop: Callable[[], object] = lambda: None

    def receive(self) -> dict[str, Any]:
        """The next message of the worker; when there is no worker any more, the process ends."""
        line = self._lines.readline()
        if not line:
            # The supervisor sees to everything that this process has started.
            os._exit(1)
        message: dict[str, Any] = orjson.loads(line)
        return message

    def listen(self) -> None:
        """Take what the worker says, for ever."""
        while True:
            message = self.receive()
            if "stop" in message:
                self.stopping = message["stop"]
                self.on_stop()
            elif "answer" in message:
                self._answers.pop(message["answer"]).set_result(message)

    def send(self, kind: str, *arguments: Any) -> None:
        """Tell the worker."""
        line = orjson.dumps([kind, *arguments]) + b"\n"
        with self._lock:
            self._connection.sendall(line)

    def log(self, message: str, level: str = "INFO") -> None:
        """Add to the log."""
        self.send("log", writable(message), writable(level))

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add what was printed or logged to the log."""
        self.send("capture", writable(message), writable(level))

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Say how far the job is."""
        self.send("progress", done, total, writable(message))

    def emit(self, event: Any) -> None:
        """Send an event to those who follow the job."""
        self.send("emit", checked_event(event)[0])

    def output(self, kind: str, *locations: str) -> None:
        """Say where results are."""
        self.send("output", kind, *locations)

    def metric(self, name: str, value: Any) -> None:
        """Say a number about the work."""
        self.send("metric", name, value)

    @property
    def scratch(self) -> Path:
        """The folder of the attempt, which the worker has made."""
        assert self._scratch is not None
        return self._scratch

    @scratch.setter
    def scratch(self, folder: Path) -> None:
        """Use the folder for temporary files as well, also those of commands that the handler starts."""
        self._scratch = folder
        os.environ["TMPDIR"] = str(folder)
        tempfile.tempdir = None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something that is awaited, in the event loop of this process."""
        assert self.loop is not None
        return wait_in(self.loop, work)

    async def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Submit children through the worker, which has the store."""
        number, answer = len(self._answers) + id(submissions), Future[dict[str, Any]]()
        self._answers[number] = answer
        self.send("submit", number, [values_of(submission) for submission in submissions])
        message = await asyncio.wrap_future(answer)
        if "error" in message:
            raise JobError(message["error"][1], fix=f"The worker raised {message['error'][0]}.")
        return [Submitted(spec_of(Job).decode(item), created) for item, created in message["submitted"]]


def values_of(submission: Submission) -> dict[str, Any]:
    """A submission as JSON."""
    values = {field.name: getattr(submission, field.name) for field in dataclasses.fields(submission)}
    config = values["config"]
    values["config"] = config.model_dump(mode="json") if isinstance(config, BaseModel) else config
    return {name: value for name, value in values.items() if value is not None}


def submission_of(values: dict[str, Any]) -> Submission:
    """A submission from JSON."""
    from datetime import datetime

    read: dict[str, Any] = dict(values)
    for name in ("job_id", "parent"):
        if name in read:
            read[name] = UUID(read[name])
    if "run_at" in read:
        read["run_at"] = datetime.fromisoformat(read["run_at"])
    read["depends_on"] = [UUID(text) for text in read.get("depends_on", ())]
    return Submission(**read)


def _named(place: list[str]) -> Any:
    module, name = place
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@asynccontextmanager
async def _found(source: dict[str, Any], job: Job) -> AsyncIterator[tuple[Handle, Any]]:
    """The handler of a job and its config: imported, or made as the host has made it."""
    if "factory" not in source:
        config = source["config"]
        yield _named(source["handle"]), job.job_config if config is None else _named(config).model_validate(job.job_config)
        return
    async with _named(source["factory"].split(":"))(**source["arguments"]) as jobs:
        handler = jobs.of(job.job_type)
        yield handler.handle, handler.loaded_config(job.job_config)


async def _in_thread(handle: Handle, context: JobContext, config: Any) -> Any:
    """Call a plain function beside the event loop, so that it can wait for what must be awaited. The process does not wait for it."""
    done: Future[Any] = Future()

    def call() -> None:
        try:
            done.set_result(handle(context, config))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    result = await asyncio.wrap_future(done)
    return await result if inspect.isawaitable(result) else result


async def _carried_out(pipe: Pipe, order: dict[str, Any]) -> Any:
    """What the handler returns; being told to stop cancels what it awaits."""
    loop = pipe.loop = asyncio.get_running_loop()
    job = spec_of(Job).decode(order["job"])
    async with _found(order["source"], job) as (handle, config):
        log_to(pipe)
        context = JobContext(job, pipe)
        work = handle(context, config) if inspect.iscoroutinefunction(handle) else _in_thread(handle, context, config)
        task = asyncio.ensure_future(work)
        pipe.on_stop = lambda: loop.call_soon_threadsafe(task.cancel)
        if pipe.stopping is not None:
            task.cancel()
        return await task


def _result(pipe: Pipe, order: dict[str, Any]) -> Any:
    """Run the handler; what it has printed is with the worker afterwards."""
    print_to(pipe)
    try:
        result = asyncio.run(_carried_out(pipe, order))
        return result.model_dump(mode="json") if isinstance(result, BaseModel) else result
    finally:
        pipe.printed.end()


def _import_ahead(modules: list[str]) -> None:
    """Import what a handler is likely to need. What cannot be imported fails when it is needed, and is told then."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


def main(descriptor: int) -> None:
    """Run one handler and tell the worker what came of it."""
    pipe = Pipe(socket.socket(fileno=descriptor))
    order = pipe.receive()
    sys.path[:] = order["path"]
    if "modules" in order:
        _import_ahead(order["modules"])
        order = pipe.receive()
    pipe.scratch = Path(order["scratch"])
    threading.Thread(target=pipe.listen, daemon=True).start()
    try:
        pipe.send("result", _result(pipe, order))
    except Snooze as snooze:
        pipe.send("snooze", snooze.seconds)
    except GiveUp as error:
        pipe.send("give-up", told_by(error))
    except BaseException as error:
        kinds = [class_name(kind) for kind in type(error).__mro__ if kind is not object]
        # Without the frame of this function, which says nothing of the handler.
        trace = traceback.format_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        pipe.send("error", kinds, told_by(error), writable("".join(trace)))


def start(descriptor: int, lifeline: int) -> None:
    """Wait for a handler to run, under a supervisor that ends with the worker."""

    def run() -> None:
        try:
            main(descriptor)
        finally:
            sys.stdout.flush()

    supervised(lifeline, run, only=descriptor)


if __name__ == "__main__":
    start(*map(int, sys.argv[1:]))
