"""Which job to claim: highest priority first, then the oldest; and so that many workers seldom reach for the same one.

Global indexes lag behind their table, and every worker sees the same list. For each job the workers therefore stand in a line, whose order
follows from a hash of the job and the worker: the first takes it at once, the others only when it is left lying, each at a moment of its
own. A worker with jobs of its own in the list leaves those of others alone for longer, and takes them from the end at which their own
worker arrives last. Workers that disagree about who is there still agree about the order of those they both know.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic_core import SchemaValidator, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID


#: A UUID of its text, in a quarter of the time that its class takes.
_uuid: Callable[[str], UUID] = SchemaValidator(core_schema.uuid_schema()).validate_python
#: Seconds after which a list says nothing any more about the jobs of others.
_SOON = 0.005


class Candidate(NamedTuple):
    """A claimable job as the index shows it."""

    job_id: UUID
    version: int
    queue: str
    priority: int
    start_by: datetime | None = None
    concurrency_key: str | None = None
    concurrency_limit: int = 1

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """A candidate from what the index holds, as it is on the wire: hundreds of them are read, and few are claimed."""
        key, start_by = item.get("concurrency_key"), item.get("start_by")
        return cls(
            job_id=_uuid(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            queue=item["queue"]["S"],
            priority=int(item["priority"]["N"]),
            start_by=None if start_by is None else datetime.fromisoformat(start_by["S"]),
            concurrency_key=None if key is None else key["S"],
            concurrency_limit=int(item["concurrency_limit"]["N"]) if "concurrency_limit" in item else 1,
        )


def number_of(worker_id: str) -> int:
    """A worker as a number, the same in every process."""
    return int.from_bytes(hashlib.blake2b(worker_id.encode(), digest_size=7).digest())


def place_of(job_id: UUID, worker: int, others: Iterable[int]) -> int:
    """How many workers are before one in the line for a job. Hashes of numbers are the same in every process."""
    mine = hash((job_id.int, worker))
    return sum(hash((job_id.int, other)) < mine for other in others)


@dataclass
class Picker:
    """What one worker remembers between claims. `ticks` are seconds that only grow."""

    ticks: Callable[[], float]
    worker_id: str = ""
    #: seconds for which a list is good, a job that is taken is remembered, and a full key is left alone
    fresh_for: float = 0.2
    lost_for: float = 5.0
    full_for: float = 1.0
    #: seconds until a job that is left lying is everyone's: of workers that have nothing else to do, and of those that have
    reserved_for: float = 0.4
    reserved_while_busy: float = 2.0
    #: whether nobody can claim between a look at the index and the claims that follow from it, so that no claim is lost
    undisturbed: bool = False
    #: how often a claim was lost to another worker
    losses: int = 0
    #: claims whose answer did not come: the job and the token
    unclear: list[tuple[UUID, str]] = field(default_factory=list)
    _lists: dict[str, tuple[float, list[Candidate]]] = field(default_factory=dict)
    _gone: dict[tuple[UUID, int], float] = field(default_factory=dict)
    _full: dict[str, float] = field(default_factory=dict)
    _seen: dict[UUID, float] = field(default_factory=dict)
    _turns: dict[str, float] = field(default_factory=dict)
    _others: tuple[int, ...] = ()
    #: jobs on the lists that others are before this one in the line for
    _foreign: set[UUID] = field(default_factory=set)

    @property
    def peers(self) -> int:
        """How many workers there are, with this one."""
        return len(self._others) + 1

    def meet(self, workers: Iterable[str]) -> bool:
        """Learn who else claims from the same queues; whether that has changed. Lists are then divided anew."""
        others = tuple(sorted(number_of(worker) for worker in set(workers) - {self.worker_id}))
        changed = others != self._others
        if changed:
            self._others = others
            self._lists.clear()
        return changed

    def known(self, queue: str) -> bool:
        """Whether there is a list of a queue that is still good."""
        found = self._lists.get(queue)
        return found is not None and bool(found[1]) and self.ticks() - found[0] <= self.fresh_for

    def learn(self, queue: str, candidates: Sequence[Candidate]) -> None:
        """Take a new list of a queue's claimable jobs."""
        now = self.ticks()
        self._full = {key: until for key, until in self._full.items() if until > now}
        if self.undisturbed:
            self._lists[queue] = (now, [one for one in candidates if one.concurrency_key not in self._full])
            return
        self._remember(now)
        others = {one.job_id for name, (_, known) in self._lists.items() if name != queue for one in known}
        self._seen = {one.job_id: self._seen.get(one.job_id, now) for one in candidates} | {
            job: since for job, since in self._seen.items() if job in others
        }
        free = [one for one in candidates if (one.job_id, one.version) not in self._gone and one.concurrency_key not in self._full]
        self._lists[queue] = (now, self._for_me(queue, free, now))

    def _remember(self, now: float) -> None:
        """Forget jobs that were taken so long ago that the index has caught up. The oldest come first."""
        while self._gone and self._gone[job := next(iter(self._gone))] <= now:
            del self._gone[job]

    def _for_me(self, queue: str, free: Sequence[Candidate], now: float) -> list[Candidate]:
        """Those of the jobs that this worker may try now, in the order to be tried; when it may try others is noted."""
        self._turns.pop(queue, None)
        if not self._others:
            return sorted(free, key=lambda one: -one.priority)
        worker = number_of(self.worker_id)
        places = {one.job_id: place_of(one.job_id, worker, self._others) for one in free}
        best = max((one.priority for one in free if places[one.job_id] == 0), default=-1)
        chosen = []
        for one in free:
            reserved_for = self.reserved_for if one.priority > best else self.reserved_while_busy
            turn = self._seen[one.job_id] + reserved_for * places[one.job_id] / self.peers
            if turn <= now:
                chosen.append(one)
            else:
                self._turns[queue] = min(turn, self._turns.get(queue, turn))
        self._foreign = {one.job_id for one in chosen if places[one.job_id]}
        order = {one.job_id: -number if one.job_id in self._foreign else number for number, one in enumerate(free)}
        return sorted(chosen, key=lambda one: (-one.priority, one.job_id in self._foreign, order[one.job_id]))

    def next_turn(self) -> float | None:
        """The seconds until a job that others are before this one in the line for may be tried; None without one."""
        return max(0.0, min(self._turns.values()) - self.ticks()) if self._turns else None

    def choose(self, queue: str, number: int) -> list[Candidate]:
        """The next jobs to try, which are then off the list: at most so many, and one of each concurrency key at a time."""
        learned, candidates = self._lists.get(queue, (0.0, []))
        late = self.ticks() - learned > _SOON
        chosen: list[Candidate] = []
        left: list[Candidate] = []
        keys: set[str] = set()
        for candidate in candidates:
            key = candidate.concurrency_key
            if (key is not None and key in self._full) or (late and candidate.job_id in self._foreign):
                continue
            if len(chosen) < number and key not in keys:
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
        if not self.undisturbed:
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
