"""Which job to claim: highest priority first, then the oldest, with few collisions between workers.

Global indexes lag behind their table, and every worker reads the same candidates. So each job is reserved for one worker after another, in
the order of a hash of job and worker (rendezvous hashing): the first worker claims it at once, and each other worker only if it is still
there after a delay that grows with the worker's rank. A worker that has reserved jobs waits longer before it claims jobs reserved for
others, and tries these from last to first, because the worker they are reserved for reaches the last ones latest. Two workers that know
different sets of workers still agree on the order of the workers that both know.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from pydantic_core import SchemaValidator, core_schema

from gateleg.model import ModelError
from gateleg.model.codec.wire import to_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID


R = TypeVar("R")
#: Parses a UUID four times as fast as `UUID(text)`.
_uuid: Callable[[str], UUID] = SchemaValidator(core_schema.uuid_schema()).validate_python
#: The status of a job that can be claimed, in DynamoDB's JSON.
_PENDING = {"S": "PENDING"}
#: What reading the item of an index raises if Gateleg would not have written it: see `readable_items`.
STRAY = (KeyError, ValueError, TypeError, AttributeError, ModelError)
#: Candidates reserved for other workers are only tried this many seconds after the index was read: later, those have probably claimed them.
_OTHERS_FRESH_SECONDS = 0.005


class Candidate(NamedTuple):
    """A claimable job as read from `ReadyIndex`."""

    job_id: UUID
    version: int
    queue: str
    priority: int
    start_by: datetime | None = None
    concurrency_key: str | None = None
    concurrency_limit: int = 1
    job_type: str = ""

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> Self:
        """Decode an index item. This bypasses the model: a worker reads hundreds of candidates and claims few.

        Raises one of `STRAY` for an item that Gateleg would not have written, or whose status another program has changed.
        """
        if item["status"] != _PENDING:
            raise ValueError("not pending")
        key, start_by = item.get("concurrency_key"), item.get("start_by")
        return cls(
            job_id=_uuid(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            queue=item["queue"]["S"],
            priority=int(item["priority"]["N"]),
            start_by=None if start_by is None else to_utc(datetime.fromisoformat(start_by["S"])),
            concurrency_key=None if key is None else key["S"],
            concurrency_limit=int(item["concurrency_limit"]["N"]) if "concurrency_limit" in item else 1,
            job_type=item["job_type"]["S"],
        )


def readable_items(items: Iterable[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], R]) -> tuple[list[R], list[str]]:
    """The index items as `read` decodes them, and the ids of strays: items that it cannot decode."""
    listed = list(items)
    try:
        # Decoding without a try for each item is faster.
        return list(map(read, listed)), []
    except STRAY:
        decoded: list[R] = []
        strays: list[str] = []
    for item in listed:
        try:
            decoded.append(read(item))
        except STRAY:
            strays.append(item["job_id"]["S"])
    return decoded, strays


def worker_hash(worker_id: str) -> int:
    """The hash of a worker's id, the same in every process."""
    return int.from_bytes(hashlib.blake2b(worker_id.encode(), digest_size=7).digest())


def rank_of(job_id: UUID, worker: int, others: Iterable[int]) -> int:
    """How many of the other workers come before this one for a job. Python hashes numbers the same way in every process."""
    mine = hash((job_id.int, worker))
    return sum(hash((job_id.int, other)) < mine for other in others)


@dataclass
class CandidateSelector:
    """The candidates of one worker, and its memory of recent claims. `ticks` is a monotonic clock in seconds."""

    ticks: Callable[[], float]
    worker_id: str = ""
    #: seconds for which candidates are used after they were read, a claimed job is remembered, and a full concurrency key is skipped
    fresh_for: float = 0.2
    claimed_for: float = 5.0
    full_for: float = 1.0
    #: seconds for which a job that another program wrote is not looked at again after it could not be claimed
    refused_for: float = 5.0
    #: seconds until any worker may claim a job: a worker without reserved jobs, and a worker that has some
    reserved_for: float = 0.4
    reserved_while_busy: float = 2.0
    #: whether no other worker can claim between the read of the index and the claims that follow, so that no claim is lost
    exclusive: bool = False
    #: how many claims were lost to other workers
    lost_claims: int = 0
    #: the types of jobs that were left to other workers, because this one has no handler for them
    unknown_types: set[str] = field(default_factory=set)
    #: claims whose response from the store was lost: the job and the token
    unconfirmed: list[tuple[UUID, str]] = field(default_factory=list)
    _candidates: dict[str, tuple[float, list[Candidate]]] = field(default_factory=dict)
    _claimed_until: dict[tuple[UUID, int], float] = field(default_factory=dict)
    _full_until: dict[str, float] = field(default_factory=dict)
    _examined_until: dict[str, float] = field(default_factory=dict)
    _refused_until: dict[tuple[UUID, int], float] = field(default_factory=dict)
    _first_seen: dict[UUID, float] = field(default_factory=dict)
    _next_unreserved: dict[str, float] = field(default_factory=dict)
    _others: tuple[int, ...] = ()
    #: candidates that are reserved for other workers first
    _of_others: set[UUID] = field(default_factory=set)

    @property
    def worker_count(self) -> int:
        """The number of workers, including this one."""
        return len(self._others) + 1

    def set_workers(self, workers: Iterable[str]) -> bool:
        """Set which workers claim from the same queues, and return whether they have changed. A change divides the candidates again."""
        others = tuple(sorted(worker_hash(worker) for worker in set(workers) - {self.worker_id}))
        changed = others != self._others
        if changed:
            self._others = others
            self._candidates.clear()
        return changed

    def has_candidates(self, queue: str) -> bool:
        """Whether fresh candidates of a queue are left."""
        known = self._candidates.get(queue)
        return known is not None and bool(known[1]) and self.ticks() - known[0] <= self.fresh_for

    def set_candidates(self, queue: str, candidates: Sequence[Candidate]) -> None:
        """Replace the candidates of a queue with those just read from the index."""
        now = self.ticks()
        self._full_until = {key: until for key, until in self._full_until.items() if until > now}
        if self.exclusive:
            self._candidates[queue] = (now, [each for each in candidates if each.concurrency_key not in self._full_until])
            return
        self._forget_claimed(now)
        of_other_queues = {each.job_id for name, (_, known) in self._candidates.items() if name != queue for each in known}
        self._first_seen = {each.job_id: self._first_seen.get(each.job_id, now) for each in candidates} | {
            job: since for job, since in self._first_seen.items() if job in of_other_queues
        }
        free = [
            each
            for each in candidates
            if (each.job_id, each.version) not in self._claimed_until and each.concurrency_key not in self._full_until
        ]
        self._candidates[queue] = (now, self._unreserved(queue, free, now))

    def _forget_claimed(self, now: float) -> None:
        """Forget jobs that were claimed so long ago that the index has caught up. The oldest come first."""
        while self._claimed_until and self._claimed_until[job := next(iter(self._claimed_until))] <= now:
            del self._claimed_until[job]

    def _unreserved(self, queue: str, free: Sequence[Candidate], now: float) -> list[Candidate]:
        """The candidates that this worker may claim now, in order. Records when it may claim the next reserved one."""
        self._next_unreserved.pop(queue, None)
        if not self._others:
            return sorted(free, key=lambda each: -each.priority)
        worker = worker_hash(self.worker_id)
        ranks = {each.job_id: rank_of(each.job_id, worker, self._others) for each in free}
        best_own_priority = max((each.priority for each in free if ranks[each.job_id] == 0), default=-1)
        chosen = []
        for each in free:
            reserved_for = self.reserved_for if each.priority > best_own_priority else self.reserved_while_busy
            unreserved_at = self._first_seen[each.job_id] + reserved_for * ranks[each.job_id] / self.worker_count
            if unreserved_at <= now:
                chosen.append(each)
            else:
                self._next_unreserved[queue] = min(unreserved_at, self._next_unreserved.get(queue, unreserved_at))
        self._of_others = {each.job_id for each in chosen if ranks[each.job_id]}
        order = {each.job_id: -number if each.job_id in self._of_others else number for number, each in enumerate(free)}
        return sorted(chosen, key=lambda each: (-each.priority, each.job_id in self._of_others, order[each.job_id]))

    def seconds_until_unreserved(self) -> float | None:
        """Seconds until this worker may claim a job that is still reserved for others; None if no job is."""
        return max(0.0, min(self._next_unreserved.values()) - self.ticks()) if self._next_unreserved else None

    def take_candidates(self, queue: str, number: int) -> list[Candidate]:
        """Remove and return the next candidates to try: at most `number`, and one for each concurrency key."""
        read_at, candidates = self._candidates.get(queue, (0.0, []))
        late = self.ticks() - read_at > _OTHERS_FRESH_SECONDS
        chosen: list[Candidate] = []
        left: list[Candidate] = []
        keys: set[str] = set()
        for candidate in candidates:
            key = candidate.concurrency_key
            if (key is not None and key in self._full_until) or (late and candidate.job_id in self._of_others):
                continue
            if len(chosen) < number and key not in keys:
                chosen.append(candidate)
                keys |= {key} if key is not None else set()
            else:
                left.append(candidate)
        candidates[:] = left
        return chosen

    def discard_candidates(self, queue: str) -> None:
        """Forget the candidates of a queue, because something has changed there."""
        self._candidates.pop(queue, None)

    @property
    def full_keys(self) -> list[str]:
        """The concurrency keys that had no free slot a moment ago."""
        now = self.ticks()
        return [key for key, until in self._full_until.items() if until > now]

    def record_lost(self, candidate: Candidate) -> None:
        """Another worker has claimed the job."""
        self.lost_claims += 1
        self.record_claimed(candidate)

    def may_examine(self, job_id: str) -> bool:
        """Whether to examine a stray now: each one at most once in a while."""
        now = self.ticks()
        self._examined_until = {job: until for job, until in self._examined_until.items() if until > now}
        if job_id in self._examined_until:
            return False
        self._examined_until[job_id] = now + self.refused_for
        return True

    def record_refused(self, candidate: Candidate) -> None:
        """The store refuses to claim the job, or it is not a valid job; skip it for a while."""
        self._refused_until[candidate.job_id, candidate.version] = self.ticks() + self.refused_for

    def is_refused(self, candidate: Candidate) -> bool:
        """Whether this version of the job was refused a moment ago."""
        until = self._refused_until.get((candidate.job_id, candidate.version)) if self._refused_until else None
        if until is not None and until <= self.ticks():
            del self._refused_until[candidate.job_id, candidate.version]
            return False
        return until is not None

    def record_claimed(self, candidate: Candidate) -> None:
        """The job is claimed; skip it until the index shows that."""
        if not self.exclusive:
            self._claimed_until[candidate.job_id, candidate.version] = self.ticks() + self.claimed_for

    def record_key_full(self, key: str) -> None:
        """The concurrency key has no free slot now."""
        self._full_until[key] = self.ticks() + self.full_for

    def record_key_freed(self, key: str) -> None:
        """A job with this concurrency key has ended."""
        self._full_until.pop(key, None)


def queue_order(weights: Mapping[str, int], random_value: float) -> list[str]:
    """The order in which to poll queues: `random_value` (0 to 1) draws the first by weight, the others follow by descending weight."""
    remaining, first = random_value * sum(weights.values()), next(iter(weights))
    for name, weight in weights.items():
        first = name
        remaining -= weight
        if remaining < 0:
            break
    return [first, *sorted((name for name in weights if name != first), key=lambda name: -weights[name])]
