"""The jobs of an application for its members: a list at `/{application}/-/jobs`, and below it each job with its tree, log and files.

The hyphen separates them from the application's own pages, whose names may come from its users. `job_part` is the page of one job without
the frame, for pages of applications that show a job among other things.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from nicegui import context, ui

from gateleg.host.actions.jobs import CancelJob, JobTarget
from gateleg.host.errors import Unknown
from gateleg.host.member_jobs import MemberJobs, member_actions
from gateleg.jobs import Job, JobMissing, JobUnreadable
from gateleg.web.console.actions import act
from gateleg.web.console.cells import BY_STATUS, Column, Row, ago_cell, badge_of, chip, chip_cell, id_cell
from gateleg.web.console.dialogs import button
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import Crumb, current_view, frame
from gateleg.web.console.jobs.actions import may_cancel, may_retry
from gateleg.web.console.jobs.topics import job_topic, tree_topic
from gateleg.web.console.jobs.trees import TreeDrawing, tree_html
from gateleg.web.console.lists import pager
from gateleg.web.console.live import follow
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid, LogView
from gateleg.web.member_jobs import ARTIFACTS

if TYPE_CHECKING:
    from gateleg.host.application import Application
    from gateleg.host.resources import Resources
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.web.console.frame import View
    from gateleg.web.console.jobs.topics import JobWithLog, LabelledTree

__all__ = ["job_part", "jobs_address"]

_COLUMNS = (
    Column("type", "Job"),
    Column("state", "State"),
    Column("about", "Subject"),
    Column("at", "Submitted", right=True),
    Column("id", "Id", desk=True),
)
_PAGE = 50


def jobs_address(application: str) -> str:
    """The address of a member's jobs in an application; each job has its page below."""
    return f"/{application}/-/jobs"


def register(application: Application, resources: Resources[Any]) -> None:
    """Serve the jobs of an application to its members."""
    base = jobs_address(application.name)
    crumbs = [] if application.pages is None else [Crumb(application.title, f"/{application.name}")]

    @ui.page(base)
    async def listing(subject: str | None = None, cursor: str | None = None) -> None:
        with frame(title="Jobs", section=application.name, crumbs=crumbs, wide=True) as view:
            mine = MemberJobs(application, resources, view.principal)
            found = await mine.page(subject=subject, limit=_PAGE, cursor=cursor)
            if not found.items:
                empty("tray", "No jobs", "Jobs that you submit are listed here until they are archived.")
                return
            Grid("Jobs", _COLUMNS).show([_row(job, base) for job in found])
            pager(base, {"subject": subject}, cursor=cursor, following=found.next, shown=len(found.items))

    @ui.page(base + "/{job_id}")
    async def one(job_id: str) -> None:
        mine = MemberJobs(application, resources, current_view().principal)
        try:
            job = await mine.get(UUID(job_id))
        except (ValueError, Unknown, JobMissing, JobUnreadable):
            context.client.status_code = 404
            with frame(title="Job not found", section=application.name, crumbs=crumbs):
                empty("search", "No such job", "The id may be wrong, or you may not see this job.", button="Your jobs", href=base)
            return
        with frame(title=job.job_type, section=application.name, crumbs=[*crumbs, Crumb("Jobs", base)], wide=True) as view:
            await job_part(view, mine, job, base=base)


def _row(job: Job, base: str) -> Row:
    cells = {
        "type": job.job_type,
        "state": chip_cell(badge_of(job)),
        "about": job.subject,
        "at": ago_cell(job.created_at),
        "id": id_cell(str(job.job_id)),
    }
    return Row(str(job.job_id), cells, href=f"{base}/{job.job_id}")


async def job_part(view: View, mine: MemberJobs, job: Job | ArchivedJob, *, base: str) -> None:
    """One job as it changes: its state and progress, the actions that its caller may take, its tree, its log and its files."""
    queue, job_id = mine.resources.queue, job.job_id
    topic, tree = job_topic(queue, job_id), tree_topic(queue, job_id)
    story, branch = await view.live.now(topic), await view.live.now(tree)
    changes = await mine.may_change(job)
    head, files = tag("div", classes="line gap-1 fill", role="status"), tag("div", classes="stack gap-1")
    drawn = tag("div", classes="fill")
    log = LogView(story.lines, story.first)

    async def show_files(current: Job | ArchivedJob) -> None:
        keys = [] if current.job_results is None else current.job_results.output_location.get(ARTIFACTS, [])
        links = [(key, await mine.resources.objects.presign(key)) for key in keys]
        files.clear()
        with files:
            for key, url in links:
                tag("a", key.rpartition("/")[2], "link", href=url)

    def show(found: JobWithLog) -> None:
        _show_head(view, mine, found, head, changes=changes)
        log.show(found.lines, found.first)

    def show_tree(found: LabelledTree | None) -> None:
        drawn.clear()
        if found is not None:
            with drawn:
                ui.html(tree_html(found.branch, TreeDrawing(job_id, found.labels, base=base)), sanitize=False)

    show(story)
    show_tree(branch)
    await show_files(story.job)
    follow(view.live, topic, show, known=story)
    follow(view.live, tree, show_tree, known=branch)


def _show_head(view: View, mine: MemberJobs, story: JobWithLog, head: Any, *, changes: bool) -> None:
    job = story.job

    _, cancel, retry = member_actions(mine.application)
    target = job.job_id

    head.clear()
    with head:
        chip(badge_of(job) if isinstance(job, Job) else BY_STATUS[job.status])
        if isinstance(job, Job) and job.progress is not None:
            tag("span", f"{job.progress.fraction:.0%} {job.progress.message}", "meta num")
        if changes and isinstance(job, Job) and may_cancel(job):
            button("Cancel", lambda: act(view, cancel, CancelJob(job_id=target), confirmed=True), icon="cancel", look="small")
        if changes and may_retry(job):
            button("Retry", lambda: act(view, retry, JobTarget(job_id=target)), icon="replay", look="small first")
