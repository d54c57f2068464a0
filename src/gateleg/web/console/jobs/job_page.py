"""The page of a job: its header, its tree on the left, its tabs on the right.

The header of a job's page: type, state, age, progress, and actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import context, ui

from gateleg.durations import duration
from gateleg.host.actions.jobs import CancelJob, JobPriority, JobTarget, cancel_job, cancel_tree, retry_job, set_priority
from gateleg.host.principal import Role
from gateleg.jobs import JobMissing, JobUnreadable
from gateleg.web.console.actions import act
from gateleg.web.console.cells import BY_STATUS, chip
from gateleg.web.console.dialogs import button, sheet
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import Field
from gateleg.web.console.frame import Tabs, View, current_view, frame
from gateleg.web.console.jobs import job_panels
from gateleg.web.console.jobs.actions import may_cancel, may_force, may_prioritise, may_retry
from gateleg.web.console.jobs.job_details import JobDetails, job_details
from gateleg.web.console.jobs.list_page import Filters
from gateleg.web.console.jobs.topics import CRUMBS, JobWithLog, LabelledTree, job_topic, tree_topic
from gateleg.web.console.jobs.trees import TreeDrawing, found_in, tree_badge, tree_html
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.live import LiveIndicator, RedrawCache, follow
from gateleg.web.console.markup import ago, short_id, shortened, since, tag

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.host import Found
    from gateleg.host.host import Host
    from gateleg.host.live import Topic
    from gateleg.jobs import Job
    from gateleg.jobs.monitor import Branch
    from gateleg.web.console.cells import Badge


def register() -> None:
    """Serve a job at `/jobs/{job_id}`."""

    @ui.page("/jobs/{job_id}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def job(job_id: str, tab: str | None = None, tree: str | None = None) -> None:
        console = current_view()
        try:
            known = UUID(job_id)
        except ValueError:
            # Other programs may write any text.
            bad = await console.host.queue.find_set_aside(job_id)
            _missing(job_id) if bad is None else _unreadable(console.host, job_id, bad.reason)
            return
        topic = job_topic(console.host.queue, known)
        try:
            story = await console.host.events.now(topic)
        except JobMissing:
            _missing(job_id)
            return
        except JobUnreadable as error:
            _unreadable(console.host, job_id, error.message)
            return
        details = job_details(story.job)
        with frame(title=details.title, section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            await _Page(view, topic, story, details).build(tab, whole_tree=tree == "whole")


def _missing(job_id: str) -> None:
    context.client.status_code = 404
    with frame(title="Job not found", section="jobs", crumbs=CRUMBS, titled=False):
        tag("h1", "Job not found", "sr")
        sentence = f"Job {job_id[:60]} is neither in the queue nor in the archive."
        empty("search", "Job not found", sentence, button="All jobs", href="/jobs")


def _unreadable(host: Host, job_id: str, reason: str) -> None:
    context.client.status_code = 409
    table = host.queue.context.queue_table_name
    with frame(title="Job is unreadable", section="jobs", crumbs=CRUMBS, titled=False):
        tag("h1", "Job is unreadable", "sr")
        sentence = f"{reason.rstrip('.')}. Correct or delete the item {job_id[:60]} in the table {table}; all other jobs go on."
        empty("search", "This item is not a valid job", sentence, button="Open the table", href=f"/tables/{table}")


class _Page:
    """One open page of a job."""

    def __init__(self, view: View, topic: Topic[JobWithLog], story: JobWithLog, details: JobDetails) -> None:
        self.view, self.topic, self.story, self.details = view, topic, story, details
        self._update: Callable[[JobWithLog, JobDetails], None] | None = None
        self._shown_failure: object = None
        self._shown_facts: object = None
        self._leave: Callable[[], None] = lambda: None

    async def build(self, tab: str | None, *, whole_tree: bool) -> None:
        topic = tree_topic(self.view.host.queue, self.details.root or self.details.job_id)
        self.tree = await self.view.live.now(topic)
        subject = await self.view.host.subject_of(self.view.principal, self.story.job)
        self.heading = Heading(self.view, self.details, self._branch(), subject)
        self._failure = tag("div", classes="fill")
        self._show_failure()
        with tag("div", classes="beside"):
            with tag("div", classes="stack gap-2"):
                self._show_tree(topic, whole=whole_tree)
                self._facts = tag("section", classes="card", aria_label="Facts")
                self._show_facts()
            with tag("div", classes="stack gap-2"):
                await Tabs(job_panels.TABS, tab, self._panel).start()
        follow(self.view.live, self.topic, self._show, self.heading.pulse, known=self.story)

    async def _panel(self, key: str) -> None:
        self._update = None
        self._leave()
        if key == "timeline":
            self._update = job_panels.timeline_panel(self.view, self.story, self.details)
        elif key == "artifacts":
            await job_panels.artifacts_panel(self.view, self.story, self.details)
        elif key == "graph":
            self._leave = await job_panels.graph_panel(self.view, self.story, self.details)
        else:
            simple = {"config": job_panels.config_panel, "result": job_panels.result_panel, "raw": job_panels.raw_panel}
            simple[key](self.view, self.story, self.details)
            self._update = self._updater(simple[key], self.details)

    def _updater(
        self, panel: Callable[[View, JobWithLog, JobDetails], None], drawn: JobDetails
    ) -> Callable[[JobWithLog, JobDetails], None]:
        """A function that redraws a panel if the status or the results of the job have changed."""
        box = context.slot.parent

        def show(story: JobWithLog, details: JobDetails) -> None:
            nonlocal drawn
            if (details.status, details.results) != (drawn.status, drawn.results):
                drawn = details
                box.clear()
                with box:
                    panel(self.view, story, details)

        return show

    def _show(self, story: JobWithLog) -> None:
        self.story, self.details = story, job_details(story.job)
        self.heading.show(self.details, self._branch())
        self._show_failure()
        self._show_facts()
        if self._update is not None:
            self._update(story, self.details)

    def _show_failure(self) -> None:
        key = (self.details.failure, self.details.status)
        if key == self._shown_failure:
            return
        self._shown_failure = key
        self._failure.clear()
        with self._failure:
            job_panels.failure_note(self.story, self.details)

    def _branch(self) -> Branch | None:
        """The job with everything that it started."""
        return None if self.tree is None else found_in(self.tree.branch, self.details.job_id)

    def _show_facts(self) -> None:
        details = self.details
        key = (
            details.status,
            details.attempt,
            details.priority,
            details.worker_id,
            details.started_at,
            details.completed_at,
            details.dependents,
        )
        if key == self._shown_facts:
            return
        self._shown_facts = key
        self._facts.clear()
        with self._facts, tag("dl", classes="facts"):
            _fact("State", details.badge.word)
            _fact("Attempts", str(details.attempt))
            if details.max_retries is not None:
                # Attempts that a worker released, or that were lost with it, are not retries.
                _fact("Retries", f"{details.retry_count} of {details.max_retries}")
            _fact("Priority", str(details.priority))
            if details.worker_id:
                _fact("Worker", details.worker_id)
            for name, moment in (("Started", details.started_at), ("Ended", details.completed_at), ("Archived", details.archived_at)):
                if moment is not None:
                    tag("dt", name)
                    with tag("dd"):
                        ago(moment)
            if details.parent is not None:
                tag("dt", "Submitted by")
                with tag("dd"):
                    tag("a", shortened(str(details.parent)), "link", href=f"/jobs/{details.parent}")
            if details.cancel_reason:
                _fact("Reason for cancelling", details.cancel_reason)
            for name, count in (("Depends on", len(details.dependencies)), ("Dependents", len(details.dependents))):
                if count:
                    tag("dt", name)
                    with tag("dd"):
                        tag("a", f"{count} job{'' if count == 1 else 's'}", "link", href="?tab=graph")

    def _show_tree(self, topic: Topic[LabelledTree | None], *, whole: bool) -> None:
        with tag("section", classes="card", aria_label="Tree") as box:
            with tag("div", classes="card-head"):
                with tag("div", classes="line gap-1"):
                    tag("h3", "Tree")
                    state = tag("span", classes="line")
                if self.view.may(Role.OPERATOR):
                    cancel = button("Cancel tree", self._cancel_tree, look="small danger")
                else:
                    cancel = tag("span")
            words = tag("p", "", "meta below-head")
            drawing = ui.html("", sanitize=False).classes("fill")
        drawn: object = None

        def show(tree: LabelledTree | None) -> None:
            nonlocal drawn
            self.tree = tree
            self.heading.show(self.details, self._branch())
            box.set_visibility(tree is not None and bool(tree.branch.children))
            if tree is None:
                return
            badge = tree_badge(tree.branch, BY_STATUS[tree.branch.status])
            if badge != drawn:
                drawn = badge
                state.clear()
                with state:
                    chip(badge)
            # On the page of the root, the header shows all of this.
            below = tree.branch.job_id != self.details.job_id
            state.set_visibility(below)
            words.set_visibility(below)
            cancel.set_visibility(below and bool(tree.branch.unfinished))
            words.set_text(tree.branch.summary)
            drawing.set_content(tree_html(tree.branch, TreeDrawing(self.details.job_id, tree.labels, whole=whole)))

        show(self.tree)
        follow(self.view.live, topic, show, known=self.tree)

    async def _cancel_tree(self) -> None:
        if self.tree is not None:
            await self.heading.cancel_tree(self.tree.branch)


def _fact(name: str, value: Any) -> None:
    tag("dt", name)
    tag("dd", str(value))


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
            button("Cancel", lambda: self._cancel(job), icon="cancel", look="danger")

    async def retry(self) -> None:
        """Retry the job."""
        await act(self._view, retry_job, JobTarget(job_id=UUID(str(self._view.request.path_params["job_id"]))))

    async def _cancel_below(self) -> None:
        if self._branch is not None:
            await self.cancel_tree(self._branch)

    async def _cancel(self, job: Job) -> None:
        with sheet("Cancel the job?") as dialog:
            tag("p", "A waiting job is cancelled at once, a running one is asked to stop.", "meta")
            reason = Field("Reason", placeholder="optional, shown with the job", on_enter=lambda: dialog.submit(reason.text))
            with tag("div", classes="deeds"):
                button("Keep it", lambda: dialog.submit(None))
                button("Cancel it", lambda: dialog.submit(reason.text), look="danger first")
        answer = await dialog
        dialog.delete()
        if isinstance(answer, str):
            await act(self._view, cancel_job, CancelJob(job_id=job.job_id, reason=answer.strip()[:500] or None))

    async def cancel_tree(self, branch: Branch) -> None:
        """Confirm, and cancel a job with all unfinished jobs below it."""
        count = branch.unfinished
        loss = f"{count:,} {'job that has' if count == 1 else 'jobs that have'} not ended {'is' if count == 1 else 'are'} cancelled."
        await act(self._view, cancel_tree, CancelJob(job_id=branch.job_id), loss=loss)

    async def _force(self, job: Job) -> None:
        loss = "The worker was asked to stop, but has not done so yet. Unsaved work of this attempt will be lost."
        await act(self._view, cancel_job, CancelJob(job_id=job.job_id, force=True), loss=loss)

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
            await act(self._view, set_priority, JobPriority(job_id=job.job_id, priority=int(answer)))


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
