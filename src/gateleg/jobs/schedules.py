"""Schedules: jobs that are submitted again and again, each time once, and not in a storm after an outage."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import ValidationError

from gateleg.jobs.cron import parse_cron
from gateleg.jobs.errors import BadSchedule, JobError, ScheduleMissing
from gateleg.jobs.handlers import Handler
from gateleg.jobs.names import is_name
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.rules import Retry
from gateleg.jobs.submit.preparation import prepared
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.records import Schedule
from gateleg.store import ConditionFailed, LostRace, TransactionCanceled, create, delete, find, page, patch, put, query, retrying, transact
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Job
    from gateleg.model import Action
    from gateleg.store import Page, WriteOperation
    from gateleg.store.flow import Flow

__all__ = ["next_run"]

_log = logging.getLogger("gateleg.jobs")
#: How far a schedule may be ahead of its next time before the clock that has put it there is taken to be wrong: one more interval, but not
#: more than an hour, so that the run of a day is not repeated when a clock is set back a little; and a minute in any case.
_MOST_AHEAD = timedelta(hours=1)
_LEAST_AHEAD = timedelta(minutes=1)
#: What a schedule keeps when it is written again.
HISTORY = ("version", "last_run_at", "last_job_id")


def next_run(schedule: Schedule, after: datetime) -> datetime:
    """When a schedule is due next after a moment. Intervals are counted from the last time that was due."""
    if schedule.cron is not None:
        return parse_cron(schedule.cron, schedule.timezone).after(after)
    if schedule.every is None:
        raise BadSchedule(f"The schedule {schedule.name} has neither cron fields nor an interval.")
    if schedule.next_run_at is None or schedule.next_run_at > after:
        return after + timedelta(seconds=schedule.every)
    missed = int((after - schedule.next_run_at).total_seconds() // schedule.every)
    return schedule.next_run_at + timedelta(seconds=schedule.every * (missed + 1))


def schedule(
    context: QueueContext,
    name: str,
    submission: Submission,
    *,
    cron: str | None = None,
    every: int | None = None,
    timezone: str = "UTC",
    max_delay: int = 600,
    enabled: bool = True,
) -> Flow[Schedule]:
    """Make a schedule, or put another in its place: the job of a submission at the times of `cron`, or `every` so many seconds.

    Only the type, config, queue, priority and subject of the submission count. A run that could not be made in time is made late, or left
    out when it is later than `max_delay` seconds; however many were missed, at most one is made up for.
    """
    made = drafted(context, name, submission, cron=cron, every=every, timezone=timezone, max_delay=max_delay, enabled=enabled)
    return (yield from _stored(context, made))


def drafted(
    context: QueueContext,
    name: str,
    submission: Submission,
    *,
    cron: str | None,
    every: int | None,
    timezone: str,
    max_delay: int,
    enabled: bool = True,
) -> Schedule:
    """A new schedule with everything checked, and its next run."""
    job = prepared(context, submission, context.now())
    if (cron is None) == (every is None):
        raise BadSchedule(f"The schedule {name} needs either cron fields or an interval.")
    if not is_name(name):
        raise BadSchedule(f"{name!r} cannot name a schedule.", fix="Names have 1 to 100 letters, digits and _ . : / -")
    try:
        made = context.tables.schedule(
            name=name,
            job_type=job.job_type,
            job_config=job.job_config,
            cron=cron,
            every=every,
            timezone=timezone,
            queue=job.queue,
            priority=job.priority,
            subject=job.subject,
            max_retries=job.max_retries,
            timeout_seconds=job.timeout_seconds,
            enabled=enabled,
            max_delay=max_delay,
        )
    except ValidationError as error:
        raise BadSchedule(f"The schedule {name} is refused: {error.errors()[0]['msg']}.") from None
    try:
        return made.model_copy(update={"next_run_at": next_run(made, context.now())})
    except OverflowError:
        raise BadSchedule(f"The schedule {name} would be due at no time that a calendar has.") from None


def _stored(context: QueueContext, made: Schedule) -> Flow[Schedule]:
    """Write a schedule over the one of its name, if there is one. When another writer was faster, over what that one has written."""
    delays = context.setup.delays()
    while True:
        current = yield from find(context.tables.schedule, name=made.name, consistent=True).flow(context.setup)
        kept = {} if current is None else {name: getattr(current, name) for name in HISTORY}
        try:
            stored: Schedule = yield from put(made.model_copy(update=kept)).flow(context.setup)
        except ConditionFailed:
            delay = next(delays, None)
            if delay is None:
                raise
            yield Pause(delay)
        else:
            return stored


def schedules(context: QueueContext) -> Flow[list[Schedule]]:
    """All schedules by name."""
    return (yield from collect_stream(query(context.tables.schedule.listed()), context))


def schedules_page(context: QueueContext, *, limit: int = 50, cursor: str | None = None) -> Flow[Page[Schedule]]:
    """Some schedules by name; `next` of the page is the cursor of those after them."""
    return (yield from page(context.tables.schedule.listed(), limit=limit, cursor=cursor).flow(context.setup))


def set_enabled(context: QueueContext, name: str, enabled: bool) -> Flow[Schedule]:
    """Switch a schedule on or off. One that is switched on again begins anew, without what it has missed.

    One that its application no longer declares becomes an ordinary schedule when it is switched on.
    """

    def decide(current: Schedule) -> list[Action]:
        actions: list[Action] = [Schedule.enabled.set(enabled), Schedule.next_run_at.set(next_run(current, context.now()))]
        if enabled and current.undeclared_at is not None:
            actions += [Schedule.declared_by.remove(), Schedule.undeclared_at.remove()]
        return actions

    if (yield from find(context.tables.schedule, name=name).flow(context.setup)) is None:
        raise ScheduleMissing(f"There is no schedule {name!r}.")
    return (yield from retrying(context.tables.schedule.key(name=name), decide).flow(context.setup))


def unschedule(context: QueueContext, name: str) -> Flow[None]:
    """Take a schedule away; jobs that it has submitted stay."""
    if (yield from delete(context.tables.schedule.key(name=name), returning="old").flow(context.setup)) is None:
        raise ScheduleMissing(f"There is no schedule {name!r}.")


def run_schedules(context: QueueContext) -> Flow[list[Job]]:
    """Submit what is due by now; the jobs that were submitted. Any number of workers may do this at once.

    A schedule that cannot be followed here, for want of its time zone, does not keep others waiting.
    """
    submitted = []
    for one in (yield from schedules(context)):
        if not one.active or one.next_run_at is None:
            continue
        try:
            if one.next_run_at <= context.now():
                job = yield from _fire(context, one, one.next_run_at)
                submitted += [] if job is None else [job]
            elif _strayed(one, one.next_run_at, context.now()):
                yield from set_enabled(context, one.name, True)
        except (JobError, LostRace) as error:
            _log.warning("the schedule %s cannot be followed: %s", one.name, error)
    return submitted


def _strayed(one: Schedule, due: datetime, now: datetime) -> bool:
    """Whether a schedule waits for a time that it can only have from a clock that was ahead."""
    if due - now <= _LEAST_AHEAD:
        return False
    if one.cron is None:
        every = timedelta(seconds=one.every or 0)
        return due - now > every + min(every, _MOST_AHEAD) + _LEAST_AHEAD
    return due > _latest(one.cron, one.timezone, now.replace(second=0, microsecond=0))


@lru_cache(maxsize=1000)
def _latest(cron: str, timezone: str, minute: datetime) -> datetime:
    """The latest time that is taken for the next one of a cron line in this minute."""
    times = parse_cron(cron, timezone)
    following = times.after(minute)
    return times.after(minute + min(times.after(following) - following, _MOST_AHEAD) + 2 * _LEAST_AHEAD)


def _fire(context: QueueContext, due: Schedule, at: datetime) -> Flow[Job | None]:
    """Submit one run and move the schedule on, in one transaction that only one worker can do."""
    now = context.now()
    actions = [Schedule.next_run_at.set(next_run(due, now))]
    state = yield from find(context.tables.queue_state, name=due.queue or "default").flow(context.setup)
    job: Job | None = None
    writes: list[WriteOperation[Any]] = []
    if now - at <= timedelta(seconds=due.max_delay) and (state is None or state.mode != "draining"):
        job = _made(context, due, at, now)
    if job is not None:
        actions += [Schedule.last_run_at.set(now), Schedule.last_job_id.set(job.job_id)]
        writes.append(create(job))
    else:
        actions.append(Schedule.skipped.add(1))
    try:
        yield from transact([patch(due, *actions), *writes]).flow(context.setup)
    except (TransactionCanceled, ConditionFailed):
        # Another worker has done it.
        return None
    if job is not None:
        context.jobs.ready.notify(job.queue)
    return job


def _made(context: QueueContext, due: Schedule, at: datetime, now: datetime) -> Job | None:
    """The job of a run; None when its handler, as it is by now, refuses what the schedule says."""
    try:
        return _job_of(context, due, at, now) if due.job_type in context.jobs else _unseen(context, due, at, now)
    except JobError as refused:
        _log.warning("a run of the schedule %s is left out: %s", due.name, refused)
        return None


def _unseen(context: QueueContext, due: Schedule, at: datetime, now: datetime) -> Job:
    """The job of a run whose type another worker knows. What it says was checked when the schedule was made."""
    return context.tables.job(
        job_id=_id_of(due, at),
        created_at=now,
        updated_at=now,
        job_type=due.job_type,
        job_config=due.job_config,
        queue=due.queue or "default",
        priority=due.priority,
        subject=due.subject,
        created_by=f"schedule:{due.name}",
        max_retries=Retry().times if due.max_retries is None else due.max_retries,
        timeout_seconds=due.timeout_seconds or Handler.timeout,
    )


def _id_of(due: Schedule, at: datetime) -> UUID:
    return uuid5(NAMESPACE_OID, f"schedule:{due.name}:{at.isoformat()}:{due.version}")


def _job_of(context: QueueContext, due: Schedule, at: datetime, now: datetime) -> Job:
    submission = Submission(
        due.job_type,
        due.job_config,
        queue=due.queue,
        priority=due.priority,
        subject=due.subject,
        created_by=f"schedule:{due.name}",
        job_id=_id_of(due, at),
    )
    return prepared(context, submission, now)
