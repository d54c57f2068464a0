"""The phases of making a film, and the progress of a project, computed from the child jobs of its GENERATE job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.job_types import CLIPS, COMPOSE, LIP_SYNC, PLAN
from gateleg.apps.mv.tables import ProjectStatus
from gateleg.jobs import JobMissing, JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.tables import Project
    from gateleg.host import Resources
    from gateleg.jobs.monitor import Branch


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of a GENERATE job, with the project's status, the range of overall progress and the types of its child jobs."""

    words: str
    status: ProjectStatus
    start: float
    end: float
    job_types: tuple[str, ...]


PLANNING = Phase("analysing the song", ProjectStatus.GENERATING_SCENES, 0.0, 0.08, (PLAN,))
RENDERING = Phase("rendering", ProjectStatus.PROCESSING, 0.08, 0.85, CLIPS)
LIP_SYNCING = Phase("lip-sync", ProjectStatus.PROCESSING, 0.85, 0.9, (LIP_SYNC,))
COMPOSING = Phase("composing", ProjectStatus.COMPOSING, 0.9, 1.0, (COMPOSE,))
PHASES = (PLANNING, RENDERING, LIP_SYNCING, COMPOSING)


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
    """The overall progress of child jobs, from the last phase that has started."""
    found = (0.0, "")
    for phase in PHASES:
        own = [job for job in jobs if job.job_type in phase.job_types]
        if own:
            done = sum(job.status is JobStatus.COMPLETED for job in own)
            share = sum(_fraction(job) for job in own) / len(own)
            scenes = "" if phase in (PLANNING, COMPOSING) else f", {done} of {len(own)} scenes{_detail(own)}"
            found = (phase.start + (phase.end - phase.start) * share, f"{phase.words}{scenes}")
    return found


#: A job that waits for a provider is pending between two polls.
_ACTIVE = (JobStatus.PROCESSING, JobStatus.PENDING)


def _fraction(job: Branch) -> float:
    if job.status is JobStatus.COMPLETED:
        return 1.0
    return 0.0 if job.own is None else job.own.fraction


def _detail(jobs: Sequence[Branch]) -> str:
    """The progress message of the first scene that is being made."""
    now = [job.own.message for job in jobs if job.status in _ACTIVE and job.own is not None and job.own.message]
    return f", {now[0]}" if now else ""
