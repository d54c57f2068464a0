"""Throttle: long work in short transactions that let waiting writers in between.

A step is one transaction. It runs small chunks of work until its time is up, so that the number of chunks adapts to the machine and its
load. A commit takes longer the more a step has changed, so the share of time for chunks shrinks when a whole step took too long. A pause
follows a step only if somebody is waiting to write, and ends when they have had their turn.
"""

import time
from collections.abc import Callable, Sequence

from gateleg.engine.database import Database, DatabaseConnection

#: A table of at most so many rows is indexed, copied or dropped within the request, and a chunk of work changes at most so many bytes.
SMALL_TABLE_ROWS = 1000
CHUNK_BYTES = 500_000
#: Target duration of a step, commit included: how long it keeps other writers waiting.
STEP_SECONDS = 0.005
#: Longest pause for waiting writers: twice as long as any of them ever sleeps (`locking.py`).
MAX_PAUSE_SECONDS = 0.02
#: Interval for checking whether anybody is still waiting.
_POLL_SECONDS = 0.0005
#: Smallest and largest share of a step's time that chunks may use; the rest is for the commit.
_MIN_WORK_FRACTION, _MAX_WORK_FRACTION = 0.05, 0.6

#: Does a small part of the work; returns whether there may be more.
Chunk = Callable[[DatabaseConnection], bool]


class Throttle:
    """Runs the steps of long work on one database."""

    __slots__ = ("_database", "_work_fraction")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._work_fraction = _MAX_WORK_FRACTION / 2

    def step(self, chunk: Chunk) -> bool:
        """Run chunks in one transaction until the time is up, then let waiting writers in; returns whether there may be more."""
        with self._database.write_step() as connection:
            began = time.monotonic()
            until = began + STEP_SECONDS * self._work_fraction
            more = chunk(connection)
            while more and time.monotonic() < until:
                more = chunk(connection)
        self._work_fraction = adapt_work_fraction(self._work_fraction, time.monotonic() - began)
        self._let_others_write()
        connection.log.checkpoint_if_long(connection)
        return more

    def _let_others_write(self) -> None:
        until = time.monotonic() + MAX_PAUSE_SECONDS
        while self._database.writers.has_waiters() and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)


def adapt_work_fraction(fraction: float, took: float) -> float:
    """The share of the next step's time for chunks, given how long the last whole step took."""
    if took > STEP_SECONDS:
        return max(fraction * max(STEP_SECONDS / took, 0.5), _MIN_WORK_FRACTION)
    return min(fraction * 1.1, _MAX_WORK_FRACTION)


def count_within(sizes: Sequence[int]) -> int:
    """How many rows of these sizes fit a chunk: at least one, if there is one."""
    total = 0
    for position, size in enumerate(sizes):
        total += size
        if total >= CHUNK_BYTES:
            return position + 1
    return len(sizes)
