"""Submitting: one job or many, with what they depend on, all or nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from gateleg.jobs.errors import BadSubmission, DependencyMissing, ParentGone, QueueDraining, TooManyDependencies
from gateleg.jobs.submit.fan_in import fans_in, gates_of, narrowed, steps_of
from gateleg.jobs.submit.idempotency import hold_write, noted, present_holds, taken_by, wanted_holds
from gateleg.jobs.submit.preparation import prepared
from gateleg.jobs.submit.submission import (
    Enlisted,
    Submission,
    Submitted,
    below,
    blocked,
    check_cycles,
    check_keys,
    check_submission,
    digest_of,
    left_of,
    renamed,
)
from gateleg.jobs.tables.job import MAX_DEPENDENTS, Job, JobStatus, Readiness
from gateleg.model.codec.unchecked import copy_unchecked
from gateleg.store import (
    AlreadyExists,
    StoreError,
    TransactionCanceled,
    batch_get,
    batch_write,
    check,
    create,
    find,
    patch,
    transact,
)
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.submit.idempotency import Holds
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.store import WriteOperation
    from gateleg.store.flow import Flow

#: How many writes one transaction takes.
_TRANSACTION = 100


def submit(context: QueueContext, submission: Submission, *, under: Job | None = None) -> Flow[Submitted]:
    """Submit one job. `under` is the claimed job of the worker that submits it as a child."""
    check_submission(submission)
    if fans_in(submission):
        checked = prepared(context, narrowed(submission), context.now())
        earlier = yield from taken_by(context, [checked], (yield from present_holds(context, [checked])))
        if earlier:
            return earlier[checked.job_id]
        submission = yield from _through_gates(context, submission)
    job = prepared(context, submission, context.now())
    check_cycles([job])
    yield from _check_queues(context, {job.queue})
    if submission.plain and under is None:
        # A random id that is taken was taken by this very submission, whose first answer was lost.
        with suppress(AlreadyExists):
            yield from create(job).flow(context.setup)
        submitted = Submitted(copy_unchecked(job, {"version": 1}))
    else:
        (submitted,) = yield from _written(context, [submission], [job], under)
    _ring(context, [submitted])
    return submitted


def submit_many(context: QueueContext, submissions: Sequence[Submission], *, under: Job | None = None) -> Flow[list[Submitted]]:
    """Submit many jobs; nothing is written when one of them is refused.

    Those whose id or key was submitted before are answered with the first job, and only the others are written; what refers to a
    repetition refers to the first job. Jobs without keys, parents and dependencies are written in batches of any number. Others are
    written in one transaction, which takes 100 writes. When one has more dependencies than that, all are written in several steps, each
    after what it depends on; should one be refused for something that was not known before, what was written stays.
    """
    now = context.now()
    for submission in submissions:
        check_submission(submission)
    jobs = [prepared(context, narrowed(submission), now, place) for place, submission in enumerate(submissions)]
    if len({job.job_id for job in jobs}) < len(jobs):
        raise BadSubmission("Two of the jobs have the same id.")
    check_keys(jobs)
    whole = [copy_unchecked(job, {"dependencies": one.depends_on}) for job, one in zip(jobs, submissions, strict=True)]
    check_cycles(whole)
    yield from _check_queues(context, {job.queue for job in jobs})
    if any(map(fans_in, submissions)):
        earlier = yield from taken_by(context, jobs, (yield from present_holds(context, jobs)))
        whole = [job for job in whole if job.job_id not in earlier]
        known = yield from _others(context, submissions, whole, under)
        for other in {other for job in whole for other in job.dependencies} - {job.job_id for job in jobs}:
            _open(other, known)
        return (yield from _in_steps(context, submissions, jobs, under, earlier))
    if under is None and all(submission.plain for submission in submissions):
        submitted = yield from _batched(context, jobs)
    else:
        submitted = yield from _written(context, submissions, jobs, under)
    _ring(context, submitted)
    return submitted


def _batched(context: QueueContext, jobs: Sequence[Job]) -> Flow[list[Submitted]]:
    """Write plain jobs, any number of them."""
    yield from batch_write([copy_unchecked(job, {"version": 0}) for job in jobs], check_version=False).flow(context.setup)
    return [Submitted(copy_unchecked(job, {"version": 1})) for job in jobs]


def _in_steps(
    context: QueueContext, submissions: Sequence[Submission], jobs: Sequence[Job], under: Job | None, earlier: dict[UUID, Submitted]
) -> Flow[list[Submitted]]:
    """Write jobs after those that they depend on, as many at once as one transaction takes; some of them through gates."""
    plain = [job for job, submission in zip(jobs, submissions, strict=True) if submission.plain and under is None]
    done = earlier | {one.job.job_id: one for one in (yield from _batched(context, plain))}
    _ring(context, list(done.values()))
    for step in steps_of({job.job_id: one for job, one in zip(jobs, submissions, strict=True) if job.job_id not in done}):
        names = {job_id: one.job.job_id for job_id, one in done.items()}
        asked = [renamed(one, names) for one in step]
        if fans_in(asked[0]):
            asked = [(yield from _through_gates(context, asked[0]))]
        written = yield from _written(context, asked, [prepared(context, one, context.now()) for one in asked], under)
        _ring(context, written)
        done |= {job_id: one for job_id, one in zip((one.job_id for one in step), written, strict=True) if job_id is not None}
    return [done[job.job_id] for job in jobs]


def writes_of(context: QueueContext, submission: Submission) -> list[WriteOperation[Any]]:
    """The writes of a plain submission, to be part of a caller's own transaction: `store.transact([..., *queue.writes(submission)])`."""
    check_submission(submission)
    if submission.depends_on or submission.parent or submission.idempotency_key or submission.unique_key:
        raise BadSubmission("A job with a parent, dependencies or keys cannot be written blindly.", fix="Use `enlist`, which looks first.")
    return [create(prepared(context, submission, context.now()))]


def enlist(context: QueueContext, submission: Submission) -> Flow[Enlisted]:
    """Look at everything that a submission touches, and give its writes to a transaction of the caller.

    `enlisted = queue.enlist(submission)`, then `store.transact([..., *enlisted.writes])`. When its key is held, or its id is there, there
    is nothing to write.
    A transaction that is cancelled because something has changed meanwhile is begun again with `enlist`.
    """
    job = prepared(context, submission, context.now())
    check_cycles([job])
    yield from _check_queues(context, {job.queue})
    holds = yield from present_holds(context, [job])
    earlier = yield from taken_by(context, [job], holds)
    if submission.job_id is not None:
        there = yield from find(context.tables.job, job_id=submission.job_id, consistent=True).flow(context.setup)
        earlier |= {} if there is None else _repeated([job], [there])
    if earlier:
        return Enlisted(earlier[job.job_id].job, (), created=False)
    known = yield from _others(context, [submission], [job], None)
    (placed,) = _placed([submission], [job], known, None)
    return Enlisted(placed, tuple(_writes(context, [placed], known, None, holds)))


def _through_gates(context: QueueContext, submission: Submission) -> Flow[Submission]:
    """Submit the gates of a job with more dependencies than one transaction can note; the submission that waits for them."""
    gates, narrow = gates_of(submission, prepared(context, replace(submission, depends_on=()), context.now()))
    known = yield from _others(context, [], gates, None)
    for gate in gates:
        for other in gate.dependencies:
            _open(other, known)
    yield from _check_queues(context, {gates[0].queue})
    for gate in gates:
        asked = Submission(gate.job_type, depends_on=gate.dependencies, job_id=gate.job_id)
        written = yield from _written(context, [asked], [gate], None)
        _ring(context, written)
    return narrow


def _ring(context: QueueContext, submitted: Sequence[Submitted]) -> None:
    for queue in {one.job.queue for one in submitted if one.created and one.job.readiness is not Readiness.BLOCKED}:
        context.jobs.ready.notify(queue)


def _check_queues(context: QueueContext, queues: set[str]) -> Flow[None]:
    now = context.setup.ticks()
    for queue in sorted(queues):
        if context.doors.open(queue, now):
            continue
        state = yield from find(context.tables.queue_state, name=queue).flow(context.setup)
        if state is not None and state.mode == "draining":
            raise QueueDraining(f"The queue {queue} is draining and takes no new jobs.")
        context.doors.seen_open(queue, now + context.settings.open_for)


def _written(context: QueueContext, submissions: Sequence[Submission], jobs: list[Job], under: Job | None) -> Flow[list[Submitted]]:
    """Write jobs with all that belongs to them; when another writer is faster, look again and decide anew.

    What was submitted before is answered with, and only the rest is written.
    """
    delays = context.setup.delays()
    holds: Holds = {}
    there: dict[UUID, Submitted] = {}
    while len(there) < len(jobs):
        asked, left = left_of(submissions, jobs, there)
        known = yield from _others(context, asked, left, under)
        try:
            placed = _placed(asked, left, known, under)
        except (DependencyMissing, TooManyDependencies):
            # What was submitted before is the answer, whatever has become since of what it waits for.
            earlier = yield from taken_by(context, left, (yield from present_holds(context, left)))
            if not earlier:
                raise
            there |= earlier
            continue
        earlier = yield from taken_by(context, left, holds)
        if earlier:
            there |= earlier
            continue
        writes = _writes(context, placed, known, under, holds)
        if len(writes) > _TRANSACTION:
            raise TooManyDependencies(f"The jobs need {len(writes)} writes in one transaction, which takes {_TRANSACTION}.")
        try:
            yield from transact(writes).flow(context.setup)
            there |= {job.job_id: Submitted(copy_unchecked(job, {"version": 1})) for job in placed}
            continue
        except (TransactionCanceled, AlreadyExists) as refused:
            earlier = _repeated(left, _present(refused))
            if earlier or noted(writes, refused, holds):
                there |= earlier
                continue
            delay = next(delays, None)
            if delay is None:
                raise
        yield Pause(delay)
    return [there[job.job_id] for job in jobs]


def _others(
    context: QueueContext, submissions: Sequence[Submission], jobs: Sequence[Job], under: Job | None
) -> Flow[dict[UUID, Job | ArchivedJob]]:
    """The jobs that the new ones depend on or belong to, as they are now."""
    own = {job.job_id for job in jobs}
    wanted = {other for job in jobs for other in job.dependencies} | {one.parent for one in submissions if one.parent is not None}
    if under is not None:
        wanted.add(under.job_id)
    ids, tables = sorted(wanted - own), context.tables
    found = yield from batch_get([tables.job.key(job_id=job_id) for job_id in ids], consistent=True).flow(context.setup)
    known: dict[UUID, Job | ArchivedJob] = {job.job_id: job for job in found if job is not None}
    gone = [job_id for job_id in ids if job_id not in known]
    if gone:
        archived = yield from batch_get([tables.archived_job.key(job_id=job_id) for job_id in gone]).flow(context.setup)
        known |= {job.job_id: job for job in archived if job is not None}
    return known


def _placed(submissions: Sequence[Submission], jobs: Sequence[Job], known: dict[UUID, Job | ArchivedJob], under: Job | None) -> list[Job]:
    """The jobs in their trees, blocked by what they depend on, and noted by those of them that others wait for."""
    fresh = {job.job_id: job for job in jobs}
    placed: dict[UUID, Job] = {}
    for submission, job in zip(submissions, jobs, strict=True):
        parent = submission.parent or (under.job_id if under is not None else None)
        if parent is not None:
            above = known.get(parent) or placed.get(parent)
            if not isinstance(above, Job) or above.status == JobStatus.CANCELLED or above.cancel_requested is not None:
                if under is not None and parent == under.job_id:
                    raise ParentGone(f"The job {parent} is gone or cancelled.")
                raise ParentGone(
                    f"There is no parent {parent}, or it is cancelled.",
                    fix="Check parent=: it takes the id of a job in the queue that is not cancelled. Nothing was submitted.",
                )
            if under is not None and parent == under.job_id and not _still(above, under):
                raise ParentGone(f"The job {parent} is no longer run by this worker.")
            job = below(job, above)
        open_ones = [other for other in job.dependencies if other in fresh or _open(other, known)]
        followers = [other.job_id for other in jobs if job.job_id in other.dependencies]
        placed[job.job_id] = copy_unchecked(blocked(job, open_ones), {"dependent_jobs": followers})
    return list(placed.values())


def _still(current: Job, claimed: Job) -> bool:
    return current.status == JobStatus.PROCESSING and current.lease_token == claimed.lease_token


def _open(job_id: UUID, known: dict[UUID, Job | ArchivedJob]) -> bool:
    """Whether a dependency is still to be waited for."""
    other = known.get(job_id)
    if other is None:
        raise DependencyMissing(f"There is no job {job_id} to depend on.")
    if other.status in (JobStatus.FAILED, JobStatus.CANCELLED):
        raise DependencyMissing(f"The job {job_id} is {other.status}, and a job cannot wait for it.")
    if isinstance(other, Job) and len(other.dependent_jobs) >= MAX_DEPENDENTS:
        raise TooManyDependencies(f"{len(other.dependent_jobs)} jobs wait for {job_id} already.")
    return other.status != JobStatus.COMPLETED


def _writes(
    context: QueueContext,
    jobs: Sequence[Job],
    known: dict[UUID, Job | ArchivedJob],
    under: Job | None,
    holds: Holds,
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
        writes.append(check(context.tables.job.key(job_id=parent), alive))
    return [*writes, *(hold_write(hold, holds) for job in jobs for hold in wanted_holds(context, job))]


def _present(refused: StoreError) -> list[Job]:
    """The jobs that a refusal has found under the ids of new ones."""
    reasons = refused.reasons if isinstance(refused, TransactionCanceled) else (refused,)
    return [reason.current for reason in reasons if isinstance(reason, AlreadyExists) and isinstance(reason.current, Job)]


def _repeated(jobs: Sequence[Job], present: Sequence[Job]) -> dict[UUID, Submitted]:
    """The jobs that are there already: submitted before, or by a write that was done but whose answer was lost; or an error."""
    there = {job.job_id: job for job in present}
    for job in jobs:
        if job.job_id in there and digest_of(there[job.job_id]) != digest_of(job):
            raise BadSubmission(f"There is another job with the id {job.job_id}.", fix="Leave the id out, or choose a new one.")
    return {job.job_id: Submitted(there[job.job_id], created=False) for job in jobs if job.job_id in there}
