"""Which job to claim: highest priority first, then the oldest; and so that many workers seldom reach for the same one.

Global indexes lag behind their table, and every worker sees the same list. Workers therefore share the jobs of a list among them by a
hash of the id, and remember what they have had and lost. A job that its worker leaves lying is the next one's in line a little later, then
that of the one after: each has its own moment to begin, so they do not all reach for it at once.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
    #: seconds for which a list is good, a job that is taken is remembered, a full key is left alone, and until a job is everyone's
    fresh_for: float = 0.2
    lost_for: float = 5.0
    full_for: float = 1.0
    patience: float = 0.2
    #: how often a claim was lost to another worker
    losses: int = 0
    #: claims whose answer did not come: the job and the token
    unclear: list[tuple[UUID, str]] = field(default_factory=list)
    _lists: dict[str, tuple[float, list[Candidate]]] = field(default_factory=dict)
    _gone: dict[tuple[UUID, int], float] = field(default_factory=dict)
    _full: dict[str, float] = field(default_factory=dict)
    _seen: dict[UUID, float] = field(default_factory=dict)

    def known(self, queue: str) -> bool:
        """Whether there is a list of a queue that is still good."""
        found = self._lists.get(queue)
        return found is not None and bool(found[1]) and self.ticks() - found[0] <= self.fresh_for

    def learn(self, queue: str, candidates: Sequence[Candidate]) -> None:
        """Take a new list of a queue's claimable jobs."""
        now = self.ticks()
        self._gone = {job: until for job, until in self._gone.items() if until > now}
        self._full = {key: until for key, until in self._full.items() if until > now}
        others = {one.job_id for name, (_, known) in self._lists.items() if name != queue for one in known}
        self._seen = {one.job_id: self._seen.get(one.job_id, now) for one in candidates} | {
            job: since for job, since in self._seen.items() if job in others
        }
        free = [one for one in candidates if (one.job_id, one.version) not in self._gone and one.concurrency_key not in self._full]
        self._lists[queue] = (now, sorted(free, key=lambda one: (-one.priority, self._distance(one))))

    def _distance(self, candidate: Candidate) -> int:
        """How many workers are before this one in the line for a job."""
        return (self.rank - share_of(candidate.job_id, self.peers)) % self.peers if self.peers > 1 else 0

    def _turn(self, candidate: Candidate) -> float:
        """When those before this one in the line have had their time."""
        return self._seen.get(candidate.job_id, 0.0) + self.patience * self._distance(candidate) / self.peers

    def next_turn(self) -> float | None:
        """The seconds until a job that is known, and that others are before this one in the line for, may be tried; None without one."""
        now = self.ticks()
        turns = [self._turn(one) - now for queue, (_, known) in self._lists.items() if self.known(queue) for one in known]
        return max(0.0, min(turns)) if turns else None

    def choose(self, queue: str, number: int) -> list[Candidate]:
        """The next jobs to try, which are then off the list: at most so many, and one of each concurrency key at a time."""
        _, candidates = self._lists.get(queue, (0.0, []))
        now = self.ticks()
        chosen: list[Candidate] = []
        left: list[Candidate] = []
        keys: set[str] = set()
        for candidate in candidates:
            key = candidate.concurrency_key
            if key is not None and key in self._full:
                continue
            if len(chosen) < number and key not in keys and self._turn(candidate) <= now:
                chosen.append(candidate)
                keys |= {key} if key is not None else set()
            else:
                left.append(candidate)
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
        self.had(candidate)

    def had(self, candidate: Candidate) -> None:
        """The job is no longer as the index shows it for a while."""
        self._gone[candidate.job_id, candidate.version] = self.ticks() + self.lost_for

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
