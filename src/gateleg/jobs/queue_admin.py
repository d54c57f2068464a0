"""Operating queues: pause, drain, rate limits; the workers and their leader leases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from gateleg.jobs.errors import BadSubmission
from gateleg.jobs.names import is_name
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.jobs.tables.records import LeaderLease, QueueState, WorkerRecord
from gateleg.store import ConditionFailed, delete, put, upsert
from gateleg.store.operations import batch_get, query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.claim.staleness import Staleness
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action, Condition
    from gateleg.store.flow import Flow

#: A worker without a report for this long counts as lost.
ALIVE = timedelta(seconds=60)


def _change(context: QueueContext, queue: str, by: str | None, *actions: Action) -> Flow[QueueState]:
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} is not a valid queue name.", fix="Use 1 to 100 letters, digits and _ . : / -")
    noted = (QueueState.changed_at.set(context.now()), QueueState.changed_by.set(by))
    return (yield from upsert(context.tables.queue_state.key(name=queue), *actions, *noted).flow(context.setup))


def _mode(context: QueueContext, queue: str, mode: Literal["running", "paused", "draining"], by: str | None) -> Flow[QueueState]:
    state = yield from _change(context, queue, by, QueueState.mode.set(mode))
    context.draining_cache.forget(queue)
    return state


def pause(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Stop starting jobs of a queue; running jobs continue. Workers follow within a few seconds. Returns the queue's state.

    `by` records who did it. Raises `BadSubmission` for an invalid queue name.
    """
    return (yield from _mode(context, queue, "paused", by))


def drain(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Refuse new jobs in a queue, while its pending jobs still run. Returns the queue's state.

    Other processes may submit jobs for up to a second more. After that, submissions raise `QueueDraining`.
    """
    return (yield from _mode(context, queue, "draining", by))


def resume(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Resume a paused or draining queue, and return its state."""
    state = yield from _mode(context, queue, "running", by)
    context.jobs.ready.notify(queue)
    return state


def set_rate(context: QueueContext, queue: str, starts: int, *, seconds: int = 60, by: str | None = None) -> Flow[QueueState]:
    """Limit a queue to `starts` starts of jobs in each window of `seconds`; 0 removes the limit. Returns the queue's state.

    The windows are fixed, so up to twice as many jobs may start in a short time around the end of a window.
    """
    return (yield from _change(context, queue, by, QueueState.rate.set(starts), QueueState.rate_seconds.set(seconds)))


def states(context: QueueContext, queues: Sequence[str] | None = None) -> Flow[dict[str, QueueState]]:
    """The states of the given queues, or of all, by name. A queue that was never paused, drained or limited has no state."""
    if queues is None:
        known = yield from collect_stream(query(context.tables.queue_state.every()), context)
        return {state.name: state for state in known}
    refs = [context.tables.queue_state.key(name=name) for name in queues]
    found = yield from batch_get(refs).flow(context.setup)
    return {state.name: state for state in found if state is not None}


def report_worker(context: QueueContext, record: WorkerRecord) -> Flow[None]:
    """Write the record of a live worker. Workers call it."""
    now = context.now()
    # Correct the clock difference: otherwise the record of a worker whose clock is hours behind would expire at once.
    expires_at = now - timedelta(seconds=record.clock_ahead) + 10 * ALIVE
    current = record.model_copy(update={"seen_at": now, "expires_at": expires_at})
    yield from put(moved_to(context.tables.worker_record, current), returning="none").flow(context.setup)


def forget_worker(context: QueueContext, worker_id: str) -> Flow[None]:
    """Delete the record of a worker that has ended. Workers call it."""
    yield from delete(context.tables.worker_record, worker_id=worker_id).flow(context.setup)


def workers(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The live workers: those that reported during the last minute, after correcting for their clocks."""
    known = yield from every_worker(context)
    return [record for record in known if record.seen_at - timedelta(seconds=record.clock_ahead) > context.now() - ALIVE]


def every_worker(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The records of all workers that have not deregistered, including workers that have not reported for minutes."""
    return (yield from collect_stream(query(context.tables.worker_record.every()), context, expired=True))


def acquire_leader_lease(context: QueueContext, name: str, holder: str, seconds: float, others: Staleness[str]) -> Flow[bool]:
    """Acquire or renew the leader lease of a maintenance task. Returns False if another worker has it.

    Another worker's lease ends when it is released, or has stayed unchanged for its duration across calls with the same `others`.
    """
    is_free = LeaderLease.holder.missing() | LeaderLease.holder.is_in([holder, ""])
    try:
        yield from _write_lease(context, name, holder, seconds, is_free)
    except ConditionFailed as refused:
        current: LeaderLease | None = refused.current
        if current is None:
            return False
        age = others.observe({name: (current.holder, current.until)}, context.setup.ticks())[name]
        if age < max(seconds, current.seconds or 0.0):
            return False
    else:
        return True
    try:
        yield from _write_lease(
            context, name, holder, seconds, (LeaderLease.holder == current.holder) & (LeaderLease.until == current.until)
        )
    except ConditionFailed:
        return False
    return True


def _write_lease(context: QueueContext, name: str, holder: str, seconds: float, free: Condition) -> Flow[None]:
    actions = (
        LeaderLease.holder.set(holder),
        LeaderLease.until.set(context.now() + timedelta(seconds=seconds)),
        LeaderLease.seconds.set(seconds),
    )
    yield from upsert(context.tables.leader_lease.key(name=name), *actions, condition=free).flow(context.setup)


def release_leader_lease(context: QueueContext, name: str, holder: str) -> Flow[None]:
    """Release the leader lease of a maintenance task, so that another worker can acquire it at once."""
    released = (LeaderLease.holder.set(""), LeaderLease.until.set(context.now()))
    try:
        yield from upsert(context.tables.leader_lease.key(name=name), *released, condition=LeaderLease.holder == holder).flow(context.setup)
    except ConditionFailed:
        return
