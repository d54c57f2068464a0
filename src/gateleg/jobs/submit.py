"""Submit one job, or several with their dependencies, all or nothing.

A job and its dependencies are written in one transaction, which takes fewer than 100 of them. A job with more of them depends on barriers:
internal jobs without work, of which each depends on some of them. A barrier completes once its dependencies have completed, and is
cancelled when one of them fails; the job that depends on it then follows.

A submission may reserve keys: an idempotency key until it expires, a unique key while its job is pending. A repeated submission finds the
reservation, and gets the job that has it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

from gateleg.jobs.admin import state_of
from gateleg.jobs.errors import BadSubmission, DependencyMissing, KeyReused, ParentGone, QueueDraining, TooManyDependencies
from gateleg.jobs.queue_context import read_archived, read_jobs
from gateleg.jobs.submission import (
    PreparedSubmission,
    Submission,
    Submitted,
    as_child,
    blocked_by,
    check_cycles,
    check_keys,
    check_submission,
    digest_of,
    job_of,
    not_yet_submitted,
    with_ids_replaced,
)
from gateleg.jobs.tables.job import MAX_DEPENDENCIES, MAX_DEPENDENTS, Job, JobStatus, Readiness
from gateleg.jobs.tables.records import KeyReservation
from gateleg.store import AlreadyExists, ConditionFailed, StoreError, TransactionCanceled, check, create, patch, put
from gateleg.store.flow import Pause
from gateleg.store.operations import batch_get, batch_write, transact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.records import ArchivedJob, QueueTables
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow


#: The maximum number of writes in a transaction.
_MAX_TRANSACTION_WRITES = 100
#: Jobs to prepare between two turns of other tasks of an event loop.
_TURN = 200


def submit(context: QueueContext, submission: Submission, *, under: Job | None = None) -> Flow[Submitted]:
    """Submit one job, and return it with `created`: False if an earlier job with the same key or id was found instead.

    Raises, before anything is written: `UnknownJobType`, `BadConfig`, `BadSubmission`, `QueueDraining`, `KeyReused`, `DependencyMissing`,
    `DependencyCycle`, `TooManyDependencies`, or `ParentGone`. `under` is the claimed job of a handler that submits a child.
    """
    check_submission(submission)
    if needs_barriers(submission):
        checked = job_of(context, without_many_dependencies(submission), context.now())
        earlier = yield from earlier_submissions(context, [checked], (yield from read_reservations(context, [checked])))
        if earlier:
            return earlier[checked.job_id]
        submission = yield from _submit_barriers(context, submission)
    job = job_of(context, submission, context.now())
    check_cycles([job])
    yield from _check_queues(context, {job.queue})
    if submission.plain and under is None:
        # If the random id already exists, this submission wrote it, and the response was lost.
        with suppress(AlreadyExists):
            yield from create(job).flow(context.setup)
        submitted = Submitted(job.model_copy(update={"version": 1}))
    else:
        (submitted,) = yield from _write_jobs(context, [submission], [job], under)
    _notify_workers(context, [submitted])
    return submitted


def submit_many(context: QueueContext, submissions: Sequence[Submission], *, under: Job | None = None) -> Flow[list[Submitted]]:
    """Submit several jobs, which may depend on each other, and return the results in order. Nothing is written if one is invalid.

    For an id or key that was submitted before, the result is the existing job, and references to it are adjusted; only the other jobs are
    written. Jobs without keys, parents and dependencies are written in batches of any number, others in one transaction of up to 100
    writes. If a job has too many dependencies for one transaction, the jobs are written in several steps, each after its dependencies; if
    a later step fails, earlier ones stay written. Raises the errors of `submit`.
    """
    now = context.now()
    if isinstance(submissions, Submission):
        raise BadSubmission(
            "submit_many() takes a list of submissions, and was given a single one.", fix="Write submit_many([...]), or submit(...)."
        )
    for submission in submissions:
        check_submission(submission)
    jobs: list[Job] = []
    for place, submission in enumerate(submissions):
        if place % _TURN == _TURN - 1:
            yield Pause(0)
        jobs.append(job_of(context, without_many_dependencies(submission), now, place))
    if len({job.job_id for job in jobs}) < len(jobs):
        raise BadSubmission("Two of the jobs have the same id.")
    check_keys(jobs)
    whole = [
        job.model_copy(update={"dependencies": submission.dependencies}) if submission.dependencies else job
        for job, submission in zip(jobs, submissions, strict=True)
    ]
    check_cycles(whole)
    yield from _check_queues(context, {job.queue for job in jobs})
    if any(map(needs_barriers, submissions)):
        earlier = yield from earlier_submissions(context, jobs, (yield from read_reservations(context, jobs)))
        whole = [job for job in whole if job.job_id not in earlier]
        known = yield from _read_referenced(context, submissions, whole, under)
        for other in {other for job in whole for other in job.dependencies} - {job.job_id for job in jobs}:
            _is_open_dependency(other, known)
        return (yield from _write_in_steps(context, submissions, jobs, under, earlier))
    if under is None and all(submission.plain for submission in submissions):
        submitted = yield from _write_batch(context, jobs)
    else:
        submitted = yield from _write_jobs(context, submissions, jobs, under)
    _notify_workers(context, submitted)
    return submitted


def _write_batch(context: QueueContext, jobs: Sequence[Job]) -> Flow[list[Submitted]]:
    """Write any number of plain jobs in batches."""
    yield from batch_write([job.model_copy(update={"version": 0}) for job in jobs], check_version=False).flow(context.setup)
    return [Submitted(job.model_copy(update={"version": 1})) for job in jobs]


def _write_in_steps(
    context: QueueContext, submissions: Sequence[Submission], jobs: Sequence[Job], under: Job | None, earlier: dict[UUID, Submitted]
) -> Flow[list[Submitted]]:
    """Write jobs after their dependencies, as many at once as fit into one transaction, with barriers where needed."""
    plain = [job for job, submission in zip(jobs, submissions, strict=True) if submission.plain and under is None]
    done = earlier | {entry.job.job_id: entry for entry in (yield from _write_batch(context, plain))}
    _notify_workers(context, list(done.values()))
    for step in submission_steps(
        {job.job_id: submission for job, submission in zip(jobs, submissions, strict=True) if job.job_id not in done}
    ):
        names = {job_id: entry.job.job_id for job_id, entry in done.items()}
        pending = [with_ids_replaced(submission, names) for submission in step]
        if needs_barriers(pending[0]):
            pending = [(yield from _submit_barriers(context, pending[0]))]
        written = yield from _write_jobs(context, pending, [job_of(context, submission, context.now()) for submission in pending], under)
        _notify_workers(context, written)
        done |= {submission.job_id: entry for submission, entry in zip(step, written, strict=True) if submission.job_id is not None}
    return [done[job.job_id] for job in jobs]


def writes_of(context: QueueContext, submission: Submission) -> list[WriteOperation[Any]]:
    """The writes of a submission without parent, dependencies and keys, for the caller's transaction."""
    check_submission(submission)
    if submission.dependencies or submission.parent_job_id or submission.idempotency_key or submission.unique_key:
        raise BadSubmission(
            "A submission with a parent, dependencies or keys needs reads before it is written.", fix="Use `enlist` instead of `writes`."
        )
    return [create(job_of(context, submission, context.now()))]


def enlist(context: QueueContext, submission: Submission) -> Flow[PreparedSubmission]:
    """Prepare a submission as part of the caller's own transaction, and return its job and writes.

    `prepared = queue.enlist(submission)`, then `store.transact([..., *prepared.writes])`. There are no writes if its key or id was
    submitted before. If the transaction is cancelled because something has changed, call `enlist` again. Raises the errors of `submit`.
    """
    job = job_of(context, submission, context.now())
    check_cycles([job])
    yield from _check_queues(context, {job.queue})
    reservations = yield from read_reservations(context, [job])
    earlier = yield from earlier_submissions(context, [job], reservations)
    if submission.job_id is not None:
        earlier |= _check_repeated([job], (yield from read_jobs(context, [submission.job_id])))
    if earlier:
        return PreparedSubmission(earlier[job.job_id].job, (), created=False)
    known = yield from _read_referenced(context, [submission], [job], None)
    (placed,) = _linked_jobs([submission], [job], known, None)
    return PreparedSubmission(placed, tuple(_writes(context, [placed], known, None, reservations)))


def _submit_barriers(context: QueueContext, submission: Submission) -> Flow[Submission]:
    """Submit the barriers of a job that has too many dependencies for one transaction, and return the submission that depends on them."""
    barriers, narrow = barriers_of(submission, job_of(context, replace(submission, dependencies=()), context.now()))
    known = yield from _read_referenced(context, [], barriers, None)
    for barrier in barriers:
        for other in barrier.dependencies:
            _is_open_dependency(other, known)
    yield from _check_queues(context, {barriers[0].queue})
    for barrier in barriers:
        pending = Submission(barrier.job_type, dependencies=barrier.dependencies, job_id=barrier.job_id)
        written = yield from _write_jobs(context, [pending], [barrier], None)
        _notify_workers(context, written)
    return narrow


def _notify_workers(context: QueueContext, submitted: Sequence[Submitted]) -> None:
    for queue in {entry.job.queue for entry in submitted if entry.created and entry.job.readiness is not Readiness.BLOCKED}:
        context.jobs.ready.notify(queue)


def _check_queues(context: QueueContext, queues: set[str]) -> Flow[None]:
    now = context.setup.ticks()
    for queue in sorted(queues):
        if context.draining_cache.open(queue, now):
            continue
        state = yield from state_of(context, queue)
        if state is not None and state.mode == "draining":
            raise QueueDraining(f"The queue {queue} is draining and accepts no new jobs.")
        context.draining_cache.record_open(queue, now + context.settings.open_for)


def _too_many_writes(jobs: int, writes: int) -> TooManyDependencies:
    """The error for jobs that one transaction cannot hold: one job has too many dependencies, several can be submitted in several calls."""
    if jobs == 1:
        return TooManyDependencies(f"The job needs {writes} writes in one transaction; the maximum is {_MAX_TRANSACTION_WRITES}.")
    return TooManyDependencies(
        f"The {jobs} jobs need {writes} writes (jobs, their keys, and the jobs they depend on) in one transaction; the maximum is "
        f"{_MAX_TRANSACTION_WRITES}.",
        fix="Call `submit_many` several times with fewer jobs. Give the jobs idempotency keys, so that a repeated call submits none twice.",
    )


def _write_jobs(context: QueueContext, submissions: Sequence[Submission], jobs: list[Job], under: Job | None) -> Flow[list[Submitted]]:
    """Write jobs with their key reservations and links. When another writer was faster, read and decide again.

    Jobs that were submitted before are returned, and only the others are written.
    """
    delays = context.setup.delays()
    reservations: Reservations = yield from foreign_reservations(context, jobs)
    there = yield from _in_other_tables(context, submissions, jobs)
    while len(there) < len(jobs):
        pending, left = not_yet_submitted(submissions, jobs, there)
        known = yield from _read_referenced(context, pending, left, under)
        try:
            placed = _linked_jobs(pending, left, known, under)
        except (DependencyMissing, TooManyDependencies):
            # Return a job that was submitted before, whatever has happened to its dependencies since.
            earlier = yield from earlier_submissions(context, left, (yield from read_reservations(context, left)))
            if not earlier:
                raise
            there |= earlier
            continue
        earlier = yield from earlier_submissions(context, left, reservations)
        if earlier:
            there |= earlier
            continue
        writes = _writes(context, placed, known, under, reservations)
        if len(writes) > _MAX_TRANSACTION_WRITES:
            raise _too_many_writes(len(placed), len(writes))
        try:
            yield from transact(writes).flow(context.setup)
            there |= {job.job_id: Submitted(job.model_copy(update={"version": 1})) for job in placed}
            continue
        except (TransactionCanceled, AlreadyExists) as refused:
            earlier = _check_repeated(left, _existing_jobs(refused))
            if earlier or record_conflicts(writes, refused, reservations):
                there |= earlier
                continue
            delay = next(delays, None)
            if delay is None:
                raise
        yield Pause(delay)
    return [there[job.job_id] for job in jobs]


def _in_other_tables(context: QueueContext, submissions: Sequence[Submission], jobs: Sequence[Job]) -> Flow[dict[UUID, Submitted]]:
    """The jobs whose chosen ids exist in a table of the queue other than the one that they would be written to."""
    chosen = [job for submission, job in zip(submissions, jobs, strict=True) if submission.job_id is not None]
    if len(context.members) == 1 or not chosen:
        return {}
    present = yield from read_jobs(context, [job.job_id for job in chosen])
    kinds = {job.job_id: type(job) for job in chosen}
    return _check_repeated(chosen, [job for job in present if type(job) is not kinds[job.job_id]])


def _read_referenced(
    context: QueueContext, submissions: Sequence[Submission], jobs: Sequence[Job], under: Job | None
) -> Flow[dict[UUID, Job | ArchivedJob]]:
    """The current dependencies and parents of new jobs."""
    own = {job.job_id for job in jobs}
    referenced = {other for job in jobs for other in job.dependencies} | {
        submission.parent_job_id for submission in submissions if submission.parent_job_id is not None
    }
    if under is not None:
        referenced.add(under.job_id)
    ids = sorted(referenced - own)
    known: dict[UUID, Job | ArchivedJob] = {job.job_id: job for job in (yield from read_jobs(context, ids))}
    gone = [job_id for job_id in ids if job_id not in known]
    if gone:
        known |= {job.job_id: job for job in (yield from read_archived(context, gone))}
    return known


def _linked_jobs(
    submissions: Sequence[Submission], jobs: Sequence[Job], known: dict[UUID, Job | ArchivedJob], under: Job | None
) -> list[Job]:
    """The jobs with their parents, open dependencies and dependents filled in."""
    fresh = {job.job_id: job for job in jobs}
    placed: dict[UUID, Job] = {}
    for submission, job in zip(submissions, jobs, strict=True):
        parent = submission.parent_job_id or (under.job_id if under is not None else None)
        if parent is not None:
            above = known.get(parent) or placed.get(parent)
            if not isinstance(above, Job) or above.status == JobStatus.CANCELLED or above.cancel_requested is not None:
                if under is not None and parent == under.job_id:
                    raise ParentGone(f"The parent job {parent} was deleted or cancelled.")
                raise ParentGone(
                    f"The parent job {parent} does not exist or is cancelled.",
                    fix="Pass as parent_job_id= the id of a job that is in the queue and not cancelled; nothing was submitted.",
                )
            if under is not None and parent == under.job_id and not _is_still_claimed(above, under):
                raise ParentGone(f"This worker no longer owns the parent job {parent}.")
            job = as_child(job, above)
        open_ones = [other for other in job.dependencies if other in fresh or _is_open_dependency(other, known)]
        followers = [other.job_id for other in jobs if job.job_id in other.dependencies]
        placed[job.job_id] = blocked_by(job, open_ones).model_copy(update={"dependent_jobs": followers})
    return list(placed.values())


def _is_still_claimed(current: Job, claimed: Job) -> bool:
    return current.status == JobStatus.PROCESSING and current.lease_token == claimed.lease_token


def _is_open_dependency(job_id: UUID, known: dict[UUID, Job | ArchivedJob]) -> bool:
    """Whether a dependency has not completed yet. Raises `DependencyMissing` if it does not exist or cannot complete."""
    other = known.get(job_id)
    if other is None:
        raise DependencyMissing(f"The dependency {job_id} does not exist.")
    if other.status in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise DependencyMissing(f"The dependency {job_id} is {other.status} and will not complete.")
    if isinstance(other, Job) and len(other.dependent_jobs) >= MAX_DEPENDENTS:
        raise TooManyDependencies(f"The dependency {job_id} already has {len(other.dependent_jobs)} dependents, the maximum.")
    return other.status != JobStatus.COMPLETED


def _writes(
    context: QueueContext,
    jobs: Sequence[Job],
    known: dict[UUID, Job | ArchivedJob],
    under: Job | None,
    reservations: Reservations,
) -> list[WriteOperation[Any]]:
    writes: list[WriteOperation[Any]] = [create(job) for job in jobs]
    own = {job.job_id for job in jobs}
    linked: dict[UUID, list[UUID]] = {}
    for job in jobs:
        for name in sorted(job.waiting_for or ()):
            if UUID(name) not in own:
                linked.setdefault(UUID(name), []).append(job.job_id)
    for other_id, followers in linked.items():
        other = known[other_id]
        assert isinstance(other, Job)
        writes.append(patch(other, Job.dependent_jobs.append(*followers)))
    parents = {job.parent_job_id for job in jobs if job.parent_job_id is not None} - own - linked.keys()
    for parent in sorted(parents):
        alive = (Job.status != JobStatus.CANCELLED) & Job.cancel_requested.missing()
        if under is not None and parent == under.job_id:
            alive = alive & (Job.lease_token == under.lease_token) & (Job.status == JobStatus.PROCESSING)
        writes.append(check(context.holding(known[parent]).tables.job.key(job_id=parent), alive))
    return [*writes, *(reservation_write(reservation, reservations) for job in jobs for reservation in reservations_of(context, job))]


def _existing_jobs(refused: StoreError) -> list[Job]:
    """The existing jobs that have the ids of new ones, from a refused transaction."""
    reasons = refused.reasons if isinstance(refused, TransactionCanceled) else (refused,)
    return [reason.current for reason in reasons if isinstance(reason, AlreadyExists) and isinstance(reason.current, Job)]


def _check_repeated(jobs: Sequence[Job], present: Sequence[Job]) -> dict[UUID, Submitted]:
    """The jobs that already exist, because they were submitted before or the response was lost. An error if a different job has the id."""
    there = {job.job_id: job for job in present}
    for job in jobs:
        # As values, not as texts: a stored 2.0 is read as 2.
        if job.job_id in there and _work_of(there[job.job_id]) != _work_of(job):
            raise BadSubmission(f"A different job with the id {job.job_id} already exists.", fix="Leave job_id= out, or pass a new one.")
    return {job.job_id: Submitted(there[job.job_id], created=False) for job in jobs if job.job_id in there}


def _work_of(job: Job) -> tuple[str, dict[str, Any]]:
    return job.job_type, job.job_config


#: The job type of a barrier.
BARRIER = "gateleg.gate"
#: The maximum number of writes in one step, unless one job needs more.
_STEP_WRITES = 80
#: How many jobs a barrier depends on: with fewer, its transaction conflicts less often with a change of one of them.
_JOBS_PER_BARRIER = 50
_MAX_WITH_BARRIERS = _JOBS_PER_BARRIER * MAX_DEPENDENCIES


def needs_barriers(submission: Submission) -> bool:
    """Whether a job has so many dependencies that it needs barriers. Raises `TooManyDependencies` if it has too many even for barriers."""
    number = len(set(submission.dependencies))
    if number > _MAX_WITH_BARRIERS:
        raise TooManyDependencies(f"The job has {number:,} dependencies; the maximum is {_MAX_WITH_BARRIERS:,}.")
    return number > MAX_DEPENDENCIES


def without_many_dependencies(submission: Submission) -> Submission:
    """The submission, without its dependencies if it needs barriers."""
    return replace(submission, dependencies=()) if needs_barriers(submission) else submission


def submission_steps(submissions: Mapping[UUID, Submission]) -> list[list[Submission]]:
    """Sort submissions after their dependencies and divide them into steps: as many as fit into one transaction, or one with barriers."""
    order = TopologicalSorter(
        {job_id: [other for other in submission.dependencies if other in submissions] for job_id, submission in submissions.items()}
    )
    steps: list[list[Submission]] = []
    room = 0
    for job_id in order.static_order():
        submission = replace(submissions[job_id], job_id=job_id)
        # Four writes for the job, its two keys and its parent, and one for each dependency.
        writes = _STEP_WRITES if needs_barriers(submission) else 4 + len(set(submission.dependencies))
        if writes > room:
            steps.append([])
            room = max(_STEP_WRITES, writes)
        steps[-1].append(submission)
        room -= writes
    return steps


def barriers_of(submission: Submission, job: Job) -> tuple[list[Job], Submission]:
    """The barriers of a submission, and the submission that depends on them. `job` is its job without dependencies.

    The ids of the barriers derive from the job's id, so submitting it again creates no further barriers.
    """
    dependencies = list(dict.fromkeys(submission.dependencies))
    job_id = submission.job_id or uuid4()
    barriers = [
        type(job)(
            job_id=uuid5(NAMESPACE_OID, f"{BARRIER}:{job_id}:{start}"),
            created_at=job.created_at,
            updated_at=job.updated_at,
            job_type=BARRIER,
            job_config={"job_id": str(job_id)},
            queue=job.queue,
            priority=100,
            subject=job.subject,
            created_by="gateleg",
            dependencies=dependencies[start : start + _JOBS_PER_BARRIER],
        )
        for start in range(0, len(dependencies), _JOBS_PER_BARRIER)
    ]
    return barriers, replace(submission, job_id=job_id, dependencies=[barrier.job_id for barrier in barriers])


#: The reservations that were read, by purpose and text.
Reservations = dict[tuple[str, str], KeyReservation]


def reservations_of(context: QueueContext, job: Job) -> list[KeyReservation]:
    """The keys that a job reserves."""
    reservations, kind = [], context.ledgers[0].key_reservation
    if job.idempotency_key is not None:
        until = context.now() + context.settings.remember
        text = quote(job.idempotency_key, safe="")
        reservations.append(kind(purpose="idempotency", text=text, job_id=job.job_id, digest=digest_of(job), expires_at=until))
    if job.unique_key is not None:
        text = quote(job.unique_key, safe="")
        reservations.append(kind(purpose="unique", text=text, job_id=job.job_id, digest=digest_of(job)))
    return reservations


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
    stored = yield from batch_get(refs, consistent=True).flow(context.setup)
    return {(reservation.purpose, reservation.text): reservation for reservation in stored if reservation is not None}
