"""Capture the printed and logged output of handlers: it is added to the log of their job, and still goes where it went before.

The running job is a context variable. A handler's tasks and `asyncio.to_thread` inherit it; threads that a handler starts itself do not.
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
