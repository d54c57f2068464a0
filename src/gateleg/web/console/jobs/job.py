"""The page of one job: its head, its tree on the left, its tabs on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import context, ui

from gateleg.jobs import JobMissing
from gateleg.web.console.badges import BY_STATUS, chip
from gateleg.web.console.deeds import deed
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import View, current_view, frame
from gateleg.web.console.ids import shortened
from gateleg.web.console.jobs import panels
from gateleg.web.console.jobs.heading import Heading
from gateleg.web.console.jobs.looking import Story, Tree, story_topic, tree_topic
from gateleg.web.console.jobs.places import CRUMBS
from gateleg.web.console.jobs.shown import Shown, shown_of
from gateleg.web.console.jobs.trees import Drawing, found_in, tree_html, tree_look
from gateleg.web.console.live import follow
from gateleg.web.console.markup import tag
from gateleg.web.console.patience import PATIENT
from gateleg.web.console.tabs import Tabs
from gateleg.web.console.times import ago
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.jobs import Branch
    from gateleg.web.console.live import Topic


def register() -> None:
    """Serve a job at `/jobs/{job_id}`."""

    @ui.page("/jobs/{job_id}", response_timeout=PATIENT)
    async def job(job_id: str, tab: str | None = None, tree: str | None = None) -> None:
        try:
            known = UUID(job_id)
        except ValueError:
            _missing(job_id)
            return
        console = current_view()
        topic = story_topic(console.host.queue, known)
        try:
            story = await console.live.now(topic)
        except JobMissing:
            _missing(job_id)
            return
        shown = shown_of(story.job)
        with frame(title=shown.title, section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            await _Page(view, topic, story, shown).build(tab, whole_tree=tree == "whole")


def _missing(job_id: str) -> None:
    context.client.status_code = 404
    with frame(title="No such job", section="jobs", crumbs=CRUMBS, titled=False):
        tag("h1", "No such job", "sr")
        sentence = f"There is no job {job_id[:60]}, neither in the queue nor in the archive."
        empty("search", "No such job", sentence, button="All jobs", href="/jobs")


class _Page:
    """One open page of a job."""

    def __init__(self, view: View, topic: Topic[Story], story: Story, shown: Shown) -> None:
        self.view, self.topic, self.story, self.shown = view, topic, story, shown
        self._update: Callable[[Story, Shown], None] | None = None
        self._shown_failure: object = None
        self._shown_facts: object = None
        self._leave: Callable[[], None] = lambda: None

    async def build(self, tab: str | None, *, whole_tree: bool) -> None:
        topic = tree_topic(self.view.host.queue, self.shown.root or self.shown.job_id)
        self.tree = await self.view.live.now(topic)
        subject = await self.view.host.subject_of(self.view.principal, self.story.job)
        self.heading = Heading(self.view, self.shown, self._branch(), subject)
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
            self._update = panels.timeline_panel(self.view, self.story, self.shown)
        elif key == "artifacts":
            await panels.artifacts_panel(self.view, self.story, self.shown)
        elif key == "graph":
            self._leave = await panels.graph_panel(self.view, self.story, self.shown)
        else:
            simple = {"config": panels.config_panel, "result": panels.result_panel, "raw": panels.raw_panel}
            simple[key](self.view, self.story, self.shown)
            self._update = self._again(simple[key], self.shown)

    def _again(self, panel: Callable[[View, Story, Shown], None], drawn: Shown) -> Callable[[Story, Shown], None]:
        """Draw a panel anew when the job has got to another state."""
        box = context.slot.parent

        def show(story: Story, shown: Shown) -> None:
            nonlocal drawn
            if (shown.status, shown.results) != (drawn.status, drawn.results):
                drawn = shown
                box.clear()
                with box:
                    panel(self.view, story, shown)

        return show

    def _show(self, story: Story) -> None:
        self.story, self.shown = story, shown_of(story.job)
        self.heading.show(self.shown, self._branch())
        self._show_failure()
        self._show_facts()
        if self._update is not None:
            self._update(story, self.shown)

    def _show_failure(self) -> None:
        key = (self.shown.failure, self.shown.status)
        if key == self._shown_failure:
            return
        self._shown_failure = key
        self._failure.clear()
        with self._failure:
            panels.failure_note(self.story, self.shown)

    def _branch(self) -> Branch | None:
        """The job with all that it has started."""
        return None if self.tree is None else found_in(self.tree.branch, self.shown.job_id)

    def _show_facts(self) -> None:
        shown = self.shown
        key = (shown.status, shown.attempt, shown.priority, shown.worker_id, shown.started_at, shown.completed_at, shown.dependents)
        if key == self._shown_facts:
            return
        self._shown_facts = key
        self._facts.clear()
        with self._facts, tag("dl", classes="facts"):
            _fact("State", shown.look.word)
            _fact("Attempts", str(shown.attempt) if shown.max_retries is None else f"{shown.attempt} (up to {shown.max_retries + 1})")
            _fact("Priority", str(shown.priority))
            if shown.worker_id:
                _fact("Worker", shown.worker_id)
            for name, moment in (("Started", shown.started_at), ("Ended", shown.completed_at), ("Archived", shown.archived_at)):
                if moment is not None:
                    tag("dt", name)
                    with tag("dd"):
                        ago(moment)
            if shown.parent is not None:
                tag("dt", "Submitted by")
                with tag("dd"):
                    tag("a", shortened(str(shown.parent)), "link", href=f"/jobs/{shown.parent}")
            if shown.cancel_reason:
                _fact("Cancelled because", shown.cancel_reason)
            for name, count in (("Waits for", len(shown.dependencies)), ("Waited for by", len(shown.dependents))):
                if count:
                    tag("dt", name)
                    with tag("dd"):
                        tag("a", f"{count} job{'' if count == 1 else 's'}", "link", href="?tab=graph")

    def _show_tree(self, topic: Topic[Tree | None], *, whole: bool) -> None:
        with tag("section", classes="card", aria_label="Tree") as box:
            with tag("div", classes="card-head"):
                with tag("div", classes="line gap-1"):
                    tag("h3", "Tree")
                    state = tag("span", classes="line")
                if self.view.may(Role.OPERATOR):
                    cancel = deed("Cancel tree", self._cancel_tree, look="small danger")
                else:
                    cancel = tag("span")
            words = tag("p", "", "meta below-head")
            drawing = ui.html("", sanitize=False).classes("fill")
        drawn: object = None

        def show(tree: Tree | None) -> None:
            nonlocal drawn
            self.tree = tree
            self.heading.show(self.shown, self._branch())
            box.set_visibility(tree is not None and bool(tree.branch.children))
            if tree is None:
                return
            look = tree_look(tree.branch, BY_STATUS[tree.branch.status])
            if look != drawn:
                drawn = look
                state.clear()
                with state:
                    chip(look)
            # On the page of the root the heading has all of this.
            below = tree.branch.job_id != self.shown.job_id
            state.set_visibility(below)
            words.set_visibility(below)
            cancel.set_visibility(below and bool(tree.branch.unfinished))
            words.set_text(tree.branch.summary)
            drawing.set_content(tree_html(tree.branch, Drawing(self.shown.job_id, tree.labels, whole=whole)))

        show(self.tree)
        follow(self.view.live, topic, show, known=self.tree)

    async def _cancel_tree(self) -> None:
        if self.tree is not None:
            await self.heading.cancel_tree(self.tree.branch)


def _fact(name: str, value: Any) -> None:
    tag("dt", name)
    tag("dd", str(value))
