"""Busy handler: how a writer waits for a writer in another process.

SQLite's own wait grows to a tenth of a second, though most writes take a fraction of a millisecond: processes that take turns would spend
more time asleep than at work. So it is asked again soon at first, and seldom only when the other takes long.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

#: Seconds after which the wait is given up.
LONGEST = 60.0
#: From so many seconds of waiting on, the seconds between two attempts.
_PAUSES = ((0.2, 0.005), (0.02, 0.001), (0.0, 0.00025))


class BusyHandler:
    """Called by SQLite when a lock is taken, with the number of calls before; false gives up. Each connection has its own."""

    __slots__ = ("_longest", "_since")

    def __init__(self, longest: float = LONGEST) -> None:
        self._longest = longest
        self._since = 0.0

    def __call__(self, calls: int) -> bool:
        """Sleep for a moment; whether to try once more."""
        now = time.monotonic()
        if calls == 0:
            self._since = now
        waited = now - self._since
        if waited >= self._longest:
            return False
        time.sleep(pause_after(waited))
        return True


def pause_after(waited: float) -> float:
    """The seconds until the next attempt of one who has waited so long."""
    return next(pause for since, pause in _PAUSES if waited >= since)


@contextmanager
def waiting(connection: apsw.Connection, longest: float) -> Iterator[None]:
    """Have a connection wait for others no longer than this, until the end of the block."""
    connection.set_busy_handler(BusyHandler(longest))
    try:
        yield
    finally:
        connection.set_busy_handler(BusyHandler())
