"""The header of every page of a conversation: its name, actions, active jobs, runs and tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.runs.pipeline import PIPELINE
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.addresses import HOME, PARTS, address_of
from gateleg.apps.delphi.web.overviews import active_jobs, job_title, load_overview, select_run
from gateleg.host import Role, submitted_by
from gateleg.host.errors import Unknown
from gateleg.jobs import Submission
from gateleg.web.console.cells import badge_of, chip
from gateleg.web.console.components import Crumb, Topic, ago, button, carry_out, empty, follow, frame, show_not_found, tag
from gateleg.web.console.member_jobs import jobs_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateleg.apps.delphi.web.overviews import Overview, PipelineRun
    from gateleg.jobs import Job
    from gateleg.web.console.components import View

    Part = Callable[[View, Overview], Awaitable[None]]
#: The config of a pipeline with all stages and PDF and PNG files.
WHOLE = {"stages": [{"stage": "PCA"}, {"stage": "UMAP"}, {"stage": "REPORT", "config": {"formats": ["pdf", "png"]}}]}
#: The maximum number of runs to select from.
_SELECTABLE = 30


async def conversation_page(name: str, run: str, part: str, build: Part, title: str = "") -> None:
    """A page of a conversation: its header, and the part that `build` shows of the selected run."""
    crumbs = [Crumb("Opinion maps", HOME), *([Crumb(name, address_of(name, run=run))] if part else [])]
    with frame(title=title or PARTS.get(part) or name if part else name, section="delphi", crumbs=crumbs, wide=True, titled=False) as view:
        found = await view.host.store.find(StoredConversation, conversation_id=name, consistent=True)
        try:
            known = rules.check_visible(view.principal, found, name)
        except Unknown:
            show_not_found(
                "conversation", button="All conversations", href=HOME, sentence="It may have another name, or you may not see it."
            )
            return
        shown = await load_overview(view.host.queue, known, run or None)
        _head(view, shown)
        _busy(view, shown, part)
        if shown.selected is None:
            if not shown.active_jobs:
                empty("people", "Not mapped yet", "A run finds groups, common ground and topics, and writes the report.")
            return
        _parts(shown, part)
        await build(view, shown)


def _head(view: View, shown: Overview) -> None:
    upload, name = shown.upload, shown.conversation.conversation_id

    async def submit() -> None:
        current = await view.host.store.find(StoredConversation, conversation_id=name, consistent=True)
        rules.check_change(view.principal, rules.check_visible(view.principal, current, name))
        # The unique key prevents a second pipeline if the button is pressed twice.
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
                button("Map it again" if shown.pipeline_runs else "Map it", start, icon="play_arrow", look="small first")


def _busy(view: View, shown: Overview, part: str) -> None:
    """The active jobs of the conversation. When all are finished, the page is reloaded with the results."""
    name, queue = shown.conversation.conversation_id, view.host.queue
    if not shown.active_jobs:
        return
    box = tag("div", classes="stack gap-1", role="status")

    def show(jobs: Sequence[Job]) -> None:
        box.clear()
        with box:
            for job in jobs:
                _job(view, job)
        if not jobs:
            ui.navigate.to(address_of(name, part if part in PARTS else ""))

    follow(view.live, Topic(("delphi", name), lambda: active_jobs(queue, name)), show)


def _job(view: View, job: Job) -> None:
    """A job in one line, with a link to its page."""
    with tag("p", classes="line gap-1"):
        chip(badge_of(job))
        base = "/jobs" if view.may(Role.VIEWER) else jobs_address("delphi")
        tag("a", job_title(job.job_type), "link", href=f"{base}/{job.job_id}")
        if job.progress is not None:
            tag("span", f"{job.progress.fraction:.0%} {job.progress.message}", "meta num")


def _parts(shown: Overview, part: str) -> None:
    """The tabs of the page, and the selection of a run."""
    name = shown.conversation.conversation_id
    run = "" if shown.selected is None or shown.selected is select_run(shown.pipeline_runs, None) else str(shown.selected.job_id)
    with tag("div", classes="delphi-parts"):
        with tag("nav", classes="tabs", aria_label="Parts of the map"):
            for key, title in PARTS.items():
                query = {"left" if key == "compare" else "run": run}
                tag("a", title, href=address_of(name, key, **query), aria_current="page" if key == part else None)
        if part != "compare":
            _picker(shown, part)


def _picker(shown: Overview, part: str) -> None:
    """The selection of a run, newest first."""
    where = address_of(shown.conversation.conversation_id, part)
    with tag("form", classes="line gap-1", method="get", action=where, data_tidy=""), tag("label", classes="line gap-1 meta"):
        tag("span", "Run")
        with tag("select", classes="box", name="run", data_submits=""):
            for place, one in enumerate(shown.pipeline_runs[:_SELECTABLE]):
                tag(
                    "option",
                    run_title(one, len(shown.pipeline_runs) - place),
                    value=str(one.job_id),
                    selected=True if one is shown.selected else None,
                )


def run_title(run: PipelineRun, number: int) -> str:
    """The title of a run: its number, its time, and its stages unless it has all."""
    done = ", ".join(job_title(stage).lower() for stage in run.stages)
    return f"{number} · {run.at:%d %b %Y, %H:%M}" + ("" if len(run.stages) > 2 else f" · {done}")
