"""What the page of a job looks at, again and again: the job with its log, its tree, and what it depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.jobs import ArchivedJob, Job, JobMissing
from gateleg.web.console.live import Topic
from gateleg.web.console.logs import MOST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from gateleg.jobs import AsyncQueue, Branch, LogEntry

#: How many jobs a graph shows.
_NODES = 40


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


def tree_topic(queue: AsyncQueue, root: UUID) -> Topic[Branch | None]:
    """The tree below a root; None when the root has left the queue."""

    async def look() -> Branch | None:
        try:
            return await queue.tree(root)
        except JobMissing:
            return None

    return Topic(("tree", root), look, every=2.0)


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
    children = await queue.store.batch_get([Job.key(job_id=one.job_id) for one in branch.children[:_NODES]])
    jobs = tuple(job for job in children if job is not None)
    return jobs if any(job.dependencies for job in jobs) else ()


async def _spread(queue: AsyncQueue, found: dict[UUID, Job], start: UUID, *, ahead: bool) -> None:
    """Go from job to job in one direction, level by level, until nothing is new or there are enough."""
    level = [start]
    while level and len(found) < _NODES:
        wanted = [Job.key(job_id=one) for one in level[: _NODES - len(found)]]
        jobs = [job for job in await queue.store.batch_get(wanted) if job is not None]
        found |= {job.job_id: job for job in jobs}
        around = [other for job in jobs for other in (job.dependencies if ahead else job.dependent_jobs)]
        level = [one for one in dict.fromkeys(around) if one not in found]
