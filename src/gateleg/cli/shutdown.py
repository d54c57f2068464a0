"""How a long-running command stops: gracefully after the first signal, and at once after a second Ctrl-C, with its children."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

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
