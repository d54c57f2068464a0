"""Submits a job with a form that is generated from its config model."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import ui
from pydantic import ValidationError

from gateleg.errors import problem_message
from gateleg.host.actions import ActionCall, perform
from gateleg.host.actions.jobs import NewJob, submit_job
from gateleg.host.errors import NotAllowed
from gateleg.host.principal import Role
from gateleg.jobs import BadConfig, JobError, JobMissing, JobUnreadable
from gateleg.jobs.submission import JobAttributes, RunAttributes
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import empty, refusal, trouble
from gateleg.web.console.forms import FormField, field_of, form_fields, guarded, open_after_save, problems_by_field, read_all, unguarded
from gateleg.web.console.frame import View, frame
from gateleg.web.console.jobs.topics import CRUMBS
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.jobs import Job
    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.web.console.forms import Field

#: The attributes of a job, and those of the runs of a schedule. The defaults of the job type apply to empty fields.
JOB_OPTIONS = tuple(form_fields(JobAttributes))
SCHEDULE_OPTIONS = tuple(form_fields(RunAttributes))
#: The attributes of a job that the form for another one like it is filled with.
_KEPT_OPTIONS = ("subject", "queue", "priority", "tags", "concurrency_key", "concurrency_limit")
_ANY_CONFIG = FormField("config", "Config", "json", "area", start="{}", hint="As JSON")


@dataclass
class JobForm:
    """The fields of a submission on a page, and reading them."""

    handler: Handler
    available: tuple[FormField, ...] = JOB_OPTIONS
    asked: list[FormField] = field(default_factory=list)
    fields: dict[str, Field] = field(default_factory=dict)
    options: dict[str, Field] = field(default_factory=dict)

    def build(self, config: Mapping[str, Any] | None, options: Mapping[str, Any] | None = None) -> None:
        """Add the fields to the page."""
        model = self.handler.config
        self.asked = form_fields(model, config) if model is not None else [_ANY_CONFIG]
        with guarded(tag("section", classes="card stack gap-2 narrow", aria_label="Config")):
            tag("h3", "Config")
            if model is not None and model.__doc__:
                tag("p", model.__doc__.strip().splitlines()[0], "meta")
            if not self.asked:
                tag("p", "This type of job needs no config.", "meta")
            with tag("div", classes="fields"):
                self.fields = {asked.name: field_of(asked) for asked in self.asked}
            if model is None and config:
                self.fields["config"].set(json.dumps(dict(config), indent=2, ensure_ascii=False))
        with guarded(tag("section", classes="card stack gap-2 narrow", aria_label="Options")):
            tag("h3", "Options")
            with tag("div", classes="fields"):
                self.options = {asked.name: field_of(asked, placeholder=self._usual(asked.name)) for asked in self.available}
            for name, value in (options or {}).items():
                if value not in (None, ""):
                    self.options[name].set("\n".join(map(str, value)) if isinstance(value, list) else str(value))

    def _usual(self, name: str) -> str:
        return str(self.handler.defaults.get(name, ""))

    def read(self) -> dict[str, Any] | None:
        """The job type, config and options as the input of an action. None if a field is invalid, which is then shown."""
        config, wrong = read_all(self.asked, {name: one.value for name, one in self.fields.items()})
        options, odd = read_all(self.available, {name: one.value for name, one in self.options.items()})
        self.show_wrong(wrong, odd)
        if wrong or odd:
            return None
        given = config.get("config", {}) if self.handler.config is None else config
        if not isinstance(given, dict):
            self.show_wrong({"config": "Enter a JSON object: { ... }"}, {})
            return None
        model = JobAttributes if self.available is JOB_OPTIONS else RunAttributes
        try:
            attributes = model.model_validate(options)
        except ValidationError as error:
            self.show_wrong({}, problems_by_field([{**problem, "msg": problem_message(problem)} for problem in error.errors()]))
            return None
        return {"job_type": self.handler.job_type, "config": given, **attributes.model_dump(exclude_unset=True)}

    def show_wrong(self, config: Mapping[str, str], options: Mapping[str, str]) -> None:
        """Show the problems at their fields."""
        for name, one in self.fields.items():
            one.show_wrong(config.get(name))
        for name, one in self.options.items():
            one.show_wrong(options.get(name))


def register() -> None:
    """Serve the form at `/jobs/submit`."""

    @ui.page("/jobs/submit", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def submit(type: str | None = None, like: str | None = None) -> None:
        with frame(title="Submit a job", section="jobs", crumbs=CRUMBS) as view:
            if not view.may(Role.OPERATOR):
                trouble(refusal(Role.OPERATOR))
                return
            before = await _before(view, like)
            handlers = sorted(view.host.queue.context.jobs, key=lambda handler: handler.job_type)
            if not handlers:
                empty("box", "No job types", "Job types come with applications; no installed application has any.")
                return
            wanted = before.job_type if before is not None else type
            chosen = next((handler for handler in handlers if handler.job_type == wanted), handlers[0])
            _choose(handlers, chosen)
            form = JobForm(chosen)
            options = {name: getattr(before, name, None) for name in _KEPT_OPTIONS} if before is not None else None
            form.build(before.job_config if before is not None else None, options)
            _end(view, form)


async def _before(view: View, like: str | None) -> Job | ArchivedJob | None:
    """The job that is to be submitted again."""
    try:
        return None if like is None else await view.host.queue.get_or_archived(UUID(like))
    except (ValueError, JobMissing, JobUnreadable):
        return None


def _choose(handlers: list[Handler], chosen: Handler) -> None:
    with tag("form", action="/jobs/submit", method="get", classes="card stack gap-1 narrow"):
        with tag("label", classes="field"):
            tag("span", "Type", "name")
            with tag("select", classes="box", name="type", data_submits=""):
                for handler in handlers:
                    tag("option", handler.job_type, value=handler.job_type, selected=True if handler is chosen else None)
        about = (chosen.handle.__doc__ or "").strip().splitlines()
        if about:
            tag("p", about[0], "meta")


def _end(view: View, form: JobForm) -> None:
    problem = tag("div", classes="fill")

    async def go() -> None:
        problem.clear()
        try:
            given = form.read()
            if given is None:
                return
            call = ActionCall(view.host, view.principal, view.request_id)
            made = await perform(submit_job, call, NewJob.model_validate(given))
        except BadConfig as error:
            found = problems_by_field(error.problems)
            form.show_wrong(found, {})
            if not set(found) & set(form.fields):
                with problem:
                    trouble(error)
            return
        except (JobError, NotAllowed) as error:
            with problem:
                trouble(error)
            return
        open_after_save(f"/jobs/{made.job.job_id}")

    with tag("div", classes="line gap-1"):
        button("Submit", go, icon="send", look="first")
        unguarded(tag("a", "Cancel", "deed", href="/jobs"))
