"""What handlers print and log goes to the log of their job, and still to where it went before.

Which job runs is a context variable: tasks of a handler and `asyncio.to_thread` inherit it, threads that a handler starts by itself do not.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

#: The most characters that are kept of a line that does not end.
_LONGEST = 64 * 1024
#: The loggers of the queue itself: what they tell of an attempt must not become part of it, or telling would never end.
_OWN = "gateleg.jobs"
_STREAMS = ("stdout", "stderr")


class Output(Protocol):
    """Where the lines of an attempt go."""

    def capture(self, message: str, level: str = "INFO") -> None:
        """Add what was printed or logged to the job's log, if there is room."""
        ...

    @property
    def printed(self) -> PrintedLines:
        """What was printed, line by line."""
        ...


class PrintedLines:
    """Makes lines of what is printed in pieces, for each stream apart."""

    def __init__(self, capture: Callable[[str], None]) -> None:
        self._capture = capture
        self._lock = threading.Lock()
        self._rest = dict.fromkeys(_STREAMS, "")

    def write(self, stream: str, text: str) -> None:
        """Take what was printed; lines that are whole go on."""
        with self._lock:
            *lines, rest = (self._rest[stream] + text).split("\n")
            if len(rest) >= _LONGEST:
                lines, rest = [*lines, rest], ""
            self._rest[stream] = rest
            for line in lines:
                self._capture(line)

    def end(self) -> None:
        """Pass on the lines that were not ended."""
        for stream in _STREAMS:
            if self._rest[stream]:
                self.write(stream, "\n")


_running: ContextVar[Output | None] = ContextVar("gateleg_running_job", default=None)


@contextmanager
def captured_by(output: Output) -> Iterator[None]:
    """Have the output of this context, and of those that are copied from it, captured."""
    token = _running.set(output)
    try:
        yield
    finally:
        _running.reset(token)


class _Tee:
    """A standard stream that also writes to the output of the job that runs. Everything else is that of the stream."""

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
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _JobLogs(logging.Handler):
    """Adds log records to the log of the job that runs."""

    def __init__(self, output: Callable[[], Output | None]) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Add one record."""
        output = self._output()
        if output is None or record.name == _OWN or record.name.startswith(_OWN + "."):
            return
        try:
            output.capture(self.format(record), record.levelname)
        except Exception:
            self.handleError(record)


class _Installation:
    """The streams and the log handler of this process, there once for all of its workers."""

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
                    # Somebody may have put a stream of their own in its place meanwhile: that is left alone.
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
    """Have what this process prints go to one job, in whatever thread: the process has no other purpose.

    Nothing is forwarded, because the streams of such a process end in the same log.
    """
    for name in _STREAMS:
        setattr(sys, name, cast("TextIO", _Tee(name, getattr(sys, name), lambda: output, forward=False)))


def log_to(output: Output) -> None:
    """Have what this process logs go to one job as well, unless the application has it printed already."""
    root = logging.getLogger()
    streams = [sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__]
    if not any(isinstance(one, logging.StreamHandler) and one.stream in streams for one in root.handlers):
        root.addHandler(_JobLogs(lambda: output))
        root.setLevel(min(root.level, logging.INFO))
