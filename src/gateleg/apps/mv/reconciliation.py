"""Reconcile projects and scenes with their jobs: if a job was cancelled, failed or removed, its project does not stay busy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.mv import rules
from gateleg.apps.mv.scenes import fail_scene
from gateleg.apps.mv.service import load_project, move_project
from gateleg.apps.mv.tables import Project, ProjectStatus, SceneStatus
from gateleg.jobs import Job, JobMissing, JobStatus
from gateleg.jobs.tables import ArchivedJob
from gateleg.store import NotFound

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.jobs import AsyncQueue
    from gateleg.store import AsyncStore

_GONE = "The job no longer exists."


async def reconcile(store: AsyncStore, queue: AsyncQueue, project_id: UUID) -> ProjectWithScenes:
    """Record the outcome of jobs that have ended, and load the project with its scenes. Safe to call at any time."""
    loaded = await load_project(store, project_id)
    changed = False
    for scene in loaded.scenes:
        if scene.status is SceneStatus.PROCESSING and scene.video_generation_job_id is not None:
            ended = await _end_of(queue, scene.video_generation_job_id)
            if ended is not None:
                await fail_scene(store, project_id, scene.sequence, ended)
                changed = True
    project = loaded.project
    if project.status in rules.BUSY and project.root_job_id is not None:
        ended = await _end_of(queue, project.root_job_id)
        if ended is not None:
            changed = True
            try:
                await move_project(store, project_id, ProjectStatus.FAILED, Project.error_message.set(project.error_message or ended))
            except NotFound:
                return loaded
    return await load_project(store, project_id) if changed else loaded


async def _end_of(queue: AsyncQueue, job_id: UUID) -> str | None:
    """Why a job ended without success; None if it is active or completed."""
    try:
        job = await queue.get_or_archived(job_id)
    except JobMissing:
        return _GONE
    return reason_of(job) if job.status in (JobStatus.CANCELLED, JobStatus.FAILED) else None


def reason_of(job: Job | ArchivedJob) -> str:
    """Why a job did not succeed."""
    if job.status is JobStatus.CANCELLED:
        return "The job was cancelled."
    error = job.attempts[-1].error if isinstance(job, Job) and job.attempts else job.error if isinstance(job, ArchivedJob) else None
    return "The job's process ended." if error is None else error.message
