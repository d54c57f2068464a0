"""How a long-running command stops: gracefully after the first signal, and at once after a second Ctrl-C, with its children.

The watchdog of long-running commands: a process whose event loop has been silent for too long says why, and ends.

Such a process lives, but answers nobody: no probe, no signal handler of the loop, no heartbeat of a job. What holds the loop usually holds
Python as a whole, so that a thread would not get to look: the system's timer interrupts even a regular expression. What it cannot interrupt
(an extension that never returns to Python) ends by the clock of `faulthandler`, which needs no Python.

Waits for a store that is unavailable when a command starts: a worker or a host may be started before its database.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import random
import signal
import sys
import threading
import time
import traceback
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NoReturn, TypeVar

from gateleg.net.backoff import span

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager
    from types import FrameType

    from gateleg.host.settings import Settings

_log = logging.getLogger("gateleg.cli")
T = TypeVar("T")

#: Seconds for the process to exit by itself once everything in it has stopped.
_GRACE = 2.0
#: The variable of a process that has replaced another.
STARTED_AGAIN = "GATELEG_STARTED_AGAIN"
#: Child processes that end with this one, each the leader of a session.
children: set[subprocess.Popen[bytes]] = set()


def exit_soon(seconds: float = _GRACE) -> None:
    """Exit in a moment if the process does not do so by itself: a handler may ignore its cancellation, or leave a thread behind."""
    timer = threading.Timer(seconds, exit_now, args=(0,))
    timer.daemon = True
    timer.start()


def exit_now(status: int) -> NoReturn:
    """Exit at once with all children: whatever was printed or logged has been written."""
    _kill_children()
    os._exit(status)


def _kill_children() -> None:
    for child in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def start_again() -> NoReturn:
    """Replace this process by a new one with the same command, without its children."""
    _kill_children()
    if hasattr(signal, "setitimer"):
        # The new program would inherit a running timer.
        signal.setitimer(signal.ITIMER_REAL, 0)
    os.environ[STARTED_AGAIN] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


@contextlib.contextmanager
def stopping_on_signals(stop: asyncio.Event, within: float, words: str) -> Iterator[None]:
    """Set an event on SIGINT and SIGTERM, and exit within some seconds. A second SIGINT exits at once.

    Signal handlers run even if the event loop is blocked: then nobody sees the event, but the process still exits.
    """
    loop = asyncio.get_running_loop()
    stopping = False

    def on_signal(number: int, frame: object) -> None:
        nonlocal stopping
        if stopping and number == signal.SIGINT:
            _print("Stopped at once; interrupted jobs are retried when their leases expire.")
            exit_now(130)
        if not stopping:
            stopping = True
            _print(f"Stopping: {words}. Press Ctrl-C again to stop at once.")
            exit_soon(within)
            loop.call_soon_threadsafe(stop.set)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print(text: str) -> None:
    """Print a line from a signal handler, which may have interrupted a print: so not through the same object."""
    with contextlib.suppress(OSError, ValueError):
        os.write(sys.stdout.fileno(), text.encode() + b"\n")


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


#: The first and the longest pause between attempts, in seconds.
_RETRY_PAUSES = (0.5, 15.0)
#: Seconds between log lines about an unavailable store.
_LOG_INTERVAL_SECONDS = 60.0


@asynccontextmanager
async def open_when_available(
    make: Callable[[], AbstractAsyncContextManager[T]], settings: Settings, stop: asyncio.Event
) -> AsyncIterator[T | None]:
    """Open `make` on the store of the settings once it can be reached. None if `stop` was set first."""
    async with AsyncExitStack() as stack:
        opening = asyncio.create_task(_entered(stack, make, settings))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not opening.done():
                opening.cancel()
                await asyncio.wait({opening})
        yield None if opening.cancelled() else opening.result()


async def _entered(stack: AsyncExitStack, make: Callable[[], AbstractAsyncContextManager[T]], settings: Settings) -> T:
    from gateleg.host.settings import format_setting
    from gateleg.store import NoAnswer, ServiceFailed, Throttled, TimedOut

    began, tries, logged_at = time.monotonic(), 0, float("-inf")
    while True:
        try:
            opened = await stack.enter_async_context(make())
        except (NoAnswer, ServiceFailed, Throttled, TimedOut) as error:
            tries, now = tries + 1, time.monotonic()
            if now >= logged_at + _LOG_INTERVAL_SECONDS:
                logged_at = now
                _log.warning("The store %s is not available: %s Retrying until it is.", format_setting(settings.store), error.message)
            await asyncio.sleep(span(tries, *_RETRY_PAUSES) * (0.5 + random.random() / 2))
        else:
            if tries:
                _log.warning("The store %s is available after %.0f s.", format_setting(settings.store), time.monotonic() - began)
            return opened
