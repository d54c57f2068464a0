"""Claiming: one conditional update gives a pending job to a worker."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.jobs.adoption import adopt_by_id, find_valid_job
from gateleg.jobs.claim.selection import Candidate, readable_items
from gateleg.jobs.finish.complete import SETTLE, expire, slots_refs
from gateleg.jobs.set_aside import UnreadableJob
from gateleg.jobs.submit.fan_in import GATE
from gateleg.jobs.tables.job import Job, JobStatus, job_key
from gateleg.jobs.tables.records import QueueState, RateWindow, Slots
from gateleg.model import DecodeError
from gateleg.model.codec.wire import iso
from gateleg.plain import is_plain
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, patch, upsert
from gateleg.store.concurrent_flows import run_concurrently
from gateleg.store.flow import Request
from gateleg.store.operations import get, transact
from gateleg.store.operations.prepared_patch import PreparedPatch, prepare_patch
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.claim.selection import CandidateSelector
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action
    from gateleg.model.codec.wire import Value
    from gateleg.model.planning import PreparedUpdate
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

__all__ = ["may_run"]

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
_OWN_TYPES = (SETTLE, GATE)
_log = logging.getLogger("gateleg.jobs")
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
    claimed = yield from _recover_unconfirmed(context, selector)
    if claimed is not None:
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
            chosen = yield from _without_expired(context, chosen, term)
            tokens += context.setup.tokens(max(0, len(chosen) - len(tokens)))
            attempts = [_try_claim(context, selector, candidate, term, tokens.pop()) for candidate in chosen]
            outcomes = yield from run_concurrently(attempts, context.setup.ticks)
            claimed += [job for job in outcomes if isinstance(job, Job)]
            failures = [error for error in outcomes if isinstance(error, Exception)]
            if failures and not claimed:
                raise failures[0]
            if failures or len(claimed) == number:
                return claimed
            if selector.exclusive:
                # Other workers may have claimed the remaining candidates since: read again.
                break
        if not tried or (selector.exclusive and tried == total):
            # No more candidates, or all of them are reserved for other workers.
            break
        selector.discard_candidates(queue)
    return claimed


def _without_expired(context: QueueContext, candidates: list[Candidate], term: LeaseTerm) -> Flow[list[Candidate]]:
    """The candidates whose latest start time has not passed; the others are failed."""
    late = [candidate for candidate in candidates if candidate.start_by is not None and candidate.start_by < term.begins]
    for candidate in late:
        if (yield from expire(context, candidate.job_id)) is None:
            yield from adopt_by_id(context, str(candidate.job_id))
    return [candidate for candidate in candidates if candidate not in late] if late else candidates


def _number_to_read(context: QueueContext, selector: CandidateSelector, number: int) -> int:
    """How many candidates to read: only as many as needed if claims cannot be lost to other workers."""
    if selector.exclusive:
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
    actions: list[Action] = [
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
