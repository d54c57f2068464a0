"""The program of a process that runs a handler: `python -m gateleg.jobs.worker.child <socket> <lifeline>`.

The supervisor: the parent process of a handler's process, which kills the handler and all its descendants, and runs no other code.

A handler that computes in C or hangs cannot end itself, and a worker that was killed by SIGKILL cannot end anything. So a small process
stands between the two. It waits until the handler ends or the worker's end of a pipe (the lifeline) is closed, kills all remaining
processes, removes the scratch folder whose path it read from the lifeline, and exits with the handler's status.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import dataclasses
import importlib
import inspect
import os
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import JobError
from gateleg.jobs.rules import class_name, error_message, escape_undecodable
from gateleg.jobs.signals import GiveUp, Snooze
from gateleg.jobs.submission import Submission, Submitted
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import JobContext, wait_in
from gateleg.jobs.worker.output import PrintedLines, checked_event, log_to, print_to
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence

    from gateleg.jobs.handlers import Handle

T = TypeVar("T")


class WorkerConnection:
    """The connection from a handler's process to the worker that started it."""

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
        """The next message of the worker. Exits the process if the worker has closed the connection."""
        line = self._lines.readline()
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
        line = orjson.dumps([kind, *arguments]) + b"\n"
        with self._lock:
            self._connection.sendall(line)

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
        self.send("submit", number, [values_of(submission) for submission in submissions])
        message = await asyncio.wrap_future(answer)
        if "error" in message:
            raise JobError(message["error"][1], fix=f"The worker raised {message['error'][0]}.")
        return [Submitted(spec_of(Job).decode(item), created) for item, created in message["submitted"]]


def values_of(submission: Submission) -> dict[str, Any]:
    """A submission as JSON values."""
    values = {field.name: getattr(submission, field.name) for field in dataclasses.fields(submission)}
    config = values["config"]
    values["config"] = config.model_dump(mode="json") if isinstance(config, BaseModel) else config
    return {name: value for name, value in values.items() if value is not None}


def submission_of(values: dict[str, Any]) -> Submission:
    """A submission from JSON values."""
    from datetime import datetime

    read: dict[str, Any] = dict(values)
    for name in ("job_id", "parent_job_id"):
        if name in read:
            read[name] = UUID(read[name])
    for name in ("run_at", "start_by"):
        if name in read:
            read[name] = datetime.fromisoformat(read[name])
    read["dependencies"] = [UUID(text) for text in read.get("dependencies", ())]
    return Submission(**read)


def _import(address: list[str]) -> Any:
    module, name = address
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@asynccontextmanager
async def _handler_and_config(source: dict[str, Any], job: Job) -> AsyncIterator[tuple[Handle, Any]]:
    """The handler of a job, imported or from the factory that the host also used, and its validated config."""
    if "factory" not in source:
        config = source["config"]
        yield _import(source["handle"]), job.job_config if config is None else _import(config).model_validate(job.job_config)
        return
    async with _import(source["factory"].split(":"))(**source["arguments"]) as jobs:
        handler = jobs.of(job.job_type)
        yield handler.handle, handler.loaded_config(job.job_config)


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


async def _run_handler(worker: WorkerConnection, message: dict[str, Any]) -> Any:
    """Run the handler and return its result. A stop message cancels its task."""
    loop = worker.loop = asyncio.get_running_loop()
    job = spec_of(Job).decode(message["job"])
    async with _handler_and_config(message["source"], job) as (handle, config):
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
        result = asyncio.run(_run_handler(worker, message))
        return result.model_dump(mode="json") if isinstance(result, BaseModel) else result
    finally:
        worker.printed.end()


def _preload(modules: list[str]) -> None:
    """Import the modules of handlers. Import errors are ignored here, and reported when the handler is needed."""
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)


def main(descriptor: int) -> None:
    """Run one handler and send its result or error to the worker."""
    worker = WorkerConnection(socket.socket(fileno=descriptor))
    message = worker.receive()
    sys.path[:] = message["path"]
    if "modules" in message:
        _preload(message["modules"])
        message = worker.receive()
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


def start(descriptor: int, lifeline: int) -> None:
    """Wait for a handler and run it, under a supervisor that ends with the worker."""

    def run() -> None:
        try:
            main(descriptor)
        finally:
            sys.stdout.flush()

    supervised(lifeline, run, only=descriptor)


_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: How long to wait for killed processes to end. A process that hangs in the kernel is left to the system.
_REAP_TIMEOUT_SECONDS = 2.0


def supervised(lifeline: int, run: Callable[[], None], *, only: int) -> None:
    """Call `run` in a child process, and exit when the child has ended or the lifeline is closed. Does not return.

    `only` is a file descriptor that only the child keeps open. Call this while the process has a single thread. On Linux, orphaned
    descendants become children of this process, so it also finds processes that have left the handler's process group. On other systems
    it kills only the group.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken = _wake_on(signal.SIGCHLD, signal.SIGTERM)
    parent = os.getpid()
    handler = os.fork()
    if handler == 0:
        _become_handler(parent, lifeline)
        run()
        os._exit(0)
    with contextlib.suppress(OSError):
        os.setpgid(handler, handler)
    os.close(only)
    folder = bytearray()
    status = _wait(handler, lifeline, woken, folder)
    _kill_all(handler)
    if folder:
        shutil.rmtree(os.fsdecode(bytes(folder)), ignore_errors=True)
    _end_like(status)


def _become_handler(parent: int, lifeline: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.close(lifeline)
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    """Call prctl (Linux only)."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wake_on(*signals: int) -> int:
    """Return a file descriptor from which the numbers of received signals can be read."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in signals:
        signal.signal(number, lambda *_: None)
    return woken


def _wait(handler: int, lifeline: int, woken: int, folder: bytearray) -> int:
    """Wait until the handler or the worker ends, or SIGTERM arrives, and return the handler's wait status.

    Before the worker closes the lifeline, it sends the path of the scratch folder through it.
    """
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        status = _reap(handler)
        if status is not None:
            return status
        if lifeline in ready:
            data = os.read(lifeline, 8192)
            folder += data
            if not data:
                return int(signal.SIGKILL)
        if woken in ready and signal.SIGTERM in os.read(woken, 512):
            return int(signal.SIGKILL)


def _reap(handler: int) -> int | None:
    """Reap the children that have ended. Returns the wait status of the handler if it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            found = status if pid == handler else found
    return found


def _kill_all(handler: int) -> None:
    """Kill the handler's process group and all descendants. They are stopped first, so that none can fork in the meantime.

    A process whose parent has ended becomes a child of this one, so all are gone when this process has no children left. A scan of /proc
    alone is not enough: it may miss a process that is just changing its parent.
    """
    with contextlib.suppress(OSError):
        os.killpg(handler, signal.SIGKILL)
    until = time.monotonic() + _REAP_TIMEOUT_SECONDS
    while True:
        stopped: set[int] = set()
        while fresh := descendants(os.getpid()) - stopped:
            _signal(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal(stopped, signal.SIGKILL)
        _reap(handler)
        if not _has_children() or time.monotonic() > until:
            return
        time.sleep(0.002)


def _has_children() -> bool:
    """Whether this process has children, including ended ones that have not been reaped."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _signal(pids: set[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def descendants(pid: int) -> set[int]:
    """The living descendants of a process, according to /proc.

    An ending process with several threads may already be a zombie and still be the parent of its children.
    """
    children: dict[int, list[int]] = {}
    ended: set[int] = set()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                state, parent = _state_of(name)
                if state:
                    children.setdefault(parent, []).append(int(name))
                if state in ("Z", "X"):
                    ended.add(int(name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found - ended


def _state_of(pid: str) -> tuple[str, int]:
    """The state and the parent of a process; an empty state if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The process name is in parentheses and may contain any character.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return "", 0
    return state.decode(), int(parent)


def _end_like(status: int) -> None:
    """Exit with another process's wait status, without leaving a core file."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    start(*map(int, sys.argv[1:]))
