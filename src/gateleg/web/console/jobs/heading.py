"""The header of a job's page: type, state, age, progress, and actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import ui

from gateleg.durations import duration
from gateleg.web.console.actions import button, carry_out
from gateleg.web.console.badges import chip
from gateleg.web.console.confirm import confirm
from gateleg.web.console.dialogs import sheet
from gateleg.web.console.fields import Field
from gateleg.web.console.ids import short_id
from gateleg.web.console.jobs.actions import may_cancel, may_force, may_prioritise, may_retry
from gateleg.web.console.jobs.filters import Filters
from gateleg.web.console.jobs.trees import tree_badge
from gateleg.web.console.live import LiveIndicator
from gateleg.web.console.markup import tag
from gateleg.web.console.redraw_cache import RedrawCache
from gateleg.web.console.times import ago, since
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.jobs import Job
    from gateleg.jobs.monitor import Branch
    from gateleg.web import Found
    from gateleg.web.console.badges import Badge
    from gateleg.web.console.frame import View
    from gateleg.web.console.jobs.job_details import JobDetails


class Heading:
    """The header of the page. `show` redraws it when something has changed."""

    def __init__(self, view: View, details: JobDetails, branch: Branch | None, subject: Found | None = None) -> None:
        self._view = view
        self._subject = subject
        self._parts = RedrawCache()
        with tag("header", classes="stack gap-2"):
            with tag("div", classes="head"):
                self._titles = tag("div", classes="titles")
                with tag("div", classes="deeds"):
                    self.pulse = LiveIndicator()
                    self._actions = tag("div", classes="deeds")
            self._below = tag("div", classes="stack gap-1")
        self.show(details, branch)

    def show(self, details: JobDetails, branch: Branch | None) -> None:
        """Redraw what has changed and leave the rest: redrawing a button while it is pressed loses the click."""
        moments = (details.started_at, details.completed_at, details.archived_at)
        badge = details.badge if branch is None or not branch.children else tree_badge(branch, details.badge)
        words = branch.summary if branch is not None and branch.children else ""
        self._branch = branch
        self._parts.draw(
            self._titles, (badge, words, moments, details.retry_count, details.tags), lambda: self._draw_titles(details, badge, words)
        )
        below = open_below(details, branch)
        if self._view.may(Role.OPERATOR):
            self._parts.draw(self._actions, offered(details, below), lambda: self._offer(details, below))
        self._parts.draw(self._below, (details.archived_at, details.progress, details.status), lambda: _draw_below(details))

    def _draw_titles(self, details: JobDetails, badge: Badge, words: str) -> None:
        with tag("div", classes="line gap-2"):
            tag("h1", details.title)
            chip(badge, large=True)
            if words:
                tag("span", words, "meta")
        _facts(details, self._subject)

    def _offer(self, details: JobDetails, below: bool) -> None:
        if details.job is not None:
            self._offer_for(details.job, below)
        elif details.retryable:
            button("Retry", self.retry, icon="replay", look="first")
        with tag("a", classes="deed", href=f"/jobs/submit?like={details.job_id}"):
            ui.icon("content_copy")
            tag("span", "Submit again")

    def _offer_for(self, job: Job, below: bool) -> None:
        if may_prioritise(job):
            button(f"Priority {job.priority}", lambda: self._ask_priority(job), icon="low_priority")
        if may_retry(job):
            button("Retry", self.retry, icon="replay", look="first")
        if may_force(job):
            button("Stop now", lambda: self._force(job), icon="dangerous", look="danger")
        if below:
            button("Cancel tree", self._cancel_below, icon="cancel", look="danger")
        elif may_cancel(job):
            queue = self._view.host.queue
            button("Cancel", lambda: self._do("job.cancel", lambda: queue.cancel(job.job_id), "Cancelled"), icon="cancel", look="danger")

    async def _do(self, action: str, act: Callable[[], Awaitable[object]], done: str, *, on: UUID | None = None, **details: Any) -> None:
        view, job_id = self._view, str(on or self._view.request.path_params["job_id"])

        async def work() -> None:
            await act()
            await view.host.audit.note(view.principal, action, job_id, **details)

        if await carry_out(view, Role.OPERATOR, work, done):
            view.live.refresh_all()

    async def retry(self) -> None:
        """Retry the job."""
        job_id = UUID(str(self._view.request.path_params["job_id"]))
        await self._do("job.retry", lambda: self._view.host.queue.retry(job_id), "The job waits for a worker again")

    async def _cancel_below(self) -> None:
        if self._branch is not None:
            await self.cancel_tree(self._branch)

    async def cancel_tree(self, branch: Branch) -> None:
        """Confirm, and cancel a job with all unfinished jobs below it."""
        count = branch.unfinished
        loss = f"{count:,} {'job that has' if count == 1 else 'jobs that have'} not ended {'is' if count == 1 else 'are'} cancelled."
        if await confirm("Cancel the whole tree?", loss, verb="Cancel all"):
            cancel = self._view.host.queue.cancel_tree
            await self._do("job.cancel-tree", lambda: cancel(branch.job_id), "The tree was cancelled", on=branch.job_id)

    async def _force(self, job: Job) -> None:
        loss = "The worker was asked to stop, but has not done so yet. Unsaved work of this attempt will be lost."
        if await confirm("Take the job from its worker?", loss, verb="Stop now"):
            await self._do("job.cancel", lambda: self._view.host.queue.cancel(job.job_id, force=True), "Stopped", force=True)

    async def _ask_priority(self, job: Job) -> None:
        with sheet("Priority") as dialog:
            tag("p", "From 0 to 100. Jobs with a higher priority start first.", "meta")
            wanted = Field("Priority", str(job.priority), kind="number", least=0, most=100, on_enter=lambda: dialog.submit(wanted.text))
            with tag("div", classes="deeds"):
                button("Cancel", lambda: dialog.submit(None))
                button("Set", lambda: dialog.submit(wanted.text), look="first")
        answer = await dialog
        dialog.delete()
        if isinstance(answer, str) and answer.isdigit() and int(answer) <= 100:
            queue = self._view.host.queue
            await self._do("job.priority", lambda: queue.set_priority(job.job_id, int(answer)), f"Priority {answer}", priority=int(answer))


def open_below(details: JobDetails, branch: Branch | None) -> bool:
    """Whether jobs below a job are unfinished; the job itself may have finished long ago."""
    return branch is not None and branch.unfinished > (0 if details.finished else 1)


def offered(details: JobDetails, below: bool = False) -> tuple[object, ...]:
    """The available actions of a job: the buttons are redrawn only if they change."""
    job = details.job
    return (
        (details.retryable,) if job is None else (may_prioritise(job), job.priority, may_retry(job), may_force(job), may_cancel(job), below)
    )


def _draw_below(details: JobDetails) -> None:
    if details.archived_at is not None:
        with tag("div", classes="note"):
            tag("span", "This job is in the archive: it can be read, and submitted again; a failed or cancelled one can be retried.")
    _progress(details)


def _facts(details: JobDetails, subject: Found | None) -> None:
    with tag("div", classes="job-meta"):
        short_id(str(details.job_id))
        if details.subject is not None:
            with tag("span"):
                tag("span", "about")
                jobs = Filters(subject=details.subject).address()
                if subject is None:
                    tag("a", details.subject, "link", href=jobs)
                else:
                    tag("a", subject.title, "link", href=subject.href, title=f"{subject.kind} {details.subject}")
                    tag("a", "all its jobs", "link meta", href=jobs)
        with tag("span"):
            tag("span", "in")
            tag("a", details.queue, "link", href=Filters(queue=details.queue).address())
        with tag("span"):
            tag("span", "submitted")
            ago(details.created_at)
            if details.created_by:
                tag("span", f"by {details.created_by}")
        if details.status == "PROCESSING" and details.started_at is not None:
            with tag("span"):
                tag("span", "running for")
                since(details.started_at)
        elif details.run_seconds is not None:
            with tag("span"):
                tag("span", "took")
                tag("span", duration(details.run_seconds), "num")
        if details.retry_count:
            tag("span", f"retried {details.retry_count} time{'' if details.retry_count == 1 else 's'}")
        for word in details.tags:
            tag("a", word, "plain-chip", href=Filters(tag=word).address())


def _progress(details: JobDetails) -> None:
    if details.status != "PROCESSING":
        return
    part = None if details.progress is None else details.progress.fraction
    with tag("div", classes="progress-line"):
        percent = None if part is None else round(part * 100)
        with tag("span", classes="bar unsure" if part is None else "bar", role="progressbar", aria_label="Progress", aria_valuenow=percent):
            tag("span").style(f"width:{percent or 0}%")
        if details.progress is not None:
            tag("span", f"{percent}%", "num strong")
            tag("span", details.progress.message, "meta")
