"""A watchdog thread that detects a handler that blocks its worker's event loop."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.jobs.worker.attempt_logs import fields_of
from gateleg.jobs.worker.runners import InlineRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_log = logging.getLogger("gateleg.jobs")
#: How long the loop must be blocked before it is logged, and how many times it is checked within that time.
BLOCKED_AFTER_SECONDS = 1.0
_CHECKS = 4


#: The watchdog of each event loop, with the number of blocks that use it: several workers may share a loop.
_watchdogs: dict[asyncio.AbstractEventLoop, tuple[Watchdog, int]] = {}


@contextmanager
def watching_loop(blocked_after: float = BLOCKED_AFTER_SECONDS) -> Iterator[None]:
    """Watch the running event loop from a thread while the block runs. Blocks on one loop share the thread of the first."""
    loop = asyncio.get_running_loop()
    watchdog, users = _watchdogs.get(loop) or (Watchdog(loop, blocked_after), 0)
    if users == 0:
        watchdog.start()
    _watchdogs[loop] = watchdog, users + 1
    try:
        yield
    finally:
        _, users = _watchdogs.pop(loop)
        if users > 1:
            _watchdogs[loop] = watchdog, users - 1
        else:
            watchdog.end()


class Watchdog:
    """A timer in the event loop records when it ran; a thread checks how long ago that was."""

    def __init__(self, loop: asyncio.AbstractEventLoop, blocked_after: float) -> None:
        self._loop = loop
        self._blocked_after = blocked_after
        self._interval = blocked_after / _CHECKS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="gateleg-watchdog", daemon=True)
        self._last_beat = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the watchdog. Called in the event loop's thread."""
        self._beat()
        self._thread.start()

    def end(self) -> None:
        """End the watchdog. Called in the event loop's thread."""
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()
        self._thread.join()

    def _beat(self) -> None:
        self._last_beat = time.monotonic()
        self._timer = self._loop.call_later(self._interval, self._beat)

    def _watch(self, watched: int) -> None:
        logged, checked_at, used = 0.0, time.monotonic(), time.process_time()
        while not self._ended.wait(self._interval):
            now, using, last_beat = time.monotonic(), time.process_time(), self._last_beat
            gap, checked_at = now - checked_at, now
            worked, used = using - used, using
            # If this thread did not run either, the process was suspended; but if the process used the CPU meanwhile, code that
            # holds the GIL blocked both threads.
            if gap > self._blocked_after and worked < gap / 2:
                continue
            if now - last_beat > self._blocked_after + self._interval and last_beat != logged:
                logged = last_beat
                _log_blocked(now - last_beat, sys._current_frames().get(watched))


#: How many frames of a stack are shown at each end.
_MAX_FRAMES = 4


def _log_blocked(seconds: float, frame: FrameType | None) -> None:
    """Log which handler blocks the loop, and where, also in the log of its job."""
    run, stack = blocker(frame)
    if run is None:
        _log.warning("the worker's event loop has been blocked for %.1f s, but not by a handler, at\n%s", seconds, stack)
        return
    job = run.job
    problem = f'has blocked the worker\'s event loop for {seconds:.1f} s: other jobs and heartbeats wait. Use await, or runs="thread".'
    # Write to the job's log first, because the job may end at any moment.
    run.recorder.log(f"The handler {problem} It is at\n{stack}", "WARNING")
    _log.warning("%s %s %s It is at\n%s", job.job_type, job.job_id, problem, stack, extra=fields_of(job))


def blocker(frame: FrameType | None) -> tuple[InlineRun | None, str]:
    """The run whose handler is on this stack, with the handler's part of the stack; or None with the whole stack."""
    innermost, depth = frame, 0
    while frame is not None:
        if frame.f_code is InlineRun.result.__code__:
            run: InlineRun = frame.f_locals["self"]
            return run, _stack(innermost, depth)
        frame, depth = frame.f_back, depth + 1
    return None, _stack(innermost, depth)


def _stack(frame: FrameType | None, depth: int) -> str:
    """The innermost `depth` frames, formatted like a traceback, without the import machinery and the middle of a long stack."""
    if frame is None:
        return ""
    frames = [entry for entry in traceback.extract_stack(frame)[-depth:] if not entry.filename.startswith("<frozen ")]
    texts = traceback.StackSummary.from_list(frames).format()
    if len(texts) > 2 * _MAX_FRAMES:
        texts = [*texts[:_MAX_FRAMES], f"  ... {len(texts) - 2 * _MAX_FRAMES} more ...\n", *texts[-_MAX_FRAMES:]]
    return "".join(texts).rstrip()
