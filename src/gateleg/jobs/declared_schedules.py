"""Schedules that applications declare in their code, written to the store when a host starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.jobs.errors import BadSchedule
from gateleg.jobs.schedules import HISTORY, drafted, schedules
from gateleg.jobs.submit.submission import Submission
from gateleg.jobs.tables.records import Schedule
from gateleg.store import ConditionFailed, find, patch, put
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.jobs.handlers import DeclaredSchedule
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow


def declare_schedules(context: QueueContext, declared: Mapping[str, Sequence[DeclaredSchedule]] | None = None) -> Flow[list[Schedule]]:
    """Write the schedules that applications declare in their code, by the name of the application; those of the queue's `Jobs` by default.

    Done again it changes nothing, and any number of processes may do it at once. What an operator has switched off stays off. A schedule
    that its application no longer declares is kept with its history, marked as such, and does not run; switching it on makes it an
    ordinary schedule. The schedules that were written or marked.
    """
    wanted = {"": context.jobs.schedules} if declared is None else declared
    names = [one.name for own in wanted.values() for one in own]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadSchedule(f"Two applications declare a schedule {twice}.", fix="Give one of them another name=.")
    changed: list[Schedule] = []
    for owner, own in wanted.items():
        for one in own:
            changed += yield from _declared(context, owner, one)
    for stored in (yield from schedules(context)):
        if stored.declared_by in wanted and stored.name not in names and stored.undeclared_at is None:
            changed += yield from _undeclared(context, stored)
    return changed


def _declared(context: QueueContext, owner: str, one: DeclaredSchedule) -> Flow[list[Schedule]]:
    """Write one declared schedule, unless it is there as it is declared."""
    submission = Submission(one.job_type, one.config, subject=one.subject)
    made = drafted(context, one.name, submission, cron=one.cron, every=one.every, timezone=one.timezone, max_delay=one.max_delay)
    made = made.model_copy(update={"declared_by": owner})
    delays = context.setup.delays()
    while True:
        current = yield from find(context.tables.schedule, name=one.name, consistent=True).flow(context.setup)
        merged = made if current is None else _merged(made, current)
        if merged == current:
            return []
        try:
            return [(yield from put(merged).flow(context.setup))]
        except ConditionFailed:
            delay = next(delays, None)
            if delay is None:
                raise
        yield Pause(delay)


def _merged(made: Schedule, current: Schedule) -> Schedule:
    """What is declared, with what has happened and what an operator has chosen; its next run stays unless its times have changed."""
    same = (made.cron, made.every, made.timezone) == (current.cron, current.every, current.timezone)
    kept = [*HISTORY, "enabled", "skipped", *(["next_run_at"] if same and current.undeclared_at is None else [])]
    return made.model_copy(update={name: getattr(current, name) for name in kept})


def _undeclared(context: QueueContext, stored: Schedule) -> Flow[list[Schedule]]:
    try:
        return [(yield from patch(stored, Schedule.undeclared_at.set(context.now())).flow(context.setup))]
    except ConditionFailed:
        # Another process has written it meanwhile: it marks it too, or has declared it again.
        return []
