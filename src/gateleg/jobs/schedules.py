"""Schedules submit jobs periodically: each run exactly once, and at most one missed run after an outage.

They are created by people and programs (`schedule`), or declared by applications in their code, and stored when a host starts
(`declare_schedules`).
"""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import NAMESPACE_OID, uuid5

from pydantic import ValidationError

from gateleg.errors import problem_message
from gateleg.jobs.admin import state_of
from gateleg.jobs.cron import parse_cron
from gateleg.jobs.errors import BadSchedule, JobError, ScheduleMissing, UnknownJobType
from gateleg.jobs.handlers import Handler, check_time
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.rules import Retry, is_name
from gateleg.jobs.submission import RUN_ATTRIBUTES, Submission, job_of
from gateleg.jobs.tables.records import Schedule, moved_to
from gateleg.store import ConditionFailed, LostRace, TransactionCanceled, create, delete, patch, put
from gateleg.store.flow import Pause
from gateleg.store.operations import batch_get, page, query, retrying, transact
from gateleg.store.operations.pages import merged_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.handlers import DeclaredSchedule
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Job
    from gateleg.jobs.tasks import JobContext
    from gateleg.model import UpdateAction
    from gateleg.store import Page, WriteOperation
    from gateleg.store.flow import Flow

__all__ = ["next_run", "run_submission"]

_log = logging.getLogger("gateleg.jobs")

#: How far the next run may be beyond the expected time before a wrong clock must have set it: one more interval, at most an hour (so that
#: a daily run is not repeated when a clock is set back a little), plus a minute.
_MAX_AHEAD = timedelta(hours=1)
_MIN_AHEAD = timedelta(minutes=1)
#: A cron expression of every minute has this many runs in most of a day.
_MOST_COUNTED = 1_000
#: The fields of a submission that the runs of a schedule have.
_SCHEDULED = RUN_ATTRIBUTES | {"job_type", "config"}
#: Those of which the handler has defaults that may change until a run.
_OVERRIDES = ("max_retries", "timeout_seconds")
#: The attributes that a schedule keeps when it is written again.
HISTORY = ("version", "last_run_at", "last_job_id")


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
    """Create or replace a schedule that submits the job at the times of `cron`, or every `every` seconds. Returns the stored schedule.

    Besides the job type and the config, the submission may have the attributes that every run can have (`RunAttributes`): a queue, a
    priority, a subject, tags, retries, a timeout, the longest wait, and a concurrency key with its limit: `concurrency_key="report"` keeps
    two runs from overlapping. A late run still happens, unless it is more than `max_delay` seconds late; after an outage, only the last
    missed run happens. Raises `BadSchedule` for an invalid name or time and for other options of the submission, which the runs would not
    have, and the errors of `submit` for an invalid submission.
    """
    new = new_schedule(context, name, submission, cron=cron, every=every, timezone=timezone, max_delay=max_delay, enabled=enabled)
    return (yield from _store(context, new))


def find_schedule(context: QueueContext, name: str) -> Flow[Schedule | None]:
    """The schedule of a name, or None.

    A schedule stays in the ledger in which it was created: an earlier release that runs beside this one runs it from there, and each run
    is one transaction on it, so that it happens once.
    """
    refs = [tables.schedule.key(name=name) for tables in context.ledgers]
    stored = yield from batch_get(refs, consistent=True).flow(context.setup)
    return next((schedule for schedule in stored if schedule is not None), None)


def schedules(context: QueueContext) -> Flow[list[Schedule]]:
    """All schedules, sorted by name."""
    by_name: dict[str, Schedule] = {}
    for tables in context.ledgers:
        for schedule in (yield from collect_stream(query(tables.schedule.listed()), context)):
            by_name.setdefault(schedule.name, schedule)
    return [by_name[name] for name in sorted(by_name)]


def schedules_page(context: QueueContext, *, limit: int = 50, cursor: str | None = None) -> Flow[Page[Schedule]]:
    """A page of schedules, sorted by name. Pass its `next` as `cursor` for the next page."""
    listed = [tables.schedule.listed() for tables in context.ledgers]
    if len(listed) == 1:
        return (yield from page(listed[0], limit=limit, cursor=cursor).flow(context.setup))
    return (yield from merged_page(listed, limit=limit, cursor=cursor).flow(context.setup))


def set_enabled(context: QueueContext, name: str, enabled: bool) -> Flow[Schedule]:
    """Enable or disable a schedule, and return it. Runs that were due while it was disabled are not made up for.

    Enabling a schedule that its application no longer declares makes it an ordinary schedule. Raises `ScheduleMissing`.
    """

    def decide(current: Schedule) -> list[UpdateAction]:
        actions: list[UpdateAction] = [Schedule.enabled.set(enabled), Schedule.next_run_at.set(next_run(current, context.now()))]
        if enabled and current.undeclared_at is not None:
            actions += [Schedule.declared_by.remove(), Schedule.undeclared_at.remove()]
        return actions

    current = yield from find_schedule(context, name)
    if current is None:
        raise ScheduleMissing(f"There is no schedule {name!r}.")
    return (yield from retrying(type(current).key(name=name), decide).flow(context.setup))


def unschedule(context: QueueContext, name: str) -> Flow[None]:
    """Delete a schedule. The jobs that it has submitted stay. Raises `ScheduleMissing`."""
    current = yield from find_schedule(context, name)
    if current is None or (yield from delete(type(current).key(name=name), returning="old").flow(context.setup)) is None:
        raise ScheduleMissing(f"There is no schedule {name!r}.")


def declare_schedules(context: QueueContext, declared: Mapping[str, Sequence[DeclaredSchedule]] | None = None) -> Flow[list[Schedule]]:
    """Store declared schedules, and return those that were changed. Idempotent; several processes may call it at once.

    `declared` maps application names to their schedules; the default is the schedules of the queue's `Jobs`. A schedule that an operator
    has disabled stays disabled. A schedule that its application no longer declares is kept with its history, but does not run; enabling it
    makes it an ordinary schedule. Raises `BadSchedule` if two applications declare the same name.
    """
    by_application = {"": context.jobs.schedules} if declared is None else declared
    names = [schedule.name for declarations in by_application.values() for schedule in declarations]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise BadSchedule(f"Two applications declare a schedule {duplicate}.", fix="Give one of them another name=.")
    changed: list[Schedule] = []
    for owner, declarations in by_application.items():
        for schedule in declarations:
            changed += yield from _store_declared(context, owner, schedule)
    for stored in (yield from schedules(context)):
        if stored.declared_by in by_application and stored.name not in names and stored.undeclared_at is None:
            changed += yield from _mark_undeclared(context, stored)
    return changed


def run_schedules(context: QueueContext) -> Flow[list[Job]]:
    """Submit the jobs of all due schedules, and return them. Safe to call from several workers at once; workers call it.

    If a schedule fails, such as for a missing time zone, the others still run.
    """
    submitted = []
    for entry in (yield from schedules(context)):
        if not entry.active or entry.next_run_at is None:
            continue
        try:
            if entry.next_run_at <= context.now():
                job = yield from _fire(context, entry, entry.next_run_at)
                submitted += [] if job is None else [job]
            elif _is_too_far_ahead(entry, entry.next_run_at, context.now()):
                yield from set_enabled(context, entry.name, True)
        except (JobError, LostRace) as error:
            _log.warning("could not run the schedule %s: %s", entry.name, error)
    return submitted


def new_schedule(
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
    """A validated schedule with its next run."""
    job = job_of(context, submission, context.now())
    check_time(name, cron, every, max_delay)
    if not is_name(name):
        raise BadSchedule(f"{name!r} is not a valid name of a schedule.", fix="Use 1 to 100 letters, digits and _ . : / -")
    for field in fields(Submission):
        if field.name not in _SCHEDULED and getattr(submission, field.name) != field.default:
            raise BadSchedule(
                f"The schedule {name} has a submission with {field.name}=, which its runs would not have.",
                fix="Leave it out. The handler of a run can submit jobs with any option.",
            )
    try:
        new = context.ledgers[0].schedule(
            name=name,
            job_type=job.job_type,
            job_config=job.job_config,
            cron=cron,
            every=every,
            timezone=timezone,
            overrides=[name for name in _OVERRIDES if getattr(submission, name) is not None],
            start_within=submission.start_within,
            enabled=enabled,
            max_delay=max_delay,
            **{name: getattr(job, name) for name in RUN_ATTRIBUTES - {"start_within"}},
        )
    except ValidationError as error:
        raise BadSchedule(f"The schedule {name} is invalid: {problem_message(error.errors()[0])}.") from None
    try:
        return new.model_copy(update={"next_run_at": next_run(new, context.now())})
    except OverflowError:
        raise BadSchedule(f"The next run of the schedule {name} is after the last date that the calendar has.") from None


def _store(context: QueueContext, new: Schedule) -> Flow[Schedule]:
    """Create or replace a schedule, keeping its history. Retried when another writer was faster."""
    delays = context.setup.delays()
    while True:
        current = yield from find_schedule(context, new.name)
        kept = {} if current is None else {name: getattr(current, name) for name in HISTORY}
        try:
            stored: Schedule = yield from put(in_place_of(current, new.model_copy(update=kept))).flow(context.setup)
        except ConditionFailed:
            delay = next(delays, None)
            if delay is None:
                raise
            yield Pause(delay)
        else:
            return stored


def in_place_of(current: Schedule | None, new: Schedule) -> Schedule:
    """The new schedule, in the ledger that has the current one."""
    return new if current is None else moved_to(type(current), new)


def _fire(context: QueueContext, due: Schedule, at: datetime) -> Flow[Job | None]:
    """Submit one run and set the next one, in a transaction that succeeds for one worker only. Returns None if the run was skipped."""
    now = context.now()
    first, at = at, latest_run(due, at, now)
    skipped = missed_runs(due, first, at)
    actions = [Schedule.next_run_at.set(next_run(due, now))]
    queue = due.queue or "default"
    state = yield from state_of(context, queue)
    job: Job | None = None
    writes: list[WriteOperation[Any]] = []
    if now - at <= timedelta(seconds=due.max_delay) and (state is None or state.mode != "draining"):
        job = _job_or_skip(context, due, at, now)
    if job is not None:
        actions += [Schedule.last_run_at.set(now), Schedule.last_job_id.set(job.job_id)]
        writes.append(create(job))
    else:
        skipped += 1
    if skipped:
        actions.append(Schedule.skipped.add(skipped))
    try:
        yield from transact([patch(due, *actions), *writes]).flow(context.setup)
    except (TransactionCanceled, ConditionFailed):
        # Another worker was faster.
        return None
    if job is not None:
        context.jobs.ready.notify(job.queue)
    return job


def _job_or_skip(context: QueueContext, due: Schedule, at: datetime, now: datetime) -> Job | None:
    """The job of a run; None if its handler no longer accepts the config."""
    job_id = uuid5(NAMESPACE_OID, f"schedule:{due.name}:{at.isoformat()}:{due.version}")
    submission = replace(run_submission(due, f"schedule:{due.name}"), job_id=job_id)
    try:
        return job_of(context, submission, now, handler=context.jobs.find(due.job_type) or _handler_elsewhere(due))
    except JobError as refused:
        _log.warning("skipped a run of the schedule %s: %s", due.name, refused)
        return None


def _handler_elsewhere(due: Schedule) -> Handler:
    """The handler of a job type that only other workers know, as far as the schedule knows it.

    The config was validated when the schedule was created.
    """
    retry = Retry() if due.max_retries is None else Retry(times=due.max_retries)
    queue, timeout = due.queue or Handler.queue, due.timeout_seconds or Handler.timeout
    return Handler(due.job_type, _unknown_here, queue=queue, priority=due.priority, retry=retry, timeout=timeout)


def _unknown_here(job: JobContext, config: Any) -> NoReturn:
    raise UnknownJobType(f"This program has no handler for {job.job.job_type}.")


def run_submission(schedule: Schedule, created_by: str) -> Submission:
    """The submission of a run."""
    kept = RUN_ATTRIBUTES - {name for name in _OVERRIDES if name not in schedule.overrides}
    options = {name: getattr(schedule, name) for name in kept}
    return Submission(schedule.job_type, schedule.job_config, created_by=created_by, **options)


def _is_too_far_ahead(entry: Schedule, due: datetime, now: datetime) -> bool:
    """Whether the next run is so late that only a clock that was ahead can have set it."""
    if due - now <= _MIN_AHEAD:
        return False
    if entry.cron is None:
        every = timedelta(seconds=entry.every or 0)
        return due - now > every + min(every, _MAX_AHEAD) + _MIN_AHEAD
    return due > _latest(entry.cron, entry.timezone, now.replace(second=0, microsecond=0))


@lru_cache(maxsize=1000)
def _latest(cron: str, timezone: str, minute: datetime) -> datetime:
    """The latest time that a correct clock sets as the next run of a cron expression in this minute."""
    times = parse_cron(cron, timezone)
    following = times.after(minute)
    return times.after(minute + min(times.after(following) - following, _MAX_AHEAD) + 2 * _MIN_AHEAD)


def next_run(schedule: Schedule, after: datetime) -> datetime:
    """The next run of a schedule after a time. Intervals are counted from the previous due time."""
    if schedule.cron is not None:
        return parse_cron(schedule.cron, schedule.timezone).after(after)
    if schedule.every is None:
        raise BadSchedule(f"The schedule {schedule.name} has neither cron fields nor an interval.")
    if schedule.next_run_at is None or schedule.next_run_at > after:
        return after + timedelta(seconds=schedule.every)
    missed = int((after - schedule.next_run_at).total_seconds() // schedule.every)
    return schedule.next_run_at + timedelta(seconds=schedule.every * (missed + 1))


def latest_run(schedule: Schedule, due: datetime, now: datetime) -> datetime:
    """The last of the runs that have become due: the one to make up for after an outage."""
    if schedule.cron is not None:
        return parse_cron(schedule.cron, schedule.timezone).latest(due, now)
    every = timedelta(seconds=schedule.every or 0)
    return due + (now - due) // every * every if every and now > due else due


def missed_runs(schedule: Schedule, due: datetime, at: datetime) -> int:
    """How many runs were due from `due` until before `at`; at most 1,000 are counted of a cron expression."""
    if schedule.cron is None:
        return (at - due) // timedelta(seconds=schedule.every) if schedule.every else 0
    times, moment, count = parse_cron(schedule.cron, schedule.timezone), due, 0
    while moment < at and count < _MOST_COUNTED:
        moment, count = times.after(moment), count + 1
    return count


def _store_declared(context: QueueContext, owner: str, declared: DeclaredSchedule) -> Flow[list[Schedule]]:
    """Store one declared schedule if it has changed."""
    submission = Submission(declared.job_type, declared.config, subject=declared.subject)
    new = new_schedule(
        context,
        declared.name,
        submission,
        cron=declared.cron,
        every=declared.every,
        timezone=declared.timezone,
        max_delay=declared.max_delay,
    ).model_copy(update={"declared_by": owner})
    delays = context.setup.delays()
    while True:
        current = yield from find_schedule(context, declared.name)
        merged = new if current is None else in_place_of(current, _merged(new, current))
        if merged == current:
            return []
        try:
            return [(yield from put(merged).flow(context.setup))]
        except ConditionFailed:
            delay = next(delays, None)
            if delay is None:
                raise
        yield Pause(delay)


def _merged(new: Schedule, current: Schedule) -> Schedule:
    """The declared schedule with the stored history and the operator's settings. The next run is kept unless the times have changed."""
    same = (new.cron, new.every, new.timezone) == (current.cron, current.every, current.timezone)
    kept = [*HISTORY, "enabled", "skipped", *(["next_run_at"] if same and current.undeclared_at is None else [])]
    return new.model_copy(update={name: getattr(current, name) for name in kept})


def _mark_undeclared(context: QueueContext, stored: Schedule) -> Flow[list[Schedule]]:
    try:
        return [(yield from patch(stored, Schedule.undeclared_at.set(context.now())).flow(context.setup))]
    except ConditionFailed:
        # Another process has marked it, or declares it again.
        return []
