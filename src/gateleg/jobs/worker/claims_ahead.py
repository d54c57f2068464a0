"""Claiming ahead: a worker whose jobs take next to no time claims several at once, and runs them one after another.

A claim and the end of a job are a commit, which other processes wait for. For jobs that do little that is most of their cost, and with
many workers most of their time is spent waiting for each other. So once jobs have been short, the next few are claimed together, and their
ends are written together with the next claim. The worker never runs more of them at once than it may: the others wait here, for a few
milliseconds at most. If one takes longer after all, those behind it are given back for others to take.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateleg.jobs.tables.job import Job

#: How many jobs a worker has at most, with those that it has claimed ahead.
TOGETHER = 8
#: Seconds up to which a job is short, and how many of them in a row have to be.
_SHORT = 0.001
_PROOFS = 16
#: Seconds that a job that was claimed ahead waits here before it is given back.
WAIT = 0.02


class ClaimsAhead:
    """The jobs that a worker has claimed and has not begun, and how many of them there may be."""

    def __init__(self, concurrency: int) -> None:
        self._most = max(0, TOGETHER - concurrency)
        self._short = 0
        self._waiting: deque[Job] = deque()
        #: whether ends are to wait for the next claim, which shares their commit
        self.together = False

    def ended(self, seconds: float) -> None:
        """A handler took so long."""
        self._short = self._short + 1 if seconds < _SHORT else 0

    @property
    def number(self) -> int:
        """How many jobs to claim beyond those that can be run at once."""
        return self._most if self._short >= _PROOFS and not self._waiting else 0

    def add(self, job: Job) -> None:
        """A job that has been claimed waits for its turn."""
        self._waiting.append(job)
        self.together = True

    def holds(self, job: Job) -> bool:
        """Whether a job still waits here."""
        return any(one is job for one in self._waiting)

    def take(self) -> Job | None:
        """The job whose turn it is."""
        return self._waiting.popleft() if self._waiting else None

    def give_back(self) -> list[Job]:
        """All that wait: they are not to be run here any more."""
        left = list(self._waiting)
        self._waiting.clear()
        self._short, self.together = 0, False
        return left
