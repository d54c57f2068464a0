"""The head of every page of a conversation: its name, what can be done with it, what works on it, its runs and its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.runs.pipeline import PIPELINE
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.places import HOME, PARTS, address_of
from gateleg.apps.delphi.web.portraits import busy_jobs, deed_of, picked, portrait
from gateleg.jobs import Submission
from gateleg.web import Role, submitted_by
from gateleg.web.console.badges import chip, look_of
from gateleg.web.console.components import Crumb, Topic, ago, button, carry_out, empty, follow, frame, not_there, tag
from gateleg.web.console.member_jobs import jobs_address
from gateleg.web.errors import Unknown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateleg.apps.delphi.web.portraits import Outing, Portrait
    from gateleg.jobs import Job
    from gateleg.web.console.components import View

    Part = Callable[[View, Portrait], Awaitable[None]]
#: All stages, with a report that can be printed.
WHOLE = {"stages": [{"stage": "PCA"}, {"stage": "UMAP"}, {"stage": "REPORT", "config": {"formats": ["pdf", "png"]}}]}
#: Runs to pick from.
_PICKED = 30


async def conversation_page(name: str, run: str, part: str, build: Part, title: str = "") -> None:
    """A page of a conversation: its head, and then what `build` shows of the picked run."""
    crumbs = [Crumb("Opinion maps", HOME), *([Crumb(name, address_of(name, run=run))] if part else [])]
    with frame(title=title or PARTS.get(part) or name if part else name, section="delphi", crumbs=crumbs, wide=True, titled=False) as view:
        found = await view.host.store.find(StoredConversation, conversation_id=name, consistent=True)
        try:
            known = rules.seen(view.principal, found, name)
        except Unknown:
            not_there("conversation", button="All conversations", href=HOME, sentence="It may have another name, or you may not see it.")
            return
        shown = await portrait(view.host.queue, known, run or None)
        _head(view, shown)
        _busy(view, shown, part)
        if shown.outing is None:
            if not shown.busy:
                empty("people", "Not mapped yet", "A run finds groups, common ground and topics, and writes the report.")
            return
        _parts(shown, part)
        await build(view, shown)


def _head(view: View, shown: Portrait) -> None:
    upload, name = shown.upload, shown.conversation.conversation_id

    async def submit() -> None:
        current = await view.host.store.find(StoredConversation, conversation_id=name, consistent=True)
        rules.changed(view.principal, rules.seen(view.principal, current, name))
        # Pressed twice, it is still one pipeline.
        wanted = Submission(PIPELINE, WHOLE, subject=name, unique_key=f"delphi/{name}")
        job = (await view.host.queue.submit(submitted_by(view.principal, wanted))).job
        await view.host.audit.note(view.principal, "delphi.submit", name, job_id=str(job.job_id), job_type=job.job_type)

    async def start() -> None:
        if await carry_out(view, Role.MEMBER, submit, "Submitted"):
            ui.navigate.to(address_of(name))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", shown.conversation.topic or name, dir="auto")
            figures = f"{upload.n_participants:,} participants, {upload.n_comments:,} comments, {upload.n_votes:,} votes"
            figures += f" ({upload.n_superseded:,} more were changed later)" if upload.n_superseded else ""
            with tag("p", classes="meta"):
                tag("span", f"{figures}; uploaded ")
                ago(upload.created_at)
        with tag("div", classes="deeds"):
            if rules.may_change(view.principal, shown.conversation.group, shown.conversation.tenant):
                with tag("a", classes="deed small", href=address_of(name, "upload")):
                    ui.icon("upload")
                    tag("span", "Upload again")
                button("Map it again" if shown.outings else "Map it", start, icon="play_arrow", look="small first")


def _busy(view: View, shown: Portrait, part: str) -> None:
    """What works on the conversation, while it does; once all of it is done the page is shown anew, with what was found."""
    name, queue = shown.conversation.conversation_id, view.host.queue
    if not shown.busy:
        return
    box = tag("div", classes="stack gap-1", role="status")

    def show(jobs: Sequence[Job]) -> None:
        box.clear()
        with box:
            for job in jobs:
                _job(view, job)
        if not jobs:
            ui.navigate.to(address_of(name, part if part in PARTS else ""))

    follow(view.live, Topic(("delphi", name), lambda: busy_jobs(queue, name)), show)


def _job(view: View, job: Job) -> None:
    """A job in a line, and the way to its page."""
    with tag("p", classes="line gap-1"):
        chip(look_of(job))
        base = "/jobs" if view.may(Role.VIEWER) else jobs_address("delphi")
        tag("a", deed_of(job.job_type), "link", href=f"{base}/{job.job_id}")
        if job.progress is not None:
            tag("span", f"{job.progress.fraction:.0%} {job.progress.message}", "meta num")


def _parts(shown: Portrait, part: str) -> None:
    """The parts of the page, and the runs that they can be about."""
    name = shown.conversation.conversation_id
    run = "" if shown.outing is None or shown.outing is picked(shown.outings, None) else str(shown.outing.job_id)
    with tag("div", classes="delphi-parts"):
        with tag("nav", classes="tabs", aria_label="Parts of the map"):
            for key, title in PARTS.items():
                query = {"left" if key == "compare" else "run": run}
                tag("a", title, href=address_of(name, key, **query), aria_current="page" if key == part else None)
        if part != "compare":
            _picker(shown, part)


def _picker(shown: Portrait, part: str) -> None:
    """The runs to choose from, newest first."""
    where = address_of(shown.conversation.conversation_id, part)
    with tag("form", classes="line gap-1", method="get", action=where, data_tidy=""), tag("label", classes="line gap-1 meta"):
        tag("span", "Run")
        with tag("select", classes="box", name="run", data_submits=""):
            for place, one in enumerate(shown.outings[:_PICKED]):
                tag(
                    "option",
                    run_title(one, len(shown.outings) - place),
                    value=str(one.job_id),
                    selected=True if one is shown.outing else None,
                )


def run_title(outing: Outing, number: int) -> str:
    """A run in a few words: its number, when it was, and what it did if that is not all of it."""
    done = ", ".join(deed_of(stage).lower() for stage in outing.stages)
    return f"{number} · {outing.at:%d %b %Y, %H:%M}" + ("" if len(outing.stages) > 2 else f" · {done}")
