"""What a running handler says, until its worker writes it down. Any thread may speak."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import BadEvent
from gateleg.jobs.monitor.logs import FLUSH_BYTES, FLUSH_LIMIT, entries_of, fitting
from gateleg.jobs.tables.job import LogEntry, Progress, Results
from gateleg.jobs.texts import writable
from gateleg.jobs.worker.capture import PrintedLines
from gateleg.model.codec.unchecked import construct_unchecked
from gateleg.model.codec.wire import float_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


#: The most characters of what is said with a progress.
_SAID = 500
#: The most bytes of one event, and how many events wait to be written before the next is left out.
EVENT_LIMIT = 64 * 1024
_WAITING_EVENTS = 10_000
#: How many lines wait to be written before what a handler prints and logs is left out: one that prints without end must not fill memory.
CAPTURED_LINES = 5000


def checked_event(event: Any) -> tuple[Any, int]:
    """An event as JSON has it, and its size in bytes."""
    value = event.model_dump(mode="json") if isinstance(event, BaseModel) else event
    try:
        size = len(orjson.dumps(value))
    except TypeError as error:
        raise BadEvent(f"An event must be JSON: {error}.") from None
    if size > EVENT_LIMIT:
        raise BadEvent(f"An event has {size:,} bytes; it may have {EVENT_LIMIT:,}.")
    return value, size


class Notes:
    """Lines, progress, outputs and metrics of one attempt."""

    def __init__(self, now: Callable[[], datetime], on_change: Callable[[], None] | None = None) -> None:
        self._now = now
        self._on_change = on_change or _nobody
        self._lock = threading.Lock()
        self._lines: list[LogEntry] = []
        self._progress: Progress | None = None
        self._unwritten = False
        self._closed = False
        self._printed: PrintedLines | None = None
        self._left_out = 0
        self._events: list[tuple[Any, int]] = []
        self._lost_events = 0
        self.outputs: dict[str, list[str]] = {}
        self.metrics: dict[str, Any] = {}

    def log(self, message: str, level: str = "INFO") -> None:
        """Add to the log."""
        with self._lock:
            if self._closed:
                return
            self._lines += entries_of(message, level, self._now())
        self._on_change()

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add what the handler has printed, or logged with `logging`. While too many lines wait it is left out, and counted."""
        with self._lock:
            if self._closed:
                return
            entries = entries_of(message, level, self._now())
            room = max(0, CAPTURED_LINES - len(self._lines))
            if room:
                self._tell_left_out()
            self._lines += entries[:room]
            self._left_out += len(entries[room:])
        self._on_change()

    @property
    def printed(self) -> PrintedLines:
        """What the handler prints, line by line."""
        with self._lock:
            if self._printed is None:
                self._printed = PrintedLines(self.capture)
            return self._printed

    def end_lines(self) -> None:
        """The handler prints no more: what it has printed without the end of a line is one."""
        if self._printed is not None:
            self._printed.end()
        with self._lock:
            self._tell_left_out()

    def _tell_left_out(self) -> None:
        if self._left_out:
            told = f"{self._left_out:,} lines were left out here: they were printed faster than the log is written."
            self._lines += entries_of(told, "WARNING", self._now())
            self._left_out = 0

    def progress(self, done: float, total: float = 1.0, message: str = "") -> None:
        """Say how far the job is. Numbers that cannot be stored are refused here, where they come from."""
        said = Progress(done=done, total=total, message=writable(message)[:_SAID])
        for number in (said.done, said.total):
            float_text(number)
        with self._lock:
            if self._closed:
                return
            self._progress = said
            self._unwritten = True
        self._on_change()

    def emit(self, event: Any) -> None:
        """Take an event for those who follow the job. What JSON cannot hold, or is too long, is refused here, where it comes from."""
        value, size = checked_event(event)
        with self._lock:
            if self._closed:
                return
            if len(self._events) < _WAITING_EVENTS:
                self._events.append((value, size))
            else:
                self._lost_events += 1
        self._on_change()

    def output(self, kind: str, *locations: str) -> None:
        """Say where results are."""
        with self._lock:
            known = self.outputs.setdefault(kind, [])
            known += [location for location in locations if location not in known]

    def metric(self, name: str, value: Any) -> None:
        """Say a number about the work."""
        with self._lock:
            self.metrics[name] = value

    def close(self) -> None:
        """The attempt has ended: what is said from now on, by a thread that goes on, is not part of it."""
        with self._lock:
            self._closed = True

    def leave(self) -> None:
        """Nobody listens any more."""
        self._on_change = _nobody

    @property
    def silent(self) -> bool:
        """Whether there is nothing to write down."""
        with self._lock:
            return not self._lines and not self._unwritten and not self._events

    @property
    def has_events(self) -> bool:
        """Whether there are events to write down."""
        return bool(self._events)

    @property
    def backlog(self) -> bool:
        """Whether there are events, or more lines than one write takes along: the end of the attempt is written after them."""
        return bool(self._events) or len(self.lines()) < len(self._lines)

    def lines(self) -> list[LogEntry]:
        """The lines to write down next, which stay here until `written`."""
        with self._lock:
            lines = self._lines[:FLUSH_LIMIT]
        return lines[: fitting(lines, FLUSH_BYTES)]

    def events(self) -> list[Any]:
        """The events to write down next, which stay here until `written`."""
        with self._lock:
            taken: list[Any] = []
            left = FLUSH_BYTES
            for value, size in self._events[:FLUSH_LIMIT]:
                left -= size
                if left < 0 and taken:
                    break
                taken.append(value)
            return taken

    def current(self) -> Progress | None:
        """The progress, if it has not been written down."""
        with self._lock:
            return self._progress if self._unwritten else None

    def written(self, lines: int, progress: Progress | None, events: int = 0) -> None:
        """Forget what has been written down."""
        with self._lock:
            del self._lines[:lines]
            del self._events[:events]
            if self._lost_events:
                told = f"{self._lost_events:,} events were left out here: they were emitted faster than they are written."
                self._lines += entries_of(told, "WARNING", self._now())
                self._lost_events = 0
            if self._progress is progress:
                self._unwritten = False

    def replace(self, message: str) -> None:
        """Leave out what has not been written down, and say why instead."""
        with self._lock:
            self._lines = entries_of(message, "ERROR", self._now())
            self._events = []
            self._unwritten = False

    def results(self, value: Any, seconds: float) -> Results:
        """What the job has brought about."""
        metrics = {"processing_time_seconds": round(seconds, 3), **self.metrics}
        values = {"result_type": "SUCCESS", "value": value, "output_location": dict(self.outputs), "summary_metrics": metrics}
        # Whatever the handler said of outputs and metrics is checked.
        return Results(**values) if self.outputs or self.metrics else construct_unchecked(Results, values)


def _nobody() -> None:
    """Who is told of changes when nobody listens."""
