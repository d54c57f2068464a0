"""Keys that submissions take: for good (idempotency, until they expire), or while their job waits (unique)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gateleg.jobs.errors import KeyReused
from gateleg.jobs.submit.submission import Submitted, digest_of
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tables.records import KeyReservation
from gateleg.store import ConditionFailed, TransactionCanceled, batch_get, create, find, put

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store import StoreError, WriteOperation
    from gateleg.store.flow import Flow

#: The holds that were seen, by purpose and text.
Holds = dict[tuple[str, str], KeyReservation]


def wanted_holds(context: QueueContext, job: Job) -> list[KeyReservation]:
    """The keys that a job takes."""
    wanted, kind = [], context.tables.key_reservation
    if job.idempotency_key is not None:
        until = context.now() + context.settings.remember
        text = quote(job.idempotency_key, safe="")
        wanted.append(kind(purpose="idempotency", text=text, job_id=job.job_id, digest=digest_of(job), expires_at=until))
    if job.unique_key is not None:
        text = quote(job.unique_key, safe="")
        wanted.append(kind(purpose="unique", text=text, job_id=job.job_id, digest=digest_of(job)))
    return wanted


def hold_write(hold: KeyReservation, holds: Holds) -> WriteOperation[Any]:
    """Take a key that is free, or one whose holder was seen to have no more use for it."""
    current = holds.get((hold.purpose, hold.text))
    return create(hold) if current is None else put(hold, condition=KeyReservation.job_id == current.job_id)


def taken_by(context: QueueContext, jobs: Sequence[Job], holds: Holds) -> Flow[dict[UUID, Submitted]]:
    """What was submitted before with the same keys, by the ids of the jobs that repeat it; `KeyReused` when it was something else."""
    taken: dict[UUID, Submitted] = {}
    for job in jobs:
        for hold in wanted_holds(context, job):
            current = holds.get((hold.purpose, hold.text))
            if current is None or current.job_id == job.job_id or job.job_id in taken:
                continue
            holder = yield from find(context.tables.job, job_id=current.job_id, consistent=True).flow(context.setup)
            if hold.purpose == "unique" and (holder is None or holder.status != JobStatus.PENDING):
                continue
            if hold.purpose == "idempotency" and current.expires_at is not None and current.expires_at <= context.now():
                continue
            if hold.purpose == "idempotency" and current.digest != hold.digest:
                raise KeyReused(f"The idempotency key {job.idempotency_key!r} was used for another submission.")
            taken[job.job_id] = Submitted(holder or _remembered(job, current), created=False)
    return taken


def _remembered(job: Job, hold: KeyReservation) -> Job:
    """A job that was submitted before and has left the queue since: only its id is known."""
    return job.model_copy(update={"job_id": hold.job_id, "status": JobStatus.COMPLETED})


def noted(writes: Sequence[WriteOperation[Any]], refused: StoreError, holds: Holds) -> bool:
    """Note who holds the keys that were not free, and which have become free; whether that says more than was known."""
    before = dict(holds)
    reasons = refused.reasons if isinstance(refused, TransactionCanceled) else (refused,)
    for write, reason in zip(writes, reasons, strict=True):
        if issubclass(write.ref.entity, KeyReservation) and isinstance(reason, ConditionFailed):
            place = (write.ref.values["purpose"], write.ref.values["text"])
            if reason.current is None:
                holds.pop(place, None)
            else:
                holds[place] = reason.current
    return holds != before


def present_holds(context: QueueContext, jobs: Sequence[Job]) -> Flow[Holds]:
    """Who holds the keys that jobs take."""
    wanted = [hold for job in jobs for hold in wanted_holds(context, job)]
    refs = [context.tables.key_reservation.key(purpose=hold.purpose, text=hold.text) for hold in wanted]
    found = yield from batch_get(refs, consistent=True).flow(context.setup)
    return {(hold.purpose, hold.text): hold for hold in found if hold is not None}
