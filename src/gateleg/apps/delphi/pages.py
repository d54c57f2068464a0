"""The pages of Delphi in the console: `/delphi` has the conversations, `/delphi/{conversation}` one of them with its map and report."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.reports.config import MAP, REPORT
from gateleg.apps.delphi.runs.pipeline import PIPELINE
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.portraits import busy_jobs, deed_of, portrait
from gateleg.jobs import Submission
from gateleg.web.console.badges import chip, look_of
from gateleg.web.console.cells import Column, Row, ago_cell, tag_cell
from gateleg.web.console.deeds import carry_out, deed
from gateleg.web.console.empty import empty
from gateleg.web.console.frame import frame
from gateleg.web.console.grid import Grid
from gateleg.web.console.ids import shortened
from gateleg.web.console.live import Topic, follow
from gateleg.web.console.markup import card, section, tag
from gateleg.web.console.navigation import Crumb
from gateleg.web.console.paging import address, pager
from gateleg.web.console.patience import show_when_there
from gateleg.web.console.times import ago
from gateleg.web.errors import Unknown
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.web.portraits import GroupWords, Portrait
    from gateleg.jobs import Job
    from gateleg.store import Page
    from gateleg.web import Resources
    from gateleg.web.console.frame import View

HOME = "/delphi"
_LIMIT = 50
_COLUMNS = (Column("topic", "Conversation", wraps=True), Column("group", "Belongs to"), Column("changed", "Changed", right=True))
_WORDS = {MAP: "Map of the comments", REPORT: "Report"}


def register(resources: Resources) -> None:
    """Make the pages known to the console."""
    ui.page(HOME)(conversations_page)
    ui.page(f"{HOME}/{{conversation}}")(conversation_page)


def address_of(conversation: str) -> str:
    """The page of a conversation."""
    return f"{HOME}/{quote(conversation, safe='')}"


async def conversations_page(cursor: str = "") -> None:
    """The conversations that who looks may see."""
    with frame(title="Opinion maps", section="delphi") as view:
        question, condition = StoredConversation.recent(), rules.listed(view.principal)
        if condition is not None:
            question = question.filter(condition)

        def show(page: Page[StoredConversation]) -> None:
            if not page.items and not cursor:
                sentence = "Upload the votes and comments of a Polis export with PUT /api/delphi/conversations/{name}."
                empty("people", "No conversations yet", f"{sentence} `gateleg up --demo` brings one of a small town.")
                return
            with card("tight", label="Conversations"):
                Grid("Conversations", _COLUMNS, [_row(one) for one in page])
            pager(HOME, {}, cursor=cursor or None, following=page.next, shown=len(page))

        await show_when_there(view.host.store.page(question, limit=_LIMIT, cursor=cursor or None), show)


def _row(one: StoredConversation) -> Row:
    name = one.conversation_id
    cells = {
        "topic": one.topic or name,
        "group": tag_cell(one.group) if one.group else "everybody",
        "changed": ago_cell(one.updated_at),
    }
    return Row(name, cells, address_of(name))


async def conversation_page(conversation: str, run: str = "") -> None:
    """One conversation."""
    with frame(title=conversation, section="delphi", crumbs=[Crumb("Opinion maps", HOME)], wide=True, titled=False) as view:
        found = await view.host.store.find(StoredConversation, conversation_id=conversation, consistent=True)
        try:
            known = rules.seen(view.principal, found, conversation)
        except Unknown:
            tag("h1", conversation)
            empty("search", "There is no such conversation", "It may have another name.", button="All conversations", href=HOME)
            return
        await show_when_there(portrait(view.host.store, view.host.objects, known, run or None), lambda shown: _show(view, shown))


def _show(view: View, shown: Portrait) -> None:
    _head(view, shown)
    _busy(view, shown)
    if shown.outing is None:
        if not shown.busy:
            empty("people", "Not mapped yet", "A run finds groups, common ground and topics, and writes the report.")
        return
    _picker(shown)
    with section("Groups"), tag("div", classes="tiles"):
        for group in shown.groups:
            _group(group)
        if not shown.groups:
            tag("p", "This run has no groups.", "meta")
    for name, source in shown.files.items():
        with section(_WORDS[name]):
            with tag("p"):
                tag("a", "Open it alone", "link", href=source, target="_blank", rel="noopener")
            with card("tight preview", label=_WORDS[name]):
                # Without an origin of its own, what comments may hold reaches neither this page nor the host.
                tag("iframe", src=source, sandbox="allow-scripts", title=_WORDS[name], referrerpolicy="no-referrer")


def _head(view: View, shown: Portrait) -> None:
    upload, name = shown.upload, shown.conversation.conversation_id

    async def submit() -> None:
        current = await view.host.store.find(StoredConversation, conversation_id=name, consistent=True)
        rules.changed(view.principal, rules.seen(view.principal, current, name))
        # Pressed twice, it is still one pipeline.
        wanted = Submission(PIPELINE, {}, subject=name, created_by=view.principal.name, unique_key=f"delphi/{name}")
        job = (await view.host.queue.submit(wanted)).job
        await view.host.audit.note(view.principal, "delphi.submit", name, job_id=str(job.job_id), job_type=job.job_type)

    async def start() -> None:
        if await carry_out(view, Role.MEMBER, submit, "Submitted"):
            ui.navigate.to(address_of(name))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", shown.conversation.topic or name)
            figures = f"{upload.n_participants:,} participants, {upload.n_comments:,} comments, {upload.n_votes:,} votes"
            with tag("p", classes="meta"):
                tag("span", f"{figures}; uploaded ")
                ago(upload.created_at)
        with tag("div", classes="deeds"):
            if rules.may_change(view.principal, shown.conversation.group):
                deed("Map it again" if shown.outings else "Map it", start, icon="play_arrow", look="small first")


def _busy(view: View, shown: Portrait) -> None:
    """What works on the conversation, while it does; once all of it is done the page is shown anew, with what was found."""
    name, store = shown.conversation.conversation_id, view.host.store
    if not shown.busy:
        return
    box = tag("div", classes="stack gap-1", role="status")

    def show(jobs: Sequence[Job]) -> None:
        box.clear()
        with box:
            for job in jobs:
                _job(view, job)
        if not jobs:
            ui.navigate.to(address_of(name))

    follow(view.live, Topic(("delphi", name), lambda: busy_jobs(store, name)), show)


def _job(view: View, job: Job) -> None:
    """A job in a line; who may look at jobs can follow it."""
    with tag("p", classes="line gap-1"):
        chip(look_of(job))
        if view.may(Role.VIEWER):
            tag("a", deed_of(job.job_type), "link", href=f"/jobs/{job.job_id}")
        else:
            tag("span", deed_of(job.job_type))
        if job.progress is not None:
            tag("span", f"{job.progress.fraction:.0%} {job.progress.message}", "meta num")


def _picker(shown: Portrait) -> None:
    """The runs to choose from, newest first; the one that is shown is marked."""
    with tag("nav", classes="line gap-1", aria_label="Runs"):
        for one in shown.outings[:12]:
            current = one is shown.outing
            where = address(address_of(shown.conversation.conversation_id), {"run": str(one.job_id)})
            look = "deed small first" if current else "deed small"
            with tag("a", classes=look, href=where, aria_current="true" if current else None, title=one.stages):
                tag("span", f"Run {shortened(str(one.job_id))}")
                ago(one.at)


def _group(group: GroupWords) -> None:
    with card(label=group.name):
        tag("h3", group.name)
        tag("p", f"{group.size:,} {'participant' if group.size == 1 else 'participants'}", "meta num")
        with tag("ul", classes="stack gap-1"):
            for sentence in group.sentences:
                tag("li", sentence)
