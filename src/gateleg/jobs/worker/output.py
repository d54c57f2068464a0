"""The output of running handlers: what they report, what they print, and the temporary files that they write.

`AttemptRecorder` holds log lines, progress, events, outputs and metrics until the worker writes them. It is thread-safe.

Printed and logged output is added to the log of the job, and still goes where it went before. The running job is a context variable: a
handler's tasks and `asyncio.to_thread` inherit it; threads that a handler starts itself do not.

`ScratchFolders` are the temporary folders of attempts, which are removed when the attempt ends:

    <root>/<worker>.lock            locked by the worker while it lives
    <root>/<worker>/<job>.<claim>/  the folder of an attempt

The operating system releases the lock when the worker ends, however it ends. This tells other workers which folders are abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import BadEvent
from gateleg.jobs.monitor.listing import FLUSH_BYTES, FLUSH_LINES, entries_of, fitting
from gateleg.jobs.rules import escape_undecodable
from gateleg.jobs.tables.job import DURATION_METRIC, LogEntry, Progress, Results
from gateleg.model.validation import construct_unchecked
from gateleg.model.wire import float_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from gateleg.jobs.tables.job import Job


#: The maximum length of a progress message.
_MAX_MESSAGE_CHARS = 500
#: The maximum size of an event, and the maximum number of unwritten events, beyond which further ones are dropped.
MAX_EVENT_BYTES = 64 * 1024
_MAX_UNWRITTEN_EVENTS = 10_000
#: The maximum number of unwritten lines, beyond which captured output is dropped: a handler that prints endlessly must not fill the memory.
MAX_CAPTURED_LINES = 5000


def checked_event(event: Any) -> tuple[Any, int]:
    """The event as a JSON value, and its size in bytes. Raises `BadEvent` if it is not JSON or too large."""
    value = event.model_dump(mode="json") if isinstance(event, BaseModel) else event
    try:
        size = len(orjson.dumps(value))
    except TypeError as error:
        raise BadEvent(f"The emitted event is not a JSON value: {error}.") from None
    if size > MAX_EVENT_BYTES:
        raise BadEvent(f"The emitted event has {size:,} bytes; the maximum is {MAX_EVENT_BYTES:,}.")
    return value, size


class AttemptRecorder:
    """The output of one attempt. `on_change` is called after new output, in the thread that produced it."""

    def __init__(self, now: Callable[[], datetime], on_change: Callable[[], None] | None = None) -> None:
        self._now = now
        self._on_change = on_change or _ignore
        self._lock = threading.Lock()
        self._lines: list[LogEntry] = []
        self._progress: Progress | None = None
        self._progress_unwritten = False
        self._closed = False
        self._printed: PrintedLines | None = None
        self._dropped_lines = 0
        self._events: list[tuple[Any, int]] = []
        self._dropped_events = 0
        self.outputs: dict[str, list[str]] = {}
        self.metrics: dict[str, Any] = {}

    def log(self, message: str, level: str = "INFO") -> None:
        """Add lines to the log."""
        with self._lock:
            if self._closed:
                return
            self._lines += entries_of(message, level, self._now())
        self._on_change()

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add printed or logged output of the handler. It is dropped, and counted, while too many lines are unwritten."""
        with self._lock:
            if self._closed:
                return
            entries = entries_of(message, level, self._now())
            room = max(0, MAX_CAPTURED_LINES - len(self._lines))
            if room:
                self._log_dropped_lines()
            self._lines += entries[:room]
            self._dropped_lines += len(entries[room:])
        self._on_change()

    @property
    def printed(self) -> PrintedLines:
        """Splits the handler's standard output into lines."""
        with self._lock:
            if self._printed is None:
                self._printed = PrintedLines(self.capture)
            return self._printed

    def end_lines(self) -> None:
        """Log the last printed lines, which do not end with a newline. Called when the handler has ended."""
        if self._printed is not None:
            self._printed.end()
        with self._lock:
            self._log_dropped_lines()

    def _log_dropped_lines(self) -> None:
        if self._dropped_lines:
            message = f"{self._dropped_lines:,} lines were dropped here, because they were printed faster than the log is written."
            self._lines += entries_of(message, "WARNING", self._now())
            self._dropped_lines = 0

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Set the progress of the job. Numbers that cannot be stored raise an error here, in the handler."""
        progress = Progress(done=done, total=total, message=escape_undecodable(message)[:_MAX_MESSAGE_CHARS])
        for number in (progress.done, progress.total):
            float_text(number)
        with self._lock:
            if self._closed:
                return
            self._progress = progress
            self._progress_unwritten = True
        self._on_change()

    def emit(self, event: Any) -> None:
        """Add an event for followers of the job. Raises `BadEvent` if it is not JSON or too large."""
        value, size = checked_event(event)
        with self._lock:
            if self._closed:
                return
            if len(self._events) < _MAX_UNWRITTEN_EVENTS:
                self._events.append((value, size))
            else:
                self._dropped_events += 1
        self._on_change()

    def output(self, kind: str, *locations: str) -> None:
        """Record where results are stored. Anything but text raises an error here, in the handler."""
        for text in (kind, *locations):
            if not isinstance(text, str):
                raise TypeError(f"job.output takes a kind and keys as text, and was given {text!r}.")
        with self._lock:
            known = self.outputs.setdefault(kind, [])
            known += [location for location in locations if location not in known]

    def metric(self, name: str, value: Any) -> None:
        """Record a metric of the job."""
        with self._lock:
            self.metrics[name] = value

    def close(self) -> None:
        """Ignore further output, such as that of a thread that did not stop when the attempt ended."""
        with self._lock:
            self._closed = True

    def detach(self) -> None:
        """Stop calling `on_change`."""
        self._on_change = _ignore

    @property
    def is_empty(self) -> bool:
        """Whether all output has been written."""
        with self._lock:
            return not self._lines and not self._progress_unwritten and not self._events

    @property
    def has_events(self) -> bool:
        """Whether there are unwritten events."""
        return bool(self._events)

    @property
    def has_backlog(self) -> bool:
        """Whether there are events, or more lines than fit into the write of the outcome."""
        return bool(self._events) or len(self.lines()) < len(self._lines)

    def lines(self) -> list[LogEntry]:
        """The lines to write next. They are kept until `mark_written`."""
        with self._lock:
            lines = self._lines[:FLUSH_LINES]
        return lines[: fitting(lines, FLUSH_BYTES)]

    def events(self) -> list[Any]:
        """The events to write next. They are kept until `mark_written`."""
        with self._lock:
            taken: list[Any] = []
            left = FLUSH_BYTES
            for value, size in self._events[:FLUSH_LINES]:
                left -= size
                if left < 0 and taken:
                    break
                taken.append(value)
            return taken

    def unwritten_progress(self) -> Progress | None:
        """The progress, if it has not been written."""
        with self._lock:
            return self._progress if self._progress_unwritten else None

    def mark_written(self, lines: int, progress: Progress | None, events: int = 0) -> None:
        """Remove written output."""
        with self._lock:
            del self._lines[:lines]
            del self._events[:events]
            if self._dropped_events:
                message = f"{self._dropped_events:,} events were dropped here, because they were emitted faster than they are written."
                self._lines += entries_of(message, "WARNING", self._now())
                self._dropped_events = 0
            if self._progress is progress:
                self._progress_unwritten = False

    def replace(self, message: str) -> None:
        """Replace all unwritten output with an error message."""
        with self._lock:
            self._lines = entries_of(message, "ERROR", self._now())
            self._events = []
            self._progress_unwritten = False

    def results(self, value: Any, seconds: float) -> Results:
        """The results of a job whose handler has returned `value`."""
        metrics = {DURATION_METRIC: round(seconds, 3), **self.metrics}
        values = {"result_type": "SUCCESS", "value": value, "output_location": dict(self.outputs), "summary_metrics": metrics}
        # Outputs and metrics come from the handler, so they are validated.
        return Results(**values) if self.outputs or self.metrics else construct_unchecked(Results, values)


def _ignore() -> None:
    """The `on_change` of a recorder without a listener."""


#: The maximum length of a printed line. Longer lines are split.
_MAX_LINE_CHARS = 64 * 1024
#: The queue's own loggers are not captured: writing the log of a job would otherwise log more.
_OWN_LOGGER = "gateleg.jobs"
_STREAMS = ("stdout", "stderr")


class Output(Protocol):
    """Receives the captured output of an attempt."""

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add captured output to the job's log, unless too many lines are unwritten."""
        ...

    @property
    def printed(self) -> PrintedLines:
        """Splits printed output into lines."""
        ...


class PrintedLines:
    """Splits printed output into lines, separately for stdout and stderr."""

    def __init__(self, capture: Callable[[str], None]) -> None:
        self._capture = capture
        self._lock = threading.Lock()
        self._rest = dict.fromkeys(_STREAMS, "")

    def write(self, stream: str, text: str) -> None:
        """Add printed text, and pass complete lines on."""
        with self._lock:
            *lines, rest = (self._rest[stream] + text).split("\n")
            if len(rest) >= _MAX_LINE_CHARS:
                lines, rest = [*lines, rest], ""
            self._rest[stream] = rest
            for line in lines:
                self._capture(line)

    def end(self) -> None:
        """Pass on the last lines, which do not end with a newline."""
        for stream in _STREAMS:
            if self._rest[stream]:
                self.write(stream, "\n")


_running: ContextVar[Output | None] = ContextVar("gateleg_running_job", default=None)


@contextmanager
def captured_by(output: Output) -> Iterator[None]:
    """Send the output of this context, and of contexts copied from it, to `output` during the block."""
    token = _running.set(output)
    try:
        yield
    finally:
        _running.reset(token)


class _Tee:
    """Wraps a standard stream, and copies everything written to it to the running job's log."""

    def __init__(self, name: str, stream: TextIO, output: Callable[[], Output | None], *, forward: bool = True) -> None:
        self._name = name
        self._stream = stream
        self._output = output
        self._forward = forward

    def write(self, text: str) -> int:
        """Write to the stream, and to the job's log."""
        if self._forward:
            self._stream.write(text)
        output = self._output()
        if output is not None:
            output.printed.write(self._name, text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _JobLogs(logging.Handler):
    """Adds log records to the log of the running job."""

    def __init__(self, output: Callable[[], Output | None]) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        output = self._output()
        if output is None or record.name == _OWN_LOGGER or record.name.startswith(_OWN_LOGGER + "."):
            return
        try:
            output.capture(self.format(record), record.levelname)
        except Exception:
            self.handleError(record)


class _Installation:
    """The wrapped streams and the log handler of this process, shared by all of its workers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._handler = _JobLogs(_running.get)
        self._tees: dict[str, _Tee] = {}

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._tees = {name: _Tee(name, getattr(sys, name), _running.get) for name in _STREAMS if getattr(sys, name) is not None}
                for name, tee in self._tees.items():
                    setattr(sys, name, cast("TextIO", tee))
                logging.getLogger().addHandler(self._handler)

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                logging.getLogger().removeHandler(self._handler)
                for name, tee in self._tees.items():
                    # Keep the stream if the program has replaced it in the meantime.
                    if getattr(sys, name) is tee:
                        setattr(sys, name, tee._stream)


_installation = _Installation()


@contextmanager
def capturing() -> Iterator[None]:
    """Capture what handlers print and log while the block runs."""
    _installation.enter()
    try:
        yield
    finally:
        _installation.leave()


def print_to(output: Output) -> None:
    """Send everything that this process prints, in any thread, to one job. For a process that runs a single handler.

    The original streams do not receive the output, because they end in the same log.
    """
    for name in _STREAMS:
        setattr(sys, name, cast("TextIO", _Tee(name, getattr(sys, name), lambda: output, forward=False)))


def log_to(output: Output) -> None:
    """Send everything that this process logs to one job, unless the application already logs to a standard stream."""
    root = logging.getLogger()
    streams = [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__]
    if not any(isinstance(handler, logging.StreamHandler) and handler.stream in streams for handler in root.handlers):
        root.addHandler(_JobLogs(lambda: output))
        root.setLevel(min(root.level, logging.INFO))


#: The age at which folders are removed on a file system without locks, where other workers cannot tell whether their worker lives.
MAX_AGE_SECONDS = 7 * 86_400.0


def default_root() -> Path:
    """The default root of scratch folders, in the system's temporary folder: one for each user."""
    return Path(tempfile.gettempdir()) / f"gateleg-scratch-{os.getuid()}"


class ScratchFolders:
    """The scratch folders of one worker. `name` is unique among the workers that share the root."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root.absolute()
        self._name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
        self._lock = threading.Lock()
        self._lock_file_descriptor: int | None = None
        self._used: set[Path] = set()

    @property
    def _folder(self) -> Path:
        return self.root / self._name

    def make(self, job: Job) -> Path:
        """Create the folder of an attempt and return it."""
        folder = self._folder / f"{job.job_id}.{job.attempt}"
        with self._lock:
            if self._lock_file_descriptor is None:
                self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Lock before the folder exists, so that no other worker considers it abandoned.
                self._lock_file_descriptor = _locked(self._lock_file(self._folder), wait=True)
                self._folder.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            self._used.add(folder)
        return folder

    def remove(self, folder: Path) -> None:
        """Remove the folder of an attempt. If that fails, a later sweep removes the rest."""
        shutil.rmtree(folder, ignore_errors=True)
        with self._lock:
            self._used.discard(folder)

    def sweep(self) -> int:
        """Remove the folders of ended attempts and lost workers, and return how many."""
        removed = 0
        for folder in self._worker_folders():
            if folder == self._folder:
                abandoned = [entry for entry in _entries(folder) if entry not in self._used]
                removed += len(abandoned)
                for entry in abandoned:
                    shutil.rmtree(entry, ignore_errors=True)
            else:
                removed += self._sweep_other(folder)
        return removed

    def _worker_folders(self) -> list[Path]:
        """The folders of all workers, including workers that were killed between creating the lock and the folder."""
        return sorted({entry.with_suffix("") if entry.suffix == ".lock" else entry for entry in _entries(self.root)})

    def _sweep_other(self, folder: Path) -> int:
        lock_file = self._lock_file(folder)
        try:
            lock = _locked(lock_file, wait=False)
        except BlockingIOError:
            return 0
        except OSError:
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > MAX_AGE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
                    return 1
            return 0
        try:
            removed = len(_entries(folder))
            shutil.rmtree(folder, ignore_errors=True)
            lock_file.unlink(missing_ok=True)
            return removed
        finally:
            os.close(lock)

    def _lock_file(self, folder: Path) -> Path:
        return self.root / f"{folder.name}.lock"

    def close(self) -> None:
        """Remove all folders of the worker."""
        with self._lock:
            if self._lock_file_descriptor is None:
                return
            descriptor, self._lock_file_descriptor = self._lock_file_descriptor, None
            shutil.rmtree(self._folder, ignore_errors=True)
            self._lock_file(self._folder).unlink(missing_ok=True)
            os.close(descriptor)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _locked(path: Path, *, wait: bool) -> int:
    """Open and lock a file, and return its descriptor, which child processes do not inherit. Closing it releases the lock."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BaseException as error:
        if wait and isinstance(error, OSError):
            # The file system has no locks: folders are removed by age only.
            return file
        os.close(file)
        raise
    return file
