"""The page of a job: its header, its tree on the left, its tabs on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import context, ui

from gateleg.jobs import JobMissing, JobUnreadable
from gateleg.web.console.actions import button
from gateleg.web.console.badges import BY_STATUS, chip
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, current_view, frame
from gateleg.web.console.ids import shortened
from gateleg.web.console.jobs import panels
from gateleg.web.console.jobs.heading import Heading
from gateleg.web.console.jobs.job_details import JobDetails, job_details
from gateleg.web.console.jobs.section import CRUMBS
from gateleg.web.console.jobs.topics import JobWithLog, LabelledTree, job_topic, tree_topic
from gateleg.web.console.jobs.trees import TreeDrawing, found_in, tree_badge, tree_html
from gateleg.web.console.live import follow
from gateleg.web.console.loading import PAGE_TIMEOUT_SECONDS
from gateleg.web.console.markup import tag
from gateleg.web.console.tabs import Tabs
from gateleg.web.console.times import ago
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.jobs.monitor import Branch
    from gateleg.web.console.live import Topic
    from gateleg.web.host import Host


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
            story = await console.live.now(topic)
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
                await Tabs(panels.TABS, tab, self._panel).start()
        follow(self.view.live, self.topic, self._show, self.heading.pulse, known=self.story)

    async def _panel(self, key: str) -> None:
        self._update = None
        self._leave()
        if key == "timeline":
            self._update = panels.timeline_panel(self.view, self.story, self.details)
        elif key == "artifacts":
            await panels.artifacts_panel(self.view, self.story, self.details)
        elif key == "graph":
            self._leave = await panels.graph_panel(self.view, self.story, self.details)
        else:
            simple = {"config": panels.config_panel, "result": panels.result_panel, "raw": panels.raw_panel}
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
            panels.failure_note(self.story, self.details)

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
