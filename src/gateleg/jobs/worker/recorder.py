"""The output of a running handler (log lines, progress, events, outputs, metrics) until its worker writes it. Thread-safe."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import BadEvent
from gateleg.jobs.monitor.logs import FLUSH_BYTES, FLUSH_LINES, entries_of, fitting
from gateleg.jobs.tables.job import DURATION_METRIC, LogEntry, Progress, Results
from gateleg.jobs.texts import escape_undecodable
from gateleg.jobs.worker.capture import PrintedLines
from gateleg.model.codec.unchecked import construct_unchecked
from gateleg.model.codec.wire import float_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


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
        for given in (kind, *locations):
            if not isinstance(given, str):
                raise TypeError(f"job.output takes a kind and keys as text, and was given {given!r}.")
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
