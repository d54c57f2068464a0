"""Which job to claim: highest priority first, then the oldest; and so that many workers seldom reach for the same one.

Global indexes lag behind their table, and every worker sees the same list. Workers therefore share the jobs of a list among them by a
hash of the id, and remember what they have lost. Priorities come before shares, and a job that its worker leaves lying is everyone's.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True)
class Candidate:
    """A claimable job as the index shows it."""

    job_id: UUID
    version: int
    queue: str
    priority: int
    job_type: str
    created_at: datetime
    start_by: datetime | None = None
    concurrency_key: str | None = None
    concurrency_limit: int = 1

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """A candidate from the attributes that the index holds."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__ if name in values})


def share_of(job_id: UUID, peers: int) -> int:
    """Which of so many workers a job belongs to."""
    return zlib.crc32(job_id.bytes) % peers


@dataclass
class Picker:
    """What one worker remembers between claims. `ticks` are seconds that only grow."""

    ticks: Callable[[], float]
    #: this worker's number among those that claim from the same queues, and how many they are
    rank: int = 0
    peers: int = 1
    #: seconds for which a list is good, a loss is remembered, a full key is left alone, and a job is left to its worker
    fresh_for: float = 0.2
    lost_for: float = 5.0
    full_for: float = 1.0
    patience: float = 0.5
    #: how often a claim was lost to another worker
    losses: int = 0
    #: claims whose answer did not come: the job and the token
    unclear: list[tuple[UUID, str]] = field(default_factory=list)
    _lists: dict[str, tuple[float, list[Candidate]]] = field(default_factory=dict)
    _lost: dict[UUID, float] = field(default_factory=dict)
    _full: dict[str, float] = field(default_factory=dict)
    _seen: dict[UUID, float] = field(default_factory=dict)

    def known(self, queue: str) -> bool:
        """Whether there is a list of a queue that is still good."""
        found = self._lists.get(queue)
        return found is not None and bool(found[1]) and self.ticks() - found[0] <= self.fresh_for

    def exhausted(self, queue: str) -> bool:
        """Whether nothing is left on the list of a queue."""
        return not self._lists.get(queue, (0.0, []))[1]

    def learn(self, queue: str, candidates: Sequence[Candidate]) -> None:
        """Take a new list of a queue's claimable jobs."""
        now = self.ticks()
        self._lost = {job: until for job, until in self._lost.items() if until > now}
        self._full = {key: until for key, until in self._full.items() if until > now}
        others = {one.job_id for name, (_, known) in self._lists.items() if name != queue for one in known}
        self._seen = {one.job_id: self._seen.get(one.job_id, now) for one in candidates} | {
            job: since for job, since in self._seen.items() if job in others
        }
        self._lists[queue] = (now, self._ordered(candidates, now))

    def _ordered(self, candidates: Iterable[Candidate], now: float) -> list[Candidate]:
        free = [one for one in candidates if one.job_id not in self._lost and one.concurrency_key not in self._full]
        return sorted(free, key=lambda one: (-one.priority, not self._mine(one, now)))

    def _mine(self, candidate: Candidate, now: float) -> bool:
        if self.peers <= 1 or share_of(candidate.job_id, self.peers) == self.rank % self.peers:
            return True
        return now - self._seen.get(candidate.job_id, now) >= self.patience

    def choose(self, queue: str, number: int) -> list[Candidate]:
        """The next jobs to try, which are then off the list: at most so many, and one of each concurrency key at a time."""
        _, candidates = self._lists.get(queue, (0.0, []))
        chosen: list[Candidate] = []
        keys: set[str] = set()
        left: list[Candidate] = []
        for place, candidate in enumerate(candidates):
            if len(chosen) == number:
                left += candidates[place:]
                break
            key = candidate.concurrency_key
            if key is None:
                chosen.append(candidate)
            elif key in keys:
                left.append(candidate)
            elif key not in self._full:
                keys.add(key)
                chosen.append(candidate)
        candidates[:] = left
        return chosen

    @property
    def full_keys(self) -> list[str]:
        """The concurrency keys that had no room a moment ago."""
        now = self.ticks()
        return [key for key, until in self._full.items() if until > now]

    def forget(self, queue: str) -> None:
        """Drop the list of a queue: something has changed there."""
        self._lists.pop(queue, None)

    def lost(self, candidate: Candidate) -> None:
        """Another worker has the job."""
        self.losses += 1
        self._lost[candidate.job_id] = self.ticks() + self.lost_for

    def full(self, key: str) -> None:
        """No more jobs with this concurrency key may run now."""
        self._full[key] = self.ticks() + self.full_for

    def freed(self, key: str) -> None:
        """A job with this concurrency key has ended."""
        self._full.pop(key, None)


def turn(queues: dict[str, int], chance: float) -> list[str]:
    """The order in which to look into queues: the first is drawn by weight from `chance` (0 to 1), the rest follow by weight."""
    total = sum(queues.values())
    mark, first = chance * total, next(iter(queues))
    for name, weight in queues.items():
        first = name
        mark -= weight
        if mark < 0:
            break
    return [first, *sorted((name for name in queues if name != first), key=lambda name: -queues[name])]
