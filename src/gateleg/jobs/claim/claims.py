"""Claiming: one conditional update makes a waiting job this worker's own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.jobs.claim.selection import Candidate
from gateleg.jobs.finish.complete import expire, slots_ref
from gateleg.jobs.queue_context import run_concurrently
from gateleg.jobs.tables.job import Job, JobStatus, job_key
from gateleg.jobs.tables.records import QueueState, RateWindow, Slots
from gateleg.model.codec.wire import iso
from gateleg.plain import is_plain
from gateleg.store import ConditionFailed, NotFound, TransactionCanceled, find, get, patch, transact, upsert
from gateleg.store.flow import Request
from gateleg.store.operations.prepared_patch import PreparedPatch, prepare_patch
from gateleg.store.transports import ServiceError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs.claim.selection import Picker
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action, Value
    from gateleg.model.planning import PreparedUpdate
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

#: How many lists of candidates one claim reads before it gives up, and how many items a later page of one without full keys examines.
_LOOKS = 8
_EXAMINED = 500
#: How many more jobs are looked at for each other worker, and how many at most.
_SHARE = 10
_WINDOW = 250
#: How many values a condition compares with.
_CHOICES = 100
#: Whether the model plans every claim anew.
_PLAIN = is_plain("prepared")


def claim(context: QueueContext, picker: Picker, queue: str, worker_id: str, state: QueueState | None = None) -> Flow[Job | None]:
    """The next job of a queue, now this worker's; None when there is none, or the queue may not start one now."""
    claimed = yield from claim_several(context, picker, queue, worker_id, 1, state)
    return claimed[0] if claimed else None


def claim_several(
    context: QueueContext, picker: Picker, queue: str, worker_id: str, number: int, state: QueueState | None = None
) -> Flow[list[Job]]:
    """Up to so many of the next jobs of a queue, now this worker's; side by side where requests can be.

    A queue with a rate gives one at a time. What went wrong is raised only when nothing was claimed: claimed jobs are never dropped.
    """
    claimed = yield from _recovered(context, picker)
    if claimed is not None:
        return [claimed]
    if state is not None and state.mode == "paused":
        return []
    if state is None or not state.rate:
        return (yield from _claim(context, picker, queue, worker_id, number))
    if not picker.known(queue) and not (yield from _look(context, picker, queue, 1)):
        # A look costs less than a permit that is taken for nothing and given back.
        return []
    window = yield from _permit(context, state)
    if window is None:
        return []
    jobs = yield from _claim(context, picker, queue, worker_id, 1)
    if not jobs:
        yield from upsert(context.tables.rate_window.key(queue=queue, window=window), RateWindow.started.add(-1)).flow(context.setup)
    return jobs


def _recovered(context: QueueContext, picker: Picker) -> Flow[Job | None]:
    """A job that was claimed without this worker knowing, because the answer was lost."""
    while picker.unclear:
        job_id, token = picker.unclear[-1]
        job = yield from find(context.tables.job, job_id=job_id, consistent=True).flow(context.setup)
        picker.unclear.pop()
        if job is not None and job.lease_token == token and job.status == JobStatus.PROCESSING:
            return job
    return None


def _permit(context: QueueContext, state: QueueState) -> Flow[int | None]:
    """The window in which the queue may start one more job; None when its rate is used up."""
    now = context.now()
    window = int(now.timestamp() // state.rate_seconds)
    spent = now + timedelta(seconds=2 * state.rate_seconds)
    free = RateWindow.started.missing() | (RateWindow.started < state.rate)
    ref = context.tables.rate_window.key(queue=state.name, window=window)
    try:
        yield from upsert(ref, RateWindow.started.add(1), RateWindow.expires_at.set(spent), condition=free).flow(context.setup)
    except ConditionFailed:
        return None
    return window


def _claim(context: QueueContext, picker: Picker, queue: str, worker_id: str, number: int) -> Flow[list[Job]]:
    claimed: list[Job] = []
    # Made before the look: from then on others may have to wait.
    tokens = context.setup.marks(number)
    for _ in range(_LOOKS):
        seen: int | None = None
        if not picker.known(queue):
            window = _window(context, picker, number - len(claimed))
            found = yield from _look(context, picker, queue, window)
            if len(found) < window:
                # That is all there is.
                seen = len(found)
            picker.learn(queue, found)
        tried = 0
        while chosen := picker.choose(queue, number - len(claimed)):
            tried += len(chosen)
            term = Term.of(context, worker_id)
            late = [one for one in chosen if one.start_by is not None and one.start_by < term.begins]
            for one in late:
                yield from expire(context, one.job_id)
            wanted = [one for one in chosen if one not in late] if late else chosen
            tokens += context.setup.marks(max(0, len(wanted) - len(tokens)))
            outcomes = yield from run_concurrently([_try(context, picker, one, term, tokens.pop()) for one in wanted])
            claimed += [job for job in outcomes if isinstance(job, Job)]
            failures = [error for error in outcomes if isinstance(error, Exception)]
            if failures and not claimed:
                raise failures[0]
            if failures or len(claimed) == number:
                return claimed
            if picker.undisturbed:
                # The others on the list may have been claimed since, so it takes another look at them.
                break
        if not tried or (picker.undisturbed and tried == seen):
            # There is nothing more, or what there is belongs to others for now.
            break
        picker.forget(queue)
    return claimed


def _window(context: QueueContext, picker: Picker, number: int) -> int:
    """How many claimable jobs to look at: where claims are not lost, no more than are wanted."""
    if picker.undisturbed:
        return min(_WINDOW, number)
    return min(_WINDOW, context.settings.window + _SHARE * (picker.peers - 1))


def _look(context: QueueContext, picker: Picker, queue: str, window: int) -> Flow[list[Candidate]]:
    """The first claimable jobs of a queue. Those with a key that is full are passed over, however many they are."""
    kind, table, full = context.tables.job, context.queue_table_name, picker.full_keys[:_CHOICES]
    # The first page is short enough to be read in the commit of the claims that follow from it.
    payload = _question(kind, table, queue, _WINDOW, tuple(full)) if full else _question(kind, table, queue, window)
    found: list[Candidate] = []
    while True:
        reply = yield Request("Query", payload, "Job.ready")
        found += map(Candidate.read, reply["Items"])
        if not full or len(found) >= window or "LastEvaluatedKey" not in reply:
            return found[:window]
        payload = {**payload, "ExclusiveStartKey": reply["LastEvaluatedKey"], "Limit": _EXAMINED}


@lru_cache(maxsize=256)
def _question(kind: type[Job], table: str, queue: str, limit: int, full: tuple[str, ...] = ()) -> dict[str, Any]:
    """The query for claimable jobs. All that the index holds of them is taken: to leave some of it out costs more than it saves."""
    question = kind.ready(queue=queue)
    if full:
        question = question.filter(~Job.concurrency_key.is_in(full))
    (payload,) = question.requests(table_name=table, limit=limit)
    return payload


def _try(context: QueueContext, picker: Picker, candidate: Candidate, term: Term, token: str) -> Flow[Job | None]:
    """Claim one job; None when another worker was faster, or its concurrency key has no room."""
    operation = claim_write(context.tables.job, candidate, term, token)
    try:
        if candidate.concurrency_key is None:
            job: Job = yield from operation.flow(context.setup)
            picker.had(candidate)
            return job
        slot = _slot(context, candidate.job_id, candidate.concurrency_key, candidate.concurrency_limit)
        yield from transact([operation, slot]).flow(context.setup)
        return (yield from get(context.tables.job, job_id=candidate.job_id, consistent=True).flow(context.setup))
    except (ConditionFailed, NotFound) as refused:
        current = getattr(refused, "current", None)
        if isinstance(current, Job) and current.lease_token == token and current.status == JobStatus.PROCESSING:
            return current
    except TransactionCanceled as refused:
        if refused.reasons[0] is None and candidate.concurrency_key is not None:
            picker.full(candidate.concurrency_key)
            return None
    except (ServiceError, Unreachable) as error:
        if isinstance(error, Unreachable) or error.status >= 500:
            picker.unclear.append((candidate.job_id, token))
        raise
    picker.lost(candidate)
    return None


@dataclass(frozen=True)
class Term:
    """What all claims of one moment have in common: whose they are, and from when until when. `wire` is the same as it is written."""

    worker_id: str
    begins: datetime
    ends: datetime
    wire: Mapping[str, Value]

    @classmethod
    def of(cls, context: QueueContext, worker_id: str) -> Term:
        """Claims of a worker now."""
        now = context.now()
        return cls.between(worker_id, now, now + timedelta(seconds=context.settings.lease_seconds))

    @classmethod
    def between(cls, worker_id: str, begins: datetime, ends: datetime) -> Term:
        """Claims of a worker at some moment."""
        return cls(worker_id, begins, ends, {"worker_id": {"S": worker_id}, "now": {"S": iso(begins)}, "lease_until": {"S": iso(ends)}})


def claim_write(kind: type[Job], candidate: Candidate, term: Term, token: str) -> WriteOperation[Job]:
    """The update that claims: the job must be pending and have the version that was seen."""
    if _PLAIN:
        return planned_claim(kind, candidate, term, token)
    values = _claim_values(candidate, term, token)
    return PreparedPatch(
        kind, _prepared_claim(kind), job_key(candidate.job_id), values, lambda: planned_claim(kind, candidate, term, token)
    )


def planned_claim(kind: type[Job], candidate: Candidate, term: Term, token: str) -> WriteOperation[Job]:
    """The same as the model plans it."""
    actions: list[Action] = [
        Job.status.to(JobStatus.PROCESSING),
        Job.worker_id.set(term.worker_id),
        Job.started_at.set(term.begins),
        Job.lease_token.set(token),
        Job.lease_until.set(term.ends),
        Job.attempt.add(1),
    ]
    known: dict[str, Any] = {"queue": candidate.queue}
    return patch(kind.key(job_id=candidate.job_id), *actions, known=known, condition=Job.version == candidate.version)


def _claim_values(candidate: Candidate, term: Term, token: str) -> dict[str, Value]:
    return {**term.wire, "queue": {"S": candidate.queue}, "version": {"N": str(candidate.version)}, "lease_token": {"S": token}}


@cache
def _prepared_claim(kind: type[Job]) -> PreparedUpdate:
    mark = datetime(2001, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
    example = Candidate(UUID(int=0), 987_654_321, "the queue", 0), Term.between("the worker", mark, mark + timedelta(1)), "the token"
    return prepare_patch(planned_claim(kind, *example), _claim_values(*example), mark)


def _slot(context: QueueContext, job_id: UUID, key: str, limit: int) -> WriteOperation[Any]:
    """Take one of the places of a concurrency key."""
    room = Slots.holders.missing() | (Slots.holders.size() < limit)
    return upsert(slots_ref(context, key), Slots.holders.add({str(job_id)}), condition=room)
