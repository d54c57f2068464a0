"""Keys that submissions reserve: idempotency keys until they expire, unique keys while their job is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gateleg.jobs.errors import KeyReused
from gateleg.jobs.routing import read_jobs
from gateleg.jobs.submit.submission import Submitted, digest_of
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tables.records import KeyReservation
from gateleg.store import ConditionFailed, TransactionCanceled, create, put
from gateleg.store.operations import batch_get

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.queue_tables import QueueTables
    from gateleg.store import StoreError, WriteOperation
    from gateleg.store.flow import Flow

#: The reservations that were read, by purpose and text.
Reservations = dict[tuple[str, str], KeyReservation]


def reservations_of(context: QueueContext, job: Job) -> list[KeyReservation]:
    """The keys that a job reserves."""
    wanted, kind = [], context.ledgers[0].key_reservation
    if job.idempotency_key is not None:
        until = context.now() + context.settings.remember
        text = quote(job.idempotency_key, safe="")
        wanted.append(kind(purpose="idempotency", text=text, job_id=job.job_id, digest=digest_of(job), expires_at=until))
    if job.unique_key is not None:
        text = quote(job.unique_key, safe="")
        wanted.append(kind(purpose="unique", text=text, job_id=job.job_id, digest=digest_of(job)))
    return wanted


def reservation_write(reservation: KeyReservation, reservations: Reservations) -> WriteOperation[Any]:
    """Reserve a key that is free, or one whose reservation is obsolete or in another ledger."""
    current = reservations.get((reservation.purpose, reservation.text))
    if current is None or type(current) is not type(reservation):
        return create(reservation)
    return put(reservation, condition=KeyReservation.job_id == current.job_id)


def earlier_submissions(context: QueueContext, jobs: Sequence[Job], reservations: Reservations) -> Flow[dict[UUID, Submitted]]:
    """Earlier submissions with the same keys, by the ids of the jobs that repeat them. Raises `KeyReused` if one was different."""
    taken: dict[UUID, Submitted] = {}
    for job in jobs:
        for reservation in reservations_of(context, job):
            current = reservations.get((reservation.purpose, reservation.text))
            if current is None or current.job_id == job.job_id or job.job_id in taken:
                continue
            holder = next(iter((yield from read_jobs(context, [current.job_id]))), None)
            if reservation.purpose == "unique" and (holder is None or holder.status != JobStatus.PENDING):
                continue
            if reservation.purpose == "idempotency" and current.expires_at is not None and current.expires_at <= context.now():
                continue
            if reservation.purpose == "idempotency" and current.digest != reservation.digest:
                raise KeyReused(f"The idempotency key {job.idempotency_key!r} was already used for a different submission.")
            taken[job.job_id] = Submitted(holder or _remembered(job, current), created=False)
    return taken


def _remembered(job: Job, reservation: KeyReservation) -> Job:
    """An earlier job that has left the queue, of which only the id is known."""
    return job.model_copy(update={"job_id": reservation.job_id, "status": JobStatus.COMPLETED})


def record_conflicts(writes: Sequence[WriteOperation[Any]], refused: StoreError, reservations: Reservations) -> bool:
    """Record which keys a refused transaction found reserved or free. Returns whether that is new."""
    before = dict(reservations)
    reasons = refused.reasons if isinstance(refused, TransactionCanceled) else (refused,)
    for write, reason in zip(writes, reasons, strict=True):
        if issubclass(write.ref.entity, KeyReservation) and isinstance(reason, ConditionFailed):
            place = (write.ref.values["purpose"], write.ref.values["text"])
            if reason.current is None:
                reservations.pop(place, None)
            else:
                reservations[place] = reason.current
    return reservations != before


def read_reservations(context: QueueContext, jobs: Sequence[Job]) -> Flow[Reservations]:
    """The existing reservations of the keys that jobs reserve."""
    return (yield from _read_reservations(context, jobs, context.ledgers))


def foreign_reservations(context: QueueContext, jobs: Sequence[Job]) -> Flow[Reservations]:
    """Those in the ledgers of further tables, which other programs and earlier releases have written: no write here conflicts with them."""
    others = context.ledgers[1:]
    return (yield from _read_reservations(context, jobs, others)) if others else {}


def _read_reservations(context: QueueContext, jobs: Sequence[Job], ledgers: Sequence[QueueTables]) -> Flow[Reservations]:
    keys = [(reservation.purpose, reservation.text) for job in jobs for reservation in reservations_of(context, job)]
    # The queue's own ledger is last, so that its reservations are kept.
    refs = [tables.key_reservation.key(purpose=purpose, text=text) for tables in reversed(ledgers) for purpose, text in keys]
    found = yield from batch_get(refs, consistent=True).flow(context.setup)
    return {(reservation.purpose, reservation.text): reservation for reservation in found if reservation is not None}
