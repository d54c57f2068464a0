"""Claiming: one conditional update gives a pending job to a worker.

The job with the highest priority comes first, then the oldest. Global indexes lag behind their table, and every worker reads the same
candidates, so `CandidateSelector` divides them to avoid collisions: each job is reserved for one worker after another, in the order of a
hash of job and worker (rendezvous hashing). The first worker claims it at once, and each other worker only if it is still there after a
delay that grows with the worker's rank. A worker that has reserved jobs waits longer before it claims jobs reserved for others, and tries
these from last to first, because the worker they are reserved for reaches the last ones latest. Two workers that know different sets of
workers still agree on the order of the workers that both know.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar
from uuid import UUID

from pydantic_core import SchemaValidator, core_schema

from gateleg.jobs.adoption import adopt_by_id, find_valid_job
from gateleg.jobs.finish import SETTLE, expire, slots_refs
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.jobs.submit import BARRIER
from gateleg.jobs.tables.job import LARGEST_PRIORITY, Job, JobStatus, is_concurrency_key, job_key
from gateleg.jobs.tables.records import QueueState, RateWindow, Slots
from gateleg.model import DecodeError, ModelError
from gateleg.model.wire import iso, to_utc
from gateleg.plain import is_plain
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, patch, upsert
from gateleg.store.flow import Request, run_concurrently
from gateleg.store.operations import get, transact
from gateleg.store.operations.write_operation import PreparedPatch, prepare_patch
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import UpdateAction
    from gateleg.model.planning import PreparedUpdate
    from gateleg.model.wire import Value
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

__all__ = ["may_run"]

_log = logging.getLogger("gateleg.jobs")
R = TypeVar("R")

#: How many times one claim reads candidates before it gives up.
_MAX_READS = 8
#: How many items later pages examine when full concurrency keys are filtered out.
_FILTERED_PAGE_ITEMS = 500
#: Extra candidates to read per competing worker, and the maximum.
_CANDIDATES_PER_WORKER = 10
_MAX_CANDIDATES = 250
#: How many values one `IN` condition takes.
_MAX_IN_VALUES = 100
#: The types that every worker runs.
_OWN_TYPES = (SETTLE, BARRIER)
#: Whether every claim is planned by the model, without the prepared update.
_PLAIN = is_plain("prepared")


def claim(
    context: QueueContext, selector: CandidateSelector, queue: str, worker_id: str, state: QueueState | None = None
) -> Flow[Job | None]:
    """Claim the next job of a queue for a worker. Returns None if no job is claimable, or the queue is paused or at its rate limit."""
    claimed = yield from claim_several(context, selector, queue, worker_id, 1, state)
    return claimed[0] if claimed else None


def claim_several(
    context: QueueContext, selector: CandidateSelector, queue: str, worker_id: str, number: int, state: QueueState | None = None
) -> Flow[list[Job]]:
    """Claim up to `number` of the next jobs of a queue for a worker, concurrently if the transport allows it, and return them.

    A queue with a rate limit yields one job at a time. An error is raised only if no job was claimed.
    """
    if selector.unconfirmed and (claimed := (yield from _recover_unconfirmed(context, selector))) is not None:
        return [claimed]
    if state is not None and state.mode == "paused":
        return []
    if state is None or not state.rate:
        return (yield from _claim(context, selector, queue, worker_id, number))
    if not selector.has_candidates(queue) and not (yield from _read_candidates(context, selector, queue, 1)):
        # Reading costs less than a permit that would be returned unused.
        return []
    window = yield from _acquire_permit(context, state)
    if window is None:
        return []
    jobs = yield from _claim(context, selector, queue, worker_id, 1)
    if not jobs:
        yield from upsert(context.tables.rate_window.key(queue=queue, window=window), RateWindow.started.add(-1)).flow(context.setup)
    return jobs


def _recover_unconfirmed(context: QueueContext, selector: CandidateSelector) -> Flow[Job | None]:
    """A job that this worker has claimed without knowing it, because the store's response was lost."""
    while selector.unconfirmed:
        job_id, token = selector.unconfirmed[-1]
        job = yield from find_valid_job(context, job_id)
        selector.unconfirmed.pop()
        if job is not None and job.lease_token == token and job.status == JobStatus.PROCESSING:
            return job
    return None


def _acquire_permit(context: QueueContext, state: QueueState) -> Flow[int | None]:
    """Count one more start in the current rate window. Returns the window, or None if the limit is reached."""
    now = context.now()
    window = int(now.timestamp() // state.rate_seconds)
    expires_at = now + timedelta(seconds=2 * state.rate_seconds)
    below_rate = RateWindow.started.missing() | (RateWindow.started < state.rate)
    ref = context.tables.rate_window.key(queue=state.name, window=window)
    try:
        yield from upsert(ref, RateWindow.started.add(1), RateWindow.expires_at.set(expires_at), condition=below_rate).flow(context.setup)
    except ConditionFailed:
        return None
    return window


def _claim(context: QueueContext, selector: CandidateSelector, queue: str, worker_id: str, number: int) -> Flow[list[Job]]:
    claimed: list[Job] = []
    # Make the tokens before the first read, because after it other writers may have to wait for this claim.
    tokens = context.setup.tokens(number)
    for _ in range(_MAX_READS):
        total: int | None = None
        if not selector.has_candidates(queue):
            limit = _number_to_read(context, selector, number - len(claimed))
            candidates = yield from _read_candidates(context, selector, queue, limit)
            if len(candidates) < limit:
                total = len(candidates)
            selector.set_candidates(queue, candidates)
        tried = 0
        while chosen := selector.take_candidates(queue, number - len(claimed)):
            tried += len(chosen)
            term = LeaseTerm.of(context, worker_id)
            late = [candidate for candidate in chosen if candidate.start_by is not None and candidate.start_by < term.begins]
            if late:
                yield from _expire(context, late)
                chosen = [candidate for candidate in chosen if candidate not in late]
            tokens += context.setup.tokens(max(0, len(chosen) - len(tokens)))
            attempts = [_try_claim(context, selector, candidate, term, tokens.pop()) for candidate in chosen]
            outcomes = yield from run_concurrently(attempts, context.setup.ticks)
            claimed += [job for job in outcomes if isinstance(job, Job)]
            failures = [error for error in outcomes if isinstance(error, Exception)]
            if failures and not claimed:
                raise failures[0]
            if failures or len(claimed) == number:
                return claimed
            if selector.single_writer:
                # Other workers may have claimed the remaining candidates since: read again.
                break
        if not tried or (selector.single_writer and tried == total):
            # No more candidates, or all of them are reserved for other workers.
            break
        selector.discard_candidates(queue)
    return claimed


def _expire(context: QueueContext, late: Iterable[Candidate]) -> Flow[None]:
    """Fail jobs whose latest start time has passed."""
    for candidate in late:
        if (yield from expire(context, candidate.job_id)) is None:
            yield from adopt_by_id(context, str(candidate.job_id))


def _number_to_read(context: QueueContext, selector: CandidateSelector, number: int) -> int:
    """How many candidates to read: only as many as needed if claims cannot be lost to other workers."""
    if selector.single_writer:
        return min(_MAX_CANDIDATES, number)
    return min(_MAX_CANDIDATES, context.settings.window + _CANDIDATES_PER_WORKER * (selector.worker_count - 1))


def _read_candidates(context: QueueContext, selector: CandidateSelector, queue: str, limit: int) -> Flow[list[Candidate]]:
    """The first claimable jobs of a queue, however many others come before them.

    Others are those whose concurrency key is full, those that this program has no handler for, and those that another program has
    written and that cannot be claimed.
    """
    kind, table, full = context.tables.job, context.queue_table_name, selector.full_keys[:_MAX_IN_VALUES]
    # The first page is small enough to be read within the commit of the claims that follow.
    known = _known_types(context)
    narrowed = bool(full or known)
    payload = _ready_query(kind, table, queue, _MAX_CANDIDATES if narrowed else limit, tuple(full), known)
    candidates: list[Candidate] = []
    passed = narrowed
    while True:
        response = yield Request("Query", payload, "Job.ready")
        readable, strays = readable_items(response["Items"], Candidate.read)
        for job_id in strays:
            # Another program wrote it. Once it is adopted, the next read shows it as it should be, or no longer.
            if selector.may_examine(job_id):
                yield from adopt_by_id(context, job_id)
        unknown = {candidate.job_type for candidate in readable if not may_run(context, candidate.job_type)}
        if unknown:
            _note_unknown(selector, queue, unknown)
            readable = [candidate for candidate in readable if candidate.job_type not in unknown]
        claimable = [candidate for candidate in readable if not selector.is_refused(candidate)]
        candidates += claimable
        passed = passed or len(claimable) < len(response["Items"])
        if not passed or len(candidates) >= limit or "LastEvaluatedKey" not in response:
            return candidates[:limit]
        payload = {**payload, "ExclusiveStartKey": response["LastEvaluatedKey"], "Limit": _FILTERED_PAGE_ITEMS}


def may_run(context: QueueContext, job_type: str) -> bool:
    """Whether this program can run jobs of a type. Programs that share tables each take only the jobs that they can run."""
    return job_type in context.jobs or job_type in _OWN_TYPES


def _note_unknown(selector: CandidateSelector, queue: str, unknown: set[str]) -> None:
    """Log each type of jobs that are left to other workers, the first time."""
    for job_type in sorted(unknown - selector.unknown_types):
        _log.warning(
            "jobs of type %s wait in queue %s: this worker has no handler for them. Start one that has",
            job_type,
            queue,
        )
    selector.unknown_types |= unknown


def _known_types(context: QueueContext) -> tuple[str, ...]:
    """The job types to read from further tables of a queue, which other programs share; empty for all types."""
    if context.tables is context.members[0].tables:
        return ()
    known = sorted({*_OWN_TYPES, *(handler.job_type for handler in context.jobs)})
    return tuple(known) if len(known) <= _MAX_IN_VALUES else ()


@lru_cache(maxsize=256)
def _ready_query(
    kind: type[Job], table: str, queue: str, limit: int, full: tuple[str, ...] = (), known: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The query for claimable jobs, without a projection: leaving attributes out costs more than it saves."""
    ready = kind.ready(queue=queue)
    if full:
        ready = ready.filter(~Job.concurrency_key.is_in(full))
    if known:
        ready = ready.filter(Job.job_type.is_in(known))
    (payload,) = ready.requests(table_name=table, limit=limit)
    return payload


def _try_claim(context: QueueContext, selector: CandidateSelector, candidate: Candidate, term: LeaseTerm, token: str) -> Flow[Job | None]:
    """Claim one job. Returns None if another worker was faster, or its concurrency key has no free slot."""
    operation = claim_write(context.tables.job, candidate, term, token)
    try:
        if candidate.concurrency_key is None:
            job: Job = yield from operation.flow(context.setup)
            selector.record_claimed(candidate)
            return job
        slots = _take_slots(context, candidate.job_id, candidate.concurrency_key, candidate.concurrency_limit)
        yield from transact([operation, *slots]).flow(context.setup)
        return (yield from get(context.tables.job, job_id=candidate.job_id, consistent=True).flow(context.setup))
    except (ConditionFailed, NotFound) as refused:
        current = getattr(refused, "current", None)
        if isinstance(current, Job) and current.lease_token == token and current.status == JobStatus.PROCESSING:
            return current
    except TransactionCanceled as refused:
        if refused.reasons[0] is None and candidate.concurrency_key is not None:
            selector.record_key_full(candidate.concurrency_key)
            return None
    except (ServiceError, Unreachable) as error:
        if isinstance(error, Unreachable) or error.status >= 500:
            selector.unconfirmed.append((candidate.job_id, token))
        elif error.code == "ValidationException":
            # Another program has given an attribute a type that the update cannot change.
            selector.record_refused(candidate)
            yield from adopt_by_id(context, str(candidate.job_id))
            return None
        raise
    except DecodeError as error:
        # The job is claimed, but is not a valid job. It is recovered when its lease expires, if it has been repaired by then.
        selector.record_refused(candidate)
        context.notices.note(UnreadableJob(str(candidate.job_id), tuple(error.problems) or (error.message,)))
        return None
    selector.record_lost(candidate)
    return None


@dataclass(frozen=True)
class LeaseTerm:
    """The worker, start and end of leases that are claimed together. `wire` holds the same values in DynamoDB's JSON."""

    worker_id: str
    begins: datetime
    ends: datetime
    wire: Mapping[str, Value]

    @classmethod
    def of(cls, context: QueueContext, worker_id: str) -> LeaseTerm:
        """A lease of the worker that begins now."""
        now = context.now()
        return cls.between(worker_id, now, now + timedelta(seconds=context.settings.lease_seconds))

    @classmethod
    def between(cls, worker_id: str, begins: datetime, ends: datetime) -> LeaseTerm:
        """A lease of the worker between two times."""
        return cls(worker_id, begins, ends, {"worker_id": {"S": worker_id}, "now": {"S": iso(begins)}, "lease_until": {"S": iso(ends)}})


def claim_write(kind: type[Job], candidate: Candidate, term: LeaseTerm, token: str) -> WriteOperation[Job]:
    """The update that claims a job, on condition that it is pending and has the version that the index showed."""
    if _PLAIN:
        return planned_claim(kind, candidate, term, token)
    values = _claim_values(candidate, term, token)
    return PreparedPatch(
        kind, _prepared_claim(kind), job_key(candidate.job_id), values, lambda: planned_claim(kind, candidate, term, token)
    )


def planned_claim(kind: type[Job], candidate: Candidate, term: LeaseTerm, token: str) -> WriteOperation[Job]:
    """The same update, planned by the model."""
    actions: list[UpdateAction] = [
        Job.status.to(JobStatus.PROCESSING),
        Job.worker_id.set(term.worker_id),
        # A try that has snoozed goes on: it began when it was first claimed.
        Job.started_at.set(Job.started_at.if_not_exists(term.begins)),
        Job.lease_token.set(token),
        Job.lease_until.set(term.ends),
        Job.attempt.add(1),
    ]
    known: dict[str, Any] = {"queue": candidate.queue}
    return patch(kind.key(job_id=candidate.job_id), *actions, known=known, condition=Job.version == candidate.version)


def _claim_values(candidate: Candidate, term: LeaseTerm, token: str) -> dict[str, Value]:
    return {**term.wire, "queue": {"S": candidate.queue}, "version": {"N": str(candidate.version)}, "lease_token": {"S": token}}


@cache
def _prepared_claim(kind: type[Job]) -> PreparedUpdate:
    mark = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    example = Candidate(UUID(int=0), 987_654_321, "the queue", 0), LeaseTerm.between("the worker", mark, mark + timedelta(1)), "the token"
    return prepare_patch(planned_claim(kind, *example), _claim_values(*example), mark)


def _take_slots(context: QueueContext, job_id: UUID, key: str, limit: int) -> list[WriteOperation[Any]]:
    """The writes that take one slot of a concurrency key in each ledger."""
    has_free_slot = Slots.holders.missing() | (Slots.holders.size() < limit)
    return [upsert(slots, Slots.holders.add({str(job_id)}), condition=has_free_slot) for slots in slots_refs(context, key)]


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
        priority = int(item["priority"]["N"])
        if not 0 <= priority <= LARGEST_PRIORITY:
            raise ValueError("not a priority")
        key, start_by = item.get("concurrency_key"), item.get("start_by")
        if key is not None and not is_concurrency_key(key["S"]):
            raise ValueError("not a concurrency key")
        return cls(
            job_id=_uuid(item["job_id"]["S"]),
            version=int(item["version"]["N"]),
            queue=item["queue"]["S"],
            priority=priority,
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
    #: whether nobody else can write between the read of the index and the claims that follow, so that no claim is lost
    single_writer: bool = False
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
        if self.single_writer:
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
        if not self.single_writer:
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
