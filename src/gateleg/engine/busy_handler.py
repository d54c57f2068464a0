"""Busy handler: how a writer waits for a writer in another process.

SQLite's own handler sleeps up to a tenth of a second, although most writes take a fraction of a millisecond: processes that alternate
would sleep more than they work. This one retries quickly at first and more slowly the longer it has waited. The more processes wait, the
longer each of them has waited, so that together they do not retry more often than a few would, and leave the processor to the writer.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from gateleg.engine.waiters import Waiters

#: When to give up.
MAX_WAIT_SECONDS = 60.0
#: Pause between attempts, as a fraction of the time waited so far, within bounds.
_PAUSE_FRACTION = 0.5
_MIN_PAUSE_SECONDS = 0.00025
_MAX_PAUSE_SECONDS = 0.01


class BusyHandler:
    """Called by SQLite when the database is locked, with the number of earlier calls; returning False gives up. One per connection.

    With `waiters`, announces to long-running work that somebody is waiting.
    """

    __slots__ = ("_max_wait", "_since", "_waiters")

    def __init__(self, max_wait: float = MAX_WAIT_SECONDS, waiters: Waiters | None = None) -> None:
        self._max_wait = max_wait
        self._since = 0.0
        self._waiters = waiters

    def __call__(self, calls: int) -> bool:
        """Sleep briefly; returns whether to try again."""
        now = time.monotonic()
        if calls == 0:
            self._since = now
        waited = now - self._since
        if waited >= self._max_wait:
            return False
        if self._waiters is not None:
            self._waiters.announce()
        time.sleep(next_pause(waited))
        return True


def next_pause(waited: float) -> float:
    """Seconds until the next attempt after waiting this long."""
    return min(max(waited * _PAUSE_FRACTION, _MIN_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)


@contextmanager
def limited_wait(connection: apsw.Connection, max_wait: float, handler: BusyHandler) -> Iterator[None]:
    """Limit how long a connection waits for locks within the block; `handler` is restored afterwards."""
    connection.set_busy_handler(BusyHandler(max_wait))
    try:
        yield
    finally:
        connection.set_busy_handler(handler)
