"""The watchdog of long-running commands: a process whose event loop has been silent for too long says why, and ends.

Such a process lives, but answers nobody: no probe, no signal handler of the loop, no heartbeat of a job. What holds the loop usually holds
Python as a whole, so that a thread would not get to look: the system's timer interrupts even a regular expression. What it cannot interrupt
(an extension that never returns to Python) ends by the clock of `faulthandler`, which needs no Python.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING

from gateleg.cli.shutdown import exit_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

_log = logging.getLogger("gateleg.cli")
#: The exit status of a process that the watchdog ended; sysexits calls it an internal error of the software.
SILENT = 70
#: How often the timer goes off in the time that the loop may be silent. The time in which the whole process was paused counts once only.
_LOOKS = 5
#: How many times as long something may last that no timer can interrupt.
_BACKSTOP = 4


@contextlib.contextmanager
def watching(seconds: float, under_way: Callable[[], Iterable[str]], end: Callable[[], None] | None = None) -> Iterator[None]:
    """Watch the running event loop: if it is silent for some seconds, log its stack and what is under way, and end the process.

    `end` replaces the end of the process. With 0 seconds, in other threads than the main one, and where the system has no timers, nothing
    is watched.
    """
    if seconds <= 0 or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    loop, interval, looks = asyncio.get_running_loop(), seconds / _LOOKS, 0
    beat_again: asyncio.TimerHandle | None = None

    def beat() -> None:
        nonlocal looks, beat_again
        looks = 0
        signal.setitimer(signal.ITIMER_REAL, interval)
        with contextlib.suppress(AttributeError, OSError, ValueError):
            # Standard error may be no file.
            faulthandler.dump_traceback_later(_BACKSTOP * seconds, exit=True)
        beat_again = loop.call_later(interval / 2, beat)

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal looks
        looks += 1
        if looks < _LOOKS:
            signal.setitimer(signal.ITIMER_REAL, interval)
            return
        _report(seconds, under_way, frame)
        (end or _end)()

    former = signal.signal(signal.SIGALRM, look)
    beat()
    try:
        yield
    finally:
        if beat_again is not None:
            beat_again.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        faulthandler.cancel_dump_traceback_later()


def _report(seconds: float, under_way: Callable[[], Iterable[str]], frame: FrameType | None) -> None:
    """Log what holds the loop. The handler may have interrupted a log line: then the lines go to standard error directly."""
    stack = "".join(traceback.format_stack(frame)).rstrip()
    jobs = "\n".join(f"  {one}" for one in under_way()) or "  nothing"
    text = f"The event loop has not answered for {seconds:g} s, so the process ends. Under way:\n{jobs}\nWhat holds it:\n{stack}"
    try:
        _log.critical("%s", text)
        for handler in (*_log.handlers, *logging.getLogger().handlers):
            handler.flush()
    except RuntimeError:
        os.write(sys.stderr.fileno(), f"{text}\n".encode(errors="replace"))


def _end() -> None:
    exit_now(SILENT)
