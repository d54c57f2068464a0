"""Topics of a job's page: the job with its log, its tree, and its dependency graph.

The pages about jobs, and the tabs between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.live import Topic
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobMissing, JobUnreadable
from gateleg.jobs.monitor.stats import labels, lookalikes
from gateleg.web.console.frame import Crumb
from gateleg.web.console.jobs.trees import by_urgency
from gateleg.web.console.live import LiveIndicator
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import MAX_LINES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from uuid import UUID

    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.monitor import Branch
    from gateleg.jobs.tables import ArchivedJob, LogEntry
    from gateleg.web.console.frame import View


#: Maximum number of jobs in a graph.
_MAX_GRAPH_JOBS = 40
#: Maximum number of jobs of a tree to label.
_MAX_LABELLED_JOBS = 500


@dataclass(frozen=True)
class JobWithLog:
    """A job and the last lines of its log. `first` is the number of the first of these lines."""

    job: Job | ArchivedJob
    lines: tuple[LogEntry, ...]
    first: int


def job_topic(queue: AsyncQueue, job_id: UUID) -> Topic[JobWithLog]:
    """A job and its log. Each read fetches only new lines."""
    return Topic(("job", job_id), _reader(queue, job_id), every=1.0)


def _reader(queue: AsyncQueue, job_id: UUID) -> Callable[[], Awaitable[JobWithLog]]:
    lines: list[LogEntry] = []
    seen = 0

    async def read() -> JobWithLog:
        nonlocal lines, seen
        update = await queue.read_update(job_id, seen)
        seen = update.seen
        lines = [*lines, *update.lines][-MAX_LINES:]
        return JobWithLog(update.job, tuple(lines), seen - len(lines))

    return read


@dataclass(frozen=True)
class LabelledTree:
    """A job tree, and labels for those of its jobs that look alike otherwise."""

    branch: Branch
    labels: Mapping[UUID, str] = field(default_factory=dict)


def tree_topic(queue: AsyncQueue, root: UUID) -> Topic[LabelledTree | None]:
    """The tree below a root; None when the root has left the queue."""
    known: dict[UUID, Job] = {}

    async def read() -> LabelledTree | None:
        try:
            branch = await queue.tree(root)
        except (JobMissing, JobUnreadable):
            return None
        # Labels are made from attributes that never change, so each job is read once.
        fresh = [job_id for job_id in lookalikes(branch, by_urgency)[:_MAX_LABELLED_JOBS] if job_id not in known]
        known.update({job.job_id: job for job in await queue.read_jobs(fresh)} if fresh else {})
        return LabelledTree(branch, labels(known.values()))

    return Topic(("tree", root), read, every=2.0)


def graph_topic(queue: AsyncQueue, job_id: UUID) -> Topic[tuple[Job, ...]]:
    """The transitive dependencies and dependents of a job; for a job without any, its children."""

    async def read() -> tuple[Job, ...]:
        found: dict[UUID, Job] = {}
        for ahead in (True, False):
            await _spread(queue, found, job_id, ahead=ahead)
        return tuple(found.values()) if len(found) > 1 else await _below(queue, job_id)

    return Topic(("graph", job_id), read, every=2.0)


async def _below(queue: AsyncQueue, job_id: UUID) -> tuple[Job, ...]:
    """The children of a job, if any of them depends on another."""
    try:
        branch = await queue.tree(job_id)
    except (JobMissing, JobUnreadable):
        return ()
    jobs = tuple(await queue.read_jobs([child.job_id for child in branch.children[:_MAX_GRAPH_JOBS]]))
    return jobs if any(job.dependencies for job in jobs) else ()


async def _spread(queue: AsyncQueue, found: dict[UUID, Job], start: UUID, *, ahead: bool) -> None:
    """Follow dependencies in one direction, level by level, until there are no more or the limit is reached."""
    level = [start]
    while level and len(found) < _MAX_GRAPH_JOBS:
        jobs = await queue.read_jobs(level[: _MAX_GRAPH_JOBS - len(found)])
        found |= {job.job_id: job for job in jobs}
        around = [other for job in jobs for other in (job.dependencies if ahead else job.dependent_jobs)]
        level = [one for one in dict.fromkeys(around) if one not in found]


PAGES = (
    ("/jobs", "All jobs"),
    ("/jobs/queues", "Queues"),
    ("/jobs/workers", "Workers"),
    ("/jobs/schedules", "Schedules"),
    ("/jobs/dead", "Failed"),
    ("/jobs/changes", "Failed changes"),
    ("/jobs/archive", "Archive"),
)
#: Breadcrumbs of the section.
CRUMBS = (Crumb("Jobs", "/jobs"),)


def section_head(view: View, current: str, *, button: tuple[str, str] = ("Submit a job", "/jobs/submit")) -> LiveIndicator:
    """The title, the live indicator, the main button, and the tabs of the section."""
    with tag("header", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", "Jobs")
        with tag("div", classes="deeds"):
            pulse = LiveIndicator()
            if view.may(Role.OPERATOR):
                words, href = button
                with tag("a", classes="deed first", href=href):
                    ui.icon("add")
                    tag("span", words)
    with tag("nav", classes="tabs", aria_label="Jobs"):
        for href, title in PAGES:
            tag("a", title, href=href, aria_current="page" if href == current else None)
    return pulse
