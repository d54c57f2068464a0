"""What the page of a job looks at, again and again: the job with its log, its tree, and what it depends on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg.jobs import ArchivedJob, Job, JobMissing
from gateleg.web.console.jobs.labels import labels
from gateleg.web.console.jobs.trees import by_urgency
from gateleg.web.console.live import Topic
from gateleg.web.console.logs import MOST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from uuid import UUID

    from gateleg.jobs import AsyncQueue, Branch, LogEntry

#: How many jobs a graph shows.
_NODES = 40
#: How many jobs of a tree are labelled.
_LABELLED = 500


@dataclass(frozen=True)
class Story:
    """A job and the end of its log. `first` is the number of the first line that is held here."""

    job: Job | ArchivedJob
    lines: tuple[LogEntry, ...]
    first: int


def story_topic(queue: AsyncQueue, job_id: UUID) -> Topic[Story]:
    """A job and its log. Only lines that were not read yet are read."""
    return Topic(("job", job_id), _reader(queue, job_id), every=1.0)


def _reader(queue: AsyncQueue, job_id: UUID) -> Callable[[], Awaitable[Story]]:
    lines: list[LogEntry] = []
    seen = 0

    async def look() -> Story:
        nonlocal lines, seen
        update = await queue.look_on(job_id, seen)
        seen = update.seen
        lines = [*lines, *update.lines][-MOST:]
        return Story(update.job, tuple(lines), seen - len(lines))

    return look


@dataclass(frozen=True)
class Tree:
    """A job tree, and labels for those of its jobs that look alike otherwise."""

    branch: Branch
    labels: Mapping[UUID, str] = field(default_factory=dict)


def tree_topic(queue: AsyncQueue, root: UUID) -> Topic[Tree | None]:
    """The tree below a root; None when the root has left the queue."""
    known: dict[UUID, Job] = {}

    async def look() -> Tree | None:
        try:
            branch = await queue.tree(root)
        except JobMissing:
            return None
        # What labels are made of never changes, so every job is read once.
        fresh = [queue.tables.job.key(job_id=one) for one in alike(branch)[:_LABELLED] if one not in known]
        known.update({job.job_id: job for job in await queue.store.batch_get(fresh) if job is not None} if fresh else {})
        return Tree(branch, labels(known.values()))

    return Topic(("tree", root), look, every=2.0)


def alike(branch: Branch) -> list[UUID]:
    """The jobs of a tree that neither their type nor their stage tells from a sibling; those that are drawn first come first."""
    found: list[UUID] = []
    for parent in branch:
        names = Counter((child.job_type, child.stage) for child in parent.children)
        found += [child.job_id for child in by_urgency(parent.children) if names[child.job_type, child.stage] > 1]
    return found


def graph_topic(queue: AsyncQueue, job_id: UUID) -> Topic[tuple[Job, ...]]:
    """The jobs that a job depends on, directly or through others, and those that depend on it; of a job on its own, its children."""

    async def look() -> tuple[Job, ...]:
        found: dict[UUID, Job] = {}
        for ahead in (True, False):
            await _spread(queue, found, job_id, ahead=ahead)
        return tuple(found.values()) if len(found) > 1 else await _below(queue, job_id)

    return Topic(("graph", job_id), look, every=2.0)


async def _below(queue: AsyncQueue, job_id: UUID) -> tuple[Job, ...]:
    """The children of a job, if any of them waits for another."""
    try:
        branch = await queue.tree(job_id)
    except JobMissing:
        return ()
    children = await queue.store.batch_get([queue.tables.job.key(job_id=one.job_id) for one in branch.children[:_NODES]])
    jobs = tuple(job for job in children if job is not None)
    return jobs if any(job.dependencies for job in jobs) else ()


async def _spread(queue: AsyncQueue, found: dict[UUID, Job], start: UUID, *, ahead: bool) -> None:
    """Go from job to job in one direction, level by level, until nothing is new or there are enough."""
    level = [start]
    while level and len(found) < _NODES:
        wanted = [queue.tables.job.key(job_id=one) for one in level[: _NODES - len(found)]]
        jobs = [job for job in await queue.store.batch_get(wanted) if job is not None]
        found |= {job.job_id: job for job in jobs}
        around = [other for job in jobs for other in (job.dependencies if ahead else job.dependent_jobs)]
        level = [one for one in dict.fromkeys(around) if one not in found]
