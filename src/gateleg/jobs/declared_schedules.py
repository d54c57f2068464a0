"""Schedules that applications declare in their code, and that a host stores at startup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.jobs.errors import BadSchedule
from gateleg.jobs.schedules import HISTORY, find_schedule, in_place_of, new_schedule, schedules
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.records import Schedule
from gateleg.store import ConditionFailed, patch, put
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.handlers import DeclaredSchedule
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow


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
