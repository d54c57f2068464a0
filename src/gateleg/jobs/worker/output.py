"""What a running handler says, until its worker writes it down. Any thread may speak."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

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
#: How many lines wait to be written before what a handler prints and logs is left out: one that prints without end must not fill memory.
CAPTURED_LINES = 5000


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
            return not self._lines and not self._unwritten

    @property
    def backlog(self) -> bool:
        """Whether there are more lines than one write takes along."""
        return len(self.lines()) < len(self._lines)

    def lines(self) -> list[LogEntry]:
        """The lines to write down next, which stay here until `written`."""
        with self._lock:
            lines = self._lines[:FLUSH_LIMIT]
        return lines[: fitting(lines, FLUSH_BYTES)]

    def current(self) -> Progress | None:
        """The progress, if it has not been written down."""
        with self._lock:
            return self._progress if self._unwritten else None

    def written(self, lines: int, progress: Progress | None) -> None:
        """Forget what has been written down."""
        with self._lock:
            del self._lines[:lines]
            if self._progress is progress:
                self._unwritten = False

    def replace(self, message: str) -> None:
        """Leave out what has not been written down, and say why instead."""
        with self._lock:
            self._lines = entries_of(message, "ERROR", self._now())
            self._unwritten = False

    def results(self, value: Any, seconds: float) -> Results:
        """What the job has brought about."""
        metrics = {"processing_time_seconds": round(seconds, 3), **self.metrics}
        values = {"result_type": "SUCCESS", "value": value, "output_location": dict(self.outputs), "summary_metrics": metrics}
        # Whatever the handler said of outputs and metrics is checked.
        return Results(**values) if self.outputs or self.metrics else construct_unchecked(Results, values)


def _nobody() -> None:
    """Who is told of changes when nobody listens."""
