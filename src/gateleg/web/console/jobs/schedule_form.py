"""The form of a schedule: its job, when it runs, and whether it is enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import BadConfig, JobError
from gateleg.jobs.schedules import run_submission
from gateleg.web.console.actions import button
from gateleg.web.console.empty import empty
from gateleg.web.console.failures import trouble
from gateleg.web.console.fields import Field
from gateleg.web.console.forms import problems_by_field
from gateleg.web.console.jobs.submit import SCHEDULE_OPTIONS, JobForm
from gateleg.web.console.markup import tag
from gateleg.web.console.unsaved_input import guarded, open_after_save, unguarded
from gateleg.web.errors import NotAllowed
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.jobs.tables import Schedule
    from gateleg.web.console.frame import View


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
            submission = form.read()
            if submission is None or not name.text:
                return
            view.require(Role.OPERATOR)
            await view.host.queue.schedule(
                name.text,
                submission,
                cron=cron.text or None,
                every=int(every.text) if every.text else None,
                timezone=zone.text or "UTC",
                max_delay=int(late.text or 600),
                enabled=bool(enabled.value),
            )
        except BadConfig as error:
            form.show_wrong(problems_by_field(error.problems), {})
            return
        except (JobError, NotAllowed, ValueError) as error:
            with problem:
                trouble(error)
            return
        await view.host.audit.note(view.principal, "schedule.save", name.text)
        open_after_save("/jobs/schedules")

    with tag("div", classes="line gap-1"):
        button("Save", save, icon="check", look="first")
        unguarded(tag("a", "Cancel", "deed", href="/jobs/schedules"))
