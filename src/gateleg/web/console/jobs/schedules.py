"""The pages about schedules: the list with next runs and last outcomes, the runs of one, and its form.

The form of a schedule: its job, when it runs, and whether it is enabled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui
from pydantic import ValidationError

from gateleg.durations import duration
from gateleg.errors import problem_message
from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions.queues import (
    NewSchedule,
    ScheduleTarget,
    delete_schedule,
    disable_schedule,
    enable_schedule,
    put_schedule,
    run_schedule,
)
from gateleg.host.errors import NotAllowed
from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.jobs import BadConfig, Job, JobError, JobMissing, JobUnreadable
from gateleg.jobs.schedules import next_run, run_submission
from gateleg.jobs.tables import ArchivedJob
from gateleg.web.console.actions import act
from gateleg.web.console.cells import BY_STATUS, Badge, Column, Row, ago_cell, button_cell, chip, chip_cell, meta_cell, mono_cell
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import empty, refusal, trouble
from gateleg.web.console.forms import Field, guarded, open_after_save, problems_by_field, unguarded
from gateleg.web.console.frame import Crumb, View, frame
from gateleg.web.console.jobs.list_page import COLUMNS as JOB_COLUMNS
from gateleg.web.console.jobs.list_page import job_row
from gateleg.web.console.jobs.submit import SCHEDULE_OPTIONS, JobForm
from gateleg.web.console.jobs.topics import CRUMBS, section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, address, show_when_loaded
from gateleg.web.console.live import LiveIndicator, follow
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.tables import Schedule


ON, OFF = Badge("done", "Enabled", "event_available"), Badge("neutral", "Disabled", "event_busy")
#: its application has started without declaring it
UNDECLARED = Badge("neutral", "No longer declared", "event_busy")
#: The maximum number of runs listed.
_RUNS = 200
COLUMNS = (
    Column("name", "Schedule"),
    Column("state", "State"),
    Column("type", "Type"),
    Column("when", "When"),
    Column("next", "Next run"),
    Column("last", "Last run"),
    Column("skipped", "Skipped", right=True, desk=True),
    Column("deeds", "", right=True),
)


def upcoming(schedule: Schedule, now: datetime, count: int = 3) -> list[datetime]:
    """The next run times of a schedule; none while it is disabled or no longer declared."""
    if not schedule.active or schedule.next_run_at is None:
        return []
    times = [schedule.next_run_at]
    while len(times) < count:
        times.append(next_run(schedule.model_copy(update={"next_run_at": times[-1]}), max(times[-1], now)))
    return times


def when_text(schedule: Schedule) -> str:
    """When a schedule runs, in words or as a cron expression."""
    if schedule.every is not None:
        return f"every {duration(schedule.every)}"
    zone = "" if schedule.timezone == "UTC" else f" {schedule.timezone}"
    return f"{schedule.cron}{zone}"


@dataclass(frozen=True)
class ScheduleWithLastRun:
    """A schedule, and the job of its last run if it still exists."""

    schedule: Schedule
    last: Job | ArchivedJob | None = None


def schedule_row(listed: ScheduleWithLastRun, now: datetime, *, deeds: bool) -> Row:
    """A schedule in the list; its name opens its runs."""
    schedule, last = listed.schedule, listed.last
    times = upcoming(schedule, now)
    switch = button_cell("off", "Disable") if schedule.active else button_cell("on", "Enable")
    state = UNDECLARED if schedule.undeclared_at is not None else ON if schedule.enabled else OFF
    return Row(
        schedule.name,
        {
            "name": schedule.name,
            "state": chip_cell(state),
            "type": schedule.job_type,
            "when": mono_cell(when_text(schedule)) if schedule.cron else when_text(schedule),
            "next": ago_cell(times[0]) if times else meta_cell("disabled"),
            "last": [
                part if isinstance(part := ago_cell(schedule.last_run_at), dict) else meta_cell("never"),
                *([chip_cell(BY_STATUS[last.status], f"/jobs/{last.job_id}")] if last is not None else []),
            ],
            "skipped": str(schedule.skipped) if schedule.skipped else None,
            "deeds": [button_cell("run", "Run now"), button_cell("edit", "Edit"), switch, button_cell("remove", "Remove", look="danger")]
            if deeds
            else None,
        },
        href=address("/jobs/schedules/runs", {"name": schedule.name}),
    )


def schedules_topic(queue: AsyncQueue) -> Topic[list[ScheduleWithLastRun]]:
    """All schedules with their last runs."""
    archived: dict[UUID, ArchivedJob | None] = {}

    async def last_run(job_id: UUID, live: Mapping[UUID, Job]) -> Job | ArchivedJob | None:
        if job_id in live:
            return live[job_id]
        if job_id not in archived:
            # Archived jobs never change, so each is read once.
            archived[job_id] = await _archived(queue, job_id)
        return archived[job_id]

    async def read() -> list[ScheduleWithLastRun]:
        found = await queue.schedules()
        ids = [one.last_job_id for one in found if one.last_job_id is not None]
        live = {job.job_id: job for job in await queue.read_jobs(ids)} if ids else {}
        return [ScheduleWithLastRun(one, await last_run(one.last_job_id, live) if one.last_job_id is not None else None) for one in found]

    return Topic("schedules", read, every=3.0)


async def _archived(queue: AsyncQueue, job_id: UUID) -> ArchivedJob | None:
    try:
        found = await queue.get_or_archived(job_id)
    except (JobMissing, JobUnreadable):
        return None
    return found if isinstance(found, ArchivedJob) else None


async def runs_of(queue: AsyncQueue, schedule: Schedule) -> list[Job]:
    """The jobs in the queue that a schedule submitted, newest first."""
    mark = submitted_by(schedule.name)
    marked = await queue.jobs_where(lambda job: job.of_type(job_type=schedule.job_type).filter(Job.created_by.contains(mark)))
    found = [job for job in marked if job.created_by is not None and job.created_by.endswith(mark)]
    return sorted(found, key=lambda job: job.created_at, reverse=True)[:_RUNS]


def submitted_by(name: str) -> str:
    """The suffix of `created_by` for jobs of a schedule, after the name of a person who ran it manually."""
    return f"schedule:{name}"


def register() -> None:
    """Serve the schedules at `/jobs/schedules`, the runs of one at `/jobs/schedules/runs`, its form at `/jobs/schedules/edit`."""

    @ui.page("/jobs/schedules", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def schedules() -> None:
        with frame(title="Schedules", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/schedules", button=("Add a schedule", "/jobs/schedules/edit"))
            topic = schedules_topic(view.host.queue)
            await show_when_loaded(view.live.now(topic), lambda first: _list(view, topic, first, pulse), pulse=pulse)

    @ui.page("/jobs/schedules/runs")
    async def runs(name: str = "") -> None:
        crumbs = [*CRUMBS, Crumb("Schedules", "/jobs/schedules")]
        with frame(title=name, section="jobs", crumbs=crumbs, wide=True, titled=False) as view:
            schedule = {one.name: one for one in await view.host.queue.schedules()}.get(name)
            if schedule is None:
                empty("clock", "Schedule not found", f"There is no schedule named {name}.", button="All schedules", href="/jobs/schedules")
                return
            pulse = _runs_head(view, schedule)
            topic = Topic(("runs", name), partial(runs_of, view.host.queue, schedule), every=3.0)
            await show_when_loaded(view.live.now(topic), lambda first: _runs(view, topic, first, pulse), pulse=pulse)

    @ui.page("/jobs/schedules/edit", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def edit(name: str | None = None, type: str | None = None) -> None:
        crumbs = [*CRUMBS, Crumb("Schedules", "/jobs/schedules")]
        with frame(title=name or "Add a schedule", section="jobs", crumbs=crumbs) as view:
            if not view.may(Role.OPERATOR):
                trouble(refusal(Role.OPERATOR))
                return
            known = {one.name: one for one in await view.host.queue.schedules()}
            await schedule_form(view, known.get(name or ""), type)


def _list(view: View, topic: Topic[list[ScheduleWithLastRun]], first: list[ScheduleWithLastRun], pulse: LiveIndicator) -> None:
    operator = view.may(Role.OPERATOR)
    with tag("section", classes="card tight", aria_label="Schedules"):
        grid = Grid("Schedules", COLUMNS if operator else COLUMNS[:-1], complete=True, on_action=lambda name, verb: _act(view, name, verb))
        with tag("div") as nothing:
            sentence = "A schedule submits a job again and again, at a fixed interval or by a cron expression."
            add = {"button": "Add a schedule", "href": "/jobs/schedules/edit"} if operator else {}
            empty("clock", "No schedules", sentence, **add)

    def show(found: list[ScheduleWithLastRun]) -> None:
        grid.show([schedule_row(one, view.host.store.setup.now(), deeds=operator) for one in found])
        grid.set_visibility(bool(found))
        nothing.set_visibility(not found)

    show(first)
    follow(view.live, topic, show, pulse, known=first)


def edit_address(name: str) -> str:
    """The address of a schedule's form."""
    return address("/jobs/schedules/edit", {"name": name})


def _runs_head(view: View, schedule: Schedule) -> LiveIndicator:
    with tag("header", classes="head"):
        with tag("div", classes="titles"):
            with tag("div", classes="line gap-2"):
                tag("h1", schedule.name)
                chip(ON if schedule.enabled else OFF, large=True)
            tag("p", f"Submits {schedule.job_type}: {when_text(schedule)}", "meta")
        with tag("div", classes="deeds"):
            pulse = LiveIndicator()
            if view.may(Role.OPERATOR):
                tag("a", "Edit", "deed", href=edit_address(schedule.name))
    return pulse


def _runs(view: View, topic: Topic[list[Job]], first: list[Job], pulse: LiveIndicator) -> None:
    with tag("section", classes="card tight", aria_label="Runs"):
        grid = Grid("Runs", JOB_COLUMNS)
        with tag("div") as nothing:
            empty("clock", "No runs", "Runs are listed here until they are archived.", button="The archive", href="/jobs/archive")

    def show(found: list[Job]) -> None:
        grid.show([job_row(job) for job in found])
        grid.set_visibility(bool(found))
        nothing.set_visibility(not found)

    show(first)
    follow(view.live, topic, show, pulse, known=first)


_ACTIONS: dict[str, Action[ScheduleTarget, Any]] = {
    "run": run_schedule,
    "remove": delete_schedule,
    "on": enable_schedule,
    "off": disable_schedule,
}


async def _act(view: View, name: str, verb: str) -> None:
    if verb == "edit":
        ui.navigate.to(edit_address(name))
    else:
        await act(view, _ACTIONS[verb], ScheduleTarget(name=name))


async def schedule_form(view: View, schedule: Schedule | None, type: str | None) -> None:
    """Show the form of a schedule: a new one, or one to edit."""
    handlers = sorted(view.host.queue.context.jobs, key=lambda handler: handler.job_type)
    if not handlers:
        empty("box", "No job types", "Job types come with applications; no installed application has any.")
        return
    wanted = schedule.job_type if schedule is not None else type
    chosen = next((handler for handler in handlers if handler.job_type == wanted), handlers[0])
    with guarded(tag("section", classes="card stack gap-2 narrow", aria_label="When")), tag("div", classes="fields"):
        name = Field("Name", schedule.name if schedule else "", required=True, off=schedule is not None)
        kinds = Field(
            "Type",
            chosen.job_type,
            kind="choice",
            choices=[(handler.job_type, handler.job_type) for handler in handlers],
            on_change=lambda value: ui.navigate.to(f"/jobs/schedules/edit?type={value}"),
            off=schedule is not None,
        )
        unguarded(kinds)
        every = Field(
            "Every",
            str(schedule.every or "") if schedule else "",
            kind="number",
            least=1,
            hint="In seconds; leave empty to use cron",
        )
        hint = "Minute, hour, day, month, weekday: */15 8-18 * * mon-fri"
        cron = Field("Cron", (schedule.cron or "") if schedule else "", hint=hint)
        zone = Field("Time zone", schedule.timezone if schedule else "UTC", hint="For cron, such as Europe/Berlin")
        late = Field("Skip if later than", str(schedule.max_delay if schedule else 600), kind="number", least=0, hint="Seconds")
        enabled = Field("Enabled", schedule.enabled if schedule else True, kind="tick")
    form = JobForm(view.host.queue.context.jobs.of(str(kinds.value)), SCHEDULE_OPTIONS)
    run = None if schedule is None else run_submission(schedule, "")
    options = None if run is None else {option.name: getattr(run, option.name) for option in SCHEDULE_OPTIONS}
    form.build(schedule.job_config if schedule is not None else None, options)
    problem = tag("div", classes="fill")

    async def save() -> None:
        problem.clear()
        name.show_wrong(None if name.text else "This field is required.")
        try:
            job = form.read()
            if job is None or not name.text:
                return
            when = {
                "name": name.text,
                "cron": cron.text or None,
                "every": int(every.text) if every.text else None,
                "timezone": zone.text or "UTC",
                "max_delay": int(late.text or 600),
                "enabled": bool(enabled.value),
            }
            given = NewSchedule.model_validate(job | when)
            await perform(put_schedule, ActionCall(view.host, view.principal, view.request_id), given)
        except ValidationError as error:
            wrong = problems_by_field([{**part, "msg": problem_message(part)} for part in error.errors()])
            for asked, control in (("name", name), ("every", every), ("cron", cron), ("timezone", zone), ("max_delay", late)):
                control.show_wrong(wrong.get(asked))
            return
        except BadConfig as error:
            form.show_wrong(problems_by_field(error.problems), {})
            return
        except (JobError, NotAllowed, ValueError) as error:
            with problem:
                trouble(error)
            return
        open_after_save("/jobs/schedules")

    with tag("div", classes="line gap-1"):
        button("Save", save, icon="check", look="first")
        unguarded(tag("a", "Cancel", "deed", href="/jobs/schedules"))
