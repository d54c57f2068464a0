"""Seeing that a handler blocks the event loop of its worker: nothing in that loop could tell."""

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
#: Seconds for which the loop may be held up before somebody is told, and how often it is looked at meanwhile.
BLOCKED_AFTER = 1.0
_LOOKS = 4


@contextmanager
def watching_loop(blocked_after: float = BLOCKED_AFTER) -> Iterator[None]:
    """Watch the running event loop from a thread while the block runs."""
    watchdog = Watchdog(asyncio.get_running_loop(), blocked_after)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.end()


class Watchdog:
    """A loop that beats, and a thread that looks when it has beaten last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, blocked_after: float) -> None:
        self._loop = loop
        self._blocked_after = blocked_after
        self._every = blocked_after / _LOOKS
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(threading.get_ident(),), name="gateleg-watchdog", daemon=True)
        self._beaten_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, in the thread of the loop."""
        self._beat()
        self._thread.start()

    def end(self) -> None:
        """End, in the thread of the loop."""
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        self._thread.join()

    def _beat(self) -> None:
        self._beaten_at = time.monotonic()
        self._timer = self._loop.call_later(self._every, self._beat)

    def _watch(self, watched: int) -> None:
        told_of, looked_at, used = 0.0, time.monotonic(), time.process_time()
        while not self._over.wait(self._every):
            now, using, beaten_at = time.monotonic(), time.process_time(), self._beaten_at
            gap, looked_at = now - looked_at, now
            worked, used = using - used, using
            # A process that was stopped for a while has not been blocked. One whose threads waited for code that keeps the GIL has worked.
            if gap > self._blocked_after and worked < gap / 2:
                continue
            if now - beaten_at > self._blocked_after + self._every and beaten_at != told_of:
                told_of = beaten_at
                _tell(now - beaten_at, sys._current_frames().get(watched))


#: Frames at either end of a stack that are shown.
_SHOWN = 4


def _tell(seconds: float, frame: FrameType | None) -> None:
    """Log who blocks the loop, and where; a handler also finds it in the log of its job."""
    run, stack = blocker(frame)
    if run is None:
        _log.warning("the worker's event loop is blocked for %.1f s, not by a handler itself, at\n%s", seconds, stack)
        return
    job = run.job
    told = f'blocks the worker\'s event loop for {seconds:.1f} s: other jobs and heartbeats wait. Await, or declare runs="thread".'
    # First to the log of the job, which may end at any moment.
    run.notes.log(f"The handler {told} It is at\n{stack}", "WARNING")
    _log.warning("%s %s %s It is at\n%s", job.job_type, job.job_id, told, stack, extra=fields_of(job))


def blocker(frame: FrameType | None) -> tuple[InlineRun | None, str]:
    """The run whose handler a thread is in, if it is in one, and the stack: of the handler, or all of it."""
    innermost, depth = frame, 0
    while frame is not None:
        if frame.f_code is InlineRun.outcome.__code__:
            run: InlineRun = frame.f_locals["self"]
            return run, _stack(innermost, depth)
        frame, depth = frame.f_back, depth + 1
    return None, _stack(innermost, depth)


def _stack(frame: FrameType | None, depth: int) -> str:
    """The innermost frames of a stack, as a traceback shows them, without those of the import machinery and of long stacks the middle."""
    if frame is None:
        return ""
    frames = [entry for entry in traceback.extract_stack(frame)[-depth:] if not entry.filename.startswith("<frozen ")]
    texts = traceback.StackSummary.from_list(frames).format()
    if len(texts) > 2 * _SHOWN:
        texts = [*texts[:_SHOWN], f"  ... {len(texts) - 2 * _SHOWN} more ...\n", *texts[-_SHOWN:]]
    return "".join(texts).rstrip()
