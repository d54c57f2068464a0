"""Operating queues: pause, drain, rate limits; the workers and their leader leases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from gateleg.jobs.errors import BadSubmission
from gateleg.jobs.names import is_name
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.jobs.tables.records import LeaderLease, QueueState, WorkerRecord
from gateleg.store import ConditionFailed, delete, put, upsert
from gateleg.store.operations import batch_get, find, query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.claim.staleness import Staleness
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Condition
    from gateleg.store.flow import Flow

#: A worker without a report for this long counts as lost.
ALIVE = timedelta(seconds=60)


def _change(context: QueueContext, queue: str, by: str | None, **changes: Any) -> Flow[QueueState]:
    """Change the state of a queue in every ledger, so that programs that use only further tables of the queue follow it too."""
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} is not a valid queue name.", fix="Use 1 to 100 letters, digits and _ . : / -")
    own, *others = context.ledgers
    if others:
        known = yield from state_of(context, queue)
        if known is not None and type(known) is not own.queue_state:
            changes = {name: getattr(known, name) for name in ("mode", "rate", "rate_seconds")} | changes
    changes |= {"changed_at": context.now(), "changed_by": by}
    actions = [getattr(QueueState, name).set(value) for name, value in changes.items()]
    for tables in others:
        yield from upsert(tables.queue_state.key(name=queue), *actions).flow(context.setup)
    changed: QueueState = yield from upsert(own.queue_state.key(name=queue), *actions).flow(context.setup)
    return changed


def _mode(context: QueueContext, queue: str, mode: Literal["running", "paused", "draining"], by: str | None) -> Flow[QueueState]:
    state = yield from _change(context, queue, by, mode=mode)
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
    return (yield from _change(context, queue, by, rate=starts, rate_seconds=seconds))


def state_of(context: QueueContext, queue: str) -> Flow[QueueState | None]:
    """The state of one queue. What only the ledger of a further table has, such as a pause by an earlier release, holds for the queue."""
    for tables in context.ledgers:
        state: QueueState | None = yield from find(tables.queue_state, name=queue).flow(context.setup)
        if state is not None:
            return state
    return None


def states(context: QueueContext, queues: Sequence[str] | None = None) -> Flow[dict[str, QueueState]]:
    """The states of the given queues, or of all, by name. A queue that was never paused, drained or limited has no state."""
    found: list[QueueState | None] = []
    # The queue's own ledger is last, so that its states are kept.
    if queues is None:
        for tables in reversed(context.ledgers):
            found += yield from collect_stream(query(tables.queue_state.every()), context)
    else:
        refs = [tables.queue_state.key(name=name) for tables in reversed(context.ledgers) for name in queues]
        found += yield from batch_get(refs).flow(context.setup)
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
    found: dict[str, WorkerRecord] = {}
    for tables in context.ledgers:
        for record in (yield from collect_stream(query(tables.worker_record.every()), context, expired=True)):
            found.setdefault(record.worker_id, record)
    return list(found.values())


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
