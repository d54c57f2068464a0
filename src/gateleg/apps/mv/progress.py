"""The progress of a project, computed from the child jobs of its GENERATE job, which snoozes between polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.job_types import COMPOSE, PLAN, RENDER
from gateleg.jobs import JobMissing, JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.tables import Project
    from gateleg.jobs.monitor import Branch
    from gateleg.web import Resources

#: The range of overall progress that each job type covers.
_SHARES = ((PLAN, 0.0, 0.08, "analysing the song"), (RENDER, 0.08, 0.9, "rendering"), (COMPOSE, 0.9, 1.0, "composing"))


async def progress_of(resources: Resources[Any], project: Project) -> tuple[float, str]:
    """The fraction done, from 0 to 1, and a description; (0, "") if no job is running."""
    if project.root_job_id is None:
        return 0.0, ""
    try:
        tree = await resources.queue.tree(project.root_job_id)
    except JobMissing:
        return 0.0, ""
    return measure_progress((tree, *tree.children))


def measure_progress(jobs: Sequence[Branch]) -> tuple[float, str]:
    """The overall progress of child jobs, from the last job type that has started."""
    found = (0.0, "")
    for kind, start, end, words in _SHARES:
        own = [job for job in jobs if job.job_type == kind]
        if own:
            done = sum(job.status is JobStatus.COMPLETED for job in own)
            share = sum(_fraction(job) for job in own) / len(own)
            detail = _detail(own)
            found = (start + (end - start) * share, f"{words}, {done} of {len(own)} scenes{detail}" if kind == RENDER else words)
    return found


def _fraction(job: Branch) -> float:
    if job.status is JobStatus.COMPLETED:
        return 1.0
    return 0.0 if job.own is None else job.own.fraction


def _detail(jobs: Sequence[Branch]) -> str:
    """The progress messages of the scenes being rendered."""
    now = [job.own.message for job in jobs if job.status is JobStatus.PROCESSING and job.own is not None]
    return f", {now[0]}" if now else ""
