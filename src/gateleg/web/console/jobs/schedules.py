"""The page about schedules: what runs when, with the next runs; making, changing, switching and running one now."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.jobs import BadConfig, JobError, Submission
from gateleg.jobs.schedules import next_run
from gateleg.web.console.badges import Look
from gateleg.web.console.cells import Column, Row, ago_cell, chip_cell, deed_cell, meta_cell, mono_cell
from gateleg.web.console.confirm import confirm
from gateleg.web.console.deeds import carry_out, deed
from gateleg.web.console.empty import empty
from gateleg.web.console.failures import refusal, trouble
from gateleg.web.console.fields import Field
from gateleg.web.console.forms import problems_by_field
from gateleg.web.console.frame import View, frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.jobs.places import CRUMBS, section_head
from gateleg.web.console.jobs.submit import JobForm
from gateleg.web.console.leaving import guarded, leave_to, unguarded
from gateleg.web.console.live import Pulse, Topic, follow
from gateleg.web.console.markup import tag
from gateleg.web.console.navigation import Crumb
from gateleg.web.console.patience import PATIENT, show_when_there
from gateleg.web.console.times import duration
from gateleg.web.errors import NotAllowed
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.jobs import AsyncQueue, Schedule

ON, OFF = Look("done", "On", "event_available"), Look("neutral", "Off", "event_busy")
#: its application has started without it
UNDECLARED = Look("neutral", "No longer declared", "event_busy")
COLUMNS = (
    Column("name", "Schedule"),
    Column("state", "State"),
    Column("type", "Type"),
    Column("when", "When"),
    Column("next", "Next run"),
    Column("then", "Then", desk=True),
    Column("last", "Last run"),
    Column("skipped", "Left out", right=True, desk=True),
    Column("deeds", "", right=True),
)


def upcoming(schedule: Schedule, now: datetime, count: int = 3) -> list[datetime]:
    """The next times that a schedule is due; none while it is off or no longer declared."""
    if not schedule.active or schedule.next_run_at is None:
        return []
    times = [schedule.next_run_at]
    while len(times) < count:
        times.append(next_run(schedule.model_copy(update={"next_run_at": times[-1]}), max(times[-1], now)))
    return times


def when_text(schedule: Schedule) -> str:
    """When a schedule runs, in words or in the fields of cron."""
    if schedule.every is not None:
        return f"every {duration(schedule.every)}"
    zone = "" if schedule.timezone == "UTC" else f" {schedule.timezone}"
    return f"{schedule.cron}{zone}"


def schedule_row(schedule: Schedule, now: datetime, *, deeds: bool) -> Row:
    """A schedule in the list; it opens its form."""
    times = upcoming(schedule, now)
    switch = deed_cell("off", "Switch off") if schedule.active else deed_cell("on", "Switch on")
    state = UNDECLARED if schedule.undeclared_at is not None else ON if schedule.enabled else OFF
    return Row(
        schedule.name,
        {
            "name": schedule.name,
            "state": chip_cell(state),
            "type": schedule.job_type,
            "when": mono_cell(when_text(schedule)) if schedule.cron else when_text(schedule),
            "next": ago_cell(times[0]) if times else meta_cell("not while it is off"),
            "then": [part for time in times[1:] if isinstance(part := ago_cell(time), dict)],
            "last": ago_cell(schedule.last_run_at) or meta_cell("never"),
            "skipped": str(schedule.skipped) if schedule.skipped else None,
            "deeds": [deed_cell("run", "Run now"), switch, deed_cell("remove", "Remove", look="danger")] if deeds else None,
        },
        href=f"/jobs/schedules/edit?name={schedule.name}" if deeds else None,
    )


def schedules_topic(queue: AsyncQueue) -> Topic[list[Schedule]]:
    """All schedules."""
    return Topic("schedules", queue.schedules, every=3.0)


def register() -> None:
    """Serve the schedules at `/jobs/schedules`, and the form of one at `/jobs/schedules/edit`."""

    @ui.page("/jobs/schedules", response_timeout=PATIENT)
    async def schedules() -> None:
        with frame(title="Schedules", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            pulse = section_head(view, "/jobs/schedules", deed=("Add a schedule", "/jobs/schedules/edit"))
            topic = schedules_topic(view.host.queue)
            await show_when_there(view.live.now(topic), lambda first: _list(view, topic, first, pulse), pulse=pulse)

    @ui.page("/jobs/schedules/edit", response_timeout=PATIENT)
    async def edit(name: str | None = None, type: str | None = None) -> None:
        crumbs = [*CRUMBS, Crumb("Schedules", "/jobs/schedules")]
        with frame(title=name or "Add a schedule", section="jobs", crumbs=crumbs) as view:
            if not view.may(Role.OPERATOR):
                trouble(refusal(Role.OPERATOR))
                return
            known = {one.name: one for one in await view.host.queue.schedules()}
            await _form(view, known.get(name or ""), type)


def _list(view: View, topic: Topic[list[Schedule]], first: list[Schedule], pulse: Pulse) -> None:
    operator = view.may(Role.OPERATOR)
    with tag("section", classes="card tight", aria_label="Schedules"):
        grid = Grid("Schedules", COLUMNS if operator else COLUMNS[:-1], on_deed=lambda name, verb: _act(view, name, verb))
        with tag("div") as nothing:
            sentence = "A schedule submits a job again and again: every so many seconds, or at the times of cron."
            add = {"button": "Add a schedule", "href": "/jobs/schedules/edit"} if operator else {}
            empty("clock", "No schedules", sentence, **add)

    def show(found: list[Schedule]) -> None:
        grid.show([schedule_row(one, view.host.store.setup.now(), deeds=operator) for one in found])
        grid.set_visibility(bool(found))
        nothing.set_visibility(not found)

    show(first)
    follow(view.live, topic, show, pulse, known=first)


async def _act(view: View, name: str, verb: str) -> None:
    queue = view.host.queue

    async def work() -> Any:
        if verb == "run":
            one = next(found for found in await queue.schedules() if found.name == name)
            submission = Submission(one.job_type, one.job_config, queue=one.queue, priority=one.priority, subject=one.subject)
            await queue.submit(replace(submission, created_by=f"{view.principal.name}, for the schedule {name}"))
        elif verb == "remove":
            await queue.unschedule(name)
        else:
            await queue.set_enabled(name, verb == "on")
        await view.host.audit.note(view.principal, f"schedule.{verb}", name)

    loss = "It submits nothing any more. Jobs that it has submitted stay."
    if verb == "remove" and not await confirm(f"Remove {name}?", loss, verb="Remove"):
        return
    said = {"run": "Submitted", "remove": f"{name} is removed", "on": f"{name} is on", "off": f"{name} is off"}
    if await carry_out(view, Role.OPERATOR, work, said[verb]):
        view.live.hurry("schedules")


async def _form(view: View, schedule: Schedule | None, type: str | None) -> None:
    handlers = sorted(view.host.queue.context.jobs, key=lambda handler: handler.job_type)
    if not handlers:
        empty("box", "No job types", "Applications bring their own types of jobs; none is installed on this host.")
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
        every = Field("Every", str(schedule.every or "") if schedule else "", kind="number", least=1, hint="Seconds; or else cron")
        hint = "Minute, hour, day, month, weekday: */15 8-18 * * mon-fri"
        cron = Field("Cron", (schedule.cron or "") if schedule else "", hint=hint)
        zone = Field("Time zone", schedule.timezone if schedule else "UTC", hint="Of the cron fields, such as Europe/Berlin")
        late = Field("Leave out when later than", str(schedule.max_delay if schedule else 600), kind="number", least=0, hint="Seconds")
    form = JobForm(view.host.queue.context.jobs.of(str(kinds.value)))
    options = {"subject": schedule.subject, "queue": schedule.queue, "priority": schedule.priority} if schedule is not None else None
    form.build(schedule.job_config if schedule is not None else None, options)
    problem = tag("div", classes="fill")

    async def save() -> None:
        problem.clear()
        submission = form.read()
        name.show_wrong(None if name.text else "This is needed.")
        if submission is None or not name.text:
            return
        try:
            view.require(Role.OPERATOR)
            await view.host.queue.schedule(
                name.text,
                submission,
                cron=cron.text or None,
                every=int(every.text) if every.text else None,
                timezone=zone.text or "UTC",
                max_delay=int(late.text or 600),
                enabled=schedule.enabled if schedule is not None else True,
            )
        except BadConfig as error:
            form.show_wrong(problems_by_field(error.problems), {})
            return
        except (JobError, NotAllowed, ValueError) as error:
            with problem:
                trouble(error)
            return
        await view.host.audit.note(view.principal, "schedule.save", name.text)
        leave_to("/jobs/schedules")

    with tag("div", classes="line gap-1"):
        deed("Save", save, icon="check", look="first")
        unguarded(tag("a", "Leave it", "deed", href="/jobs/schedules"))
