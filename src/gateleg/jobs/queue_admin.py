"""How queues are run: pausing, draining, rates; and who works on them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from gateleg.jobs.errors import BadSubmission
from gateleg.jobs.names import is_name
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.queue_tables import moved_to
from gateleg.jobs.tables.records import LeaderLease, QueueState, WorkerRecord
from gateleg.store import ConditionFailed, batch_get, delete, put, query, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.claim.staleness import Staleness
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.model import Action, Condition
    from gateleg.store.flow import Flow

#: A worker that was not heard of for so long is not counted any more.
ALIVE = timedelta(seconds=60)


def _change(context: QueueContext, queue: str, by: str | None, *actions: Action) -> Flow[QueueState]:
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} cannot name a queue.", fix="Names have 1 to 100 letters, digits and _ . : / -")
    noted = (QueueState.changed_at.set(context.now()), QueueState.changed_by.set(by))
    return (yield from upsert(context.tables.queue_state.key(name=queue), *actions, *noted).flow(context.setup))


def _mode(context: QueueContext, queue: str, mode: Literal["running", "paused", "draining"], by: str | None) -> Flow[QueueState]:
    state = yield from _change(context, queue, by, QueueState.mode.set(mode))
    context.doors.forget(queue)
    return state


def pause(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Start no more jobs of a queue; those that run go on. Workers follow within a few seconds."""
    return (yield from _mode(context, queue, "paused", by))


def drain(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Take no new jobs into a queue; those that wait are still run. Who submits elsewhere may be let in for a second more."""
    return (yield from _mode(context, queue, "draining", by))


def resume(context: QueueContext, queue: str, *, by: str | None = None) -> Flow[QueueState]:
    """Let a queue run again."""
    state = yield from _mode(context, queue, "running", by)
    context.jobs.ready.notify(queue)
    return state


def set_rate(context: QueueContext, queue: str, starts: int, *, seconds: int = 60, by: str | None = None) -> Flow[QueueState]:
    """Start at most so many jobs of a queue in each window of so many seconds; 0 takes the limit away.

    Windows follow each other by the clock, so that around the end of one twice as many may start in a short time.
    """
    return (yield from _change(context, queue, by, QueueState.rate.set(starts), QueueState.rate_seconds.set(seconds)))


def states(context: QueueContext, queues: Sequence[str] | None = None) -> Flow[dict[str, QueueState]]:
    """The states of some queues, or of all that have one."""
    if queues is None:
        known = yield from collect_stream(query(context.tables.queue_state.every()), context)
        return {state.name: state for state in known}
    refs = [context.tables.queue_state.key(name=name) for name in queues]
    found = yield from batch_get(refs).flow(context.setup)
    return {state.name: state for state in found if state is not None}


def report_worker(context: QueueContext, record: WorkerRecord) -> Flow[None]:
    """Say that a worker is alive, and what it does."""
    now = context.now()
    # By the clocks of the others: the record of a worker whose clock is hours behind would else expire at once.
    expires_at = now - timedelta(seconds=record.clock_ahead) + 10 * ALIVE
    current = record.model_copy(update={"seen_at": now, "expires_at": expires_at})
    yield from put(moved_to(context.tables.worker_record, current), returning="none").flow(context.setup)


def forget_worker(context: QueueContext, worker_id: str) -> Flow[None]:
    """Say that a worker has ended."""
    yield from delete(context.tables.worker_record, worker_id=worker_id).flow(context.setup)


def workers(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The workers that were heard of in the last minute, whatever their clocks say."""
    known = yield from every_worker(context)
    return [record for record in known if record.seen_at - timedelta(seconds=record.clock_ahead) > context.now() - ALIVE]


def every_worker(context: QueueContext) -> Flow[list[WorkerRecord]]:
    """The workers that have not said that they end, also those that were not heard of for minutes."""
    return (yield from collect_stream(query(context.tables.worker_record.every()), context, expired=True))


def take_duty(context: QueueContext, name: str, holder: str, seconds: float, terms: Staleness[str]) -> Flow[bool]:
    """Take a duty for some seconds, or keep it; False when another worker has it.

    It is another's until that one gives it back, or has not renewed it for a term between looks with the same `terms`.
    """
    free = LeaderLease.holder.missing() | LeaderLease.holder.is_in([holder, ""])
    try:
        yield from _take(context, name, holder, seconds, free)
    except ConditionFailed as refused:
        current: LeaderLease | None = refused.current
        if current is None:
            return False
        age = terms.observe({name: (current.holder, current.until)}, context.setup.ticks())[name]
        if age < max(seconds, current.seconds or 0.0):
            return False
    else:
        return True
    try:
        yield from _take(context, name, holder, seconds, (LeaderLease.holder == current.holder) & (LeaderLease.until == current.until))
    except ConditionFailed:
        return False
    return True


def _take(context: QueueContext, name: str, holder: str, seconds: float, free: Condition) -> Flow[None]:
    term = (
        LeaderLease.holder.set(holder),
        LeaderLease.until.set(context.now() + timedelta(seconds=seconds)),
        LeaderLease.seconds.set(seconds),
    )
    yield from upsert(context.tables.leader_lease.key(name=name), *term, condition=free).flow(context.setup)


def drop_duty(context: QueueContext, name: str, holder: str) -> Flow[None]:
    """Let others take a duty at once."""
    dropped = (LeaderLease.holder.set(""), LeaderLease.until.set(context.now()))
    try:
        yield from upsert(context.tables.leader_lease.key(name=name), *dropped, condition=LeaderLease.holder == holder).flow(context.setup)
    except ConditionFailed:
        return
