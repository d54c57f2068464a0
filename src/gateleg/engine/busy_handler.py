"""Busy handler: how a writer waits for a writer in another process.

SQLite's own wait grows to a tenth of a second, though most writes take a fraction of a millisecond: processes that take turns would spend
more time asleep than at work. So it is asked again soon at first, and the more seldom the longer one has waited. How long one waits grows
with the number of those who wait: many of them ask no more often, all together, than a few. Otherwise they would take from the one that
writes the processor that it needs to come to an end.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from gateleg.engine.waiters import Waiters

#: Seconds after which the wait is given up.
LONGEST = 60.0
#: Between two attempts, this part of the time that one has waited so far passes, within these bounds (seconds).
_PART = 0.5
_SHORTEST_PAUSE = 0.00025
_LONGEST_PAUSE = 0.01


class BusyHandler:
    """Called by SQLite when a lock is taken, with the number of calls before; false gives up. Each connection has its own.

    With `waiters`, those who do long work are shown that somebody waits.
    """

    __slots__ = ("_longest", "_since", "_waiters")

    def __init__(self, longest: float = LONGEST, waiters: Waiters | None = None) -> None:
        self._longest = longest
        self._since = 0.0
        self._waiters = waiters

    def __call__(self, calls: int) -> bool:
        """Sleep for a moment; whether to try once more."""
        now = time.monotonic()
        if calls == 0:
            self._since = now
        waited = now - self._since
        if waited >= self._longest:
            return False
        if self._waiters is not None:
            self._waiters.announce()
        time.sleep(pause_after(waited))
        return True


def pause_after(waited: float) -> float:
    """The seconds until the next attempt of one who has waited so long."""
    return min(max(waited * _PART, _SHORTEST_PAUSE), _LONGEST_PAUSE)


@contextmanager
def waiting(connection: apsw.Connection, longest: float, usual: BusyHandler) -> Iterator[None]:
    """Have a connection wait for others no longer than this, and as usual again after the block."""
    connection.set_busy_handler(BusyHandler(longest))
    try:
        yield
    finally:
        connection.set_busy_handler(usual)
