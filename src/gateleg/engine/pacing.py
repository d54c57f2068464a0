"""Pacing: long work in steps that are bounded by time, with room between them for those who wait to write.

A step is one transaction. It takes one small chunk of the work after another until its time is up; how many there are depends on the
machine and on what else it does. A commit takes long if a step has changed much, so the time for chunks shrinks when a whole step took too
long. After a step there is a pause only if somebody waits, until they have had their turn.
"""

import time
from collections.abc import Callable

from gateleg.engine.database import Connection, Database

#: Seconds for which a step may hold writers off, with its commit.
STEP_SECONDS = 0.005
#: The longest pause (seconds) for those who wait: twice as long as any of them is ever asleep (`busy_handler.py`).
LONGEST_PAUSE = 0.02
#: Seconds between two looks at whether anybody still waits.
_GLANCE = 0.0005
#: The parts of a step's time that are left for chunks at least and at most.
_LEAST, _MOST = 0.05, 0.6

#: Does a little of the work; whether there may be more.
Chunk = Callable[[Connection], bool]


class Pace:
    """The steps of one kind of long work after another, on one database."""

    __slots__ = ("_database", "_part")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._part = _MOST / 2

    def step(self, chunk: Chunk) -> bool:
        """Take chunks in one transaction until the time is up; whether there may be more. Afterwards, let those who wait write."""
        with self._database.write_step() as connection:
            began = time.monotonic()
            until = began + STEP_SECONDS * self._part
            more = chunk(connection)
            while more and time.monotonic() < until:
                more = chunk(connection)
        self._part = adapted(self._part, time.monotonic() - began)
        self._give_way()
        connection.log.look_after(connection)
        return more

    def _give_way(self) -> None:
        until = time.monotonic() + LONGEST_PAUSE
        while self._database.waiters.present() and time.monotonic() < until:
            time.sleep(_GLANCE)


def adapted(part: float, took: float) -> float:
    """The part of a step's time that is left for chunks, after a whole step took so long."""
    if took > STEP_SECONDS:
        return max(part * max(STEP_SECONDS / took, 0.5), _LEAST)
    return min(part * 1.1, _MOST)
