"""The job types of music videos: plan a video, render its scenes side by side, compose it, and one job that directs them all.

What computes runs in processes, which are killed with the job. A scene that has its clip is not rendered again, whatever is interrupted.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateleg.apps.mv.job_types import (
    COMPOSE,
    GENERATE,
    PLAN,
    RENDER,
    RENDERS,
    ClipResult,
    ComposeConfig,
    GenerateConfig,
    ProjectConfig,
    ProjectResult,
    RenderConfig,
)
from gateleg.apps.mv.news import fail_project
from gateleg.apps.mv.scenes import fail_scene
from gateleg.apps.mv.service import load, move_project
from gateleg.apps.mv.tables import Project, ProjectStatus, SceneStatus
from gateleg.jobs import GiveUp, Jobs, JobStatus, Snooze, Stage, Submission, submit_stages
from gateleg.store import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Scene
    from gateleg.jobs import Job, JobContext
    from gateleg.web import Resources

#: Seconds until the director looks again.
_LOOK_AGAIN = 0.5
#: What a project goes through while it is directed, in this order.
_ONWARDS = (ProjectStatus.GENERATING_SCENES, ProjectStatus.PROCESSING, ProjectStatus.COMPOSING, ProjectStatus.COMPLETED)


def mv_jobs(resources: Resources[MVSettings]) -> Jobs:
    """The job types with their handlers."""
    jobs = Jobs()

    @jobs.handler(GENERATE, config=GenerateConfig, result=ProjectResult, priority=60, timeout=600)
    async def generate(job: JobContext, config: GenerateConfig) -> ProjectResult:
        return await direct(job, config, resources)

    @jobs.handler(PLAN, config=ProjectConfig, result=ProjectResult, runs="process", timeout=900)
    def plan(job: JobContext, config: ProjectConfig) -> ProjectResult:
        from gateleg.apps.mv.making import plan_project

        return plan_project(job, config.project_id, resources)

    limit = resources.settings.renders_per_worker or max((os.cpu_count() or 2) - 1, 1)

    @jobs.handler(
        RENDER,
        config=RenderConfig,
        result=ClipResult,
        queue=RENDERS,
        runs="process",
        timeout=3600,
        limit_per_worker=limit,
    )
    def render(job: JobContext, config: RenderConfig) -> ClipResult:
        from gateleg.apps.mv.making import render_scene

        return render_scene(job, config.project_id, config.sequence, resources)

    @jobs.handler(COMPOSE, config=ComposeConfig, result=ProjectResult, runs="process", timeout=3600)
    def compose(job: JobContext, config: ComposeConfig) -> ProjectResult:
        from gateleg.apps.mv.making import compose_project

        return compose_project(job, config.project_id, config.variants, resources)

    return jobs


async def direct(job: JobContext, config: GenerateConfig, resources: Resources[MVSettings]) -> ProjectResult:
    """Take a project through its stages. The handler is called again until all is done, and submits nothing twice."""
    try:
        return await _direct(job, config, resources)
    except GiveUp as error:
        await fail_project(resources, config.project_id, str(error))
        raise


async def _direct(job: JobContext, config: GenerateConfig, resources: Resources[MVSettings]) -> ProjectResult:
    store = resources.store
    loaded = await load(store, config.project_id)
    if not loaded.scenes:
        await _advance(resources, loaded.project, ProjectStatus.GENERATING_SCENES)
        await _done(job, resources, [_stage(PLAN, ProjectConfig(project_id=config.project_id), "plan")], "planning", 0.0, 0.08)
        loaded = await load(store, config.project_id)
    if config.storyboard:
        # The scenes are written, and nothing is made until somebody says so.
        for status in (ProjectStatus.QUEUED, ProjectStatus.PENDING):
            await _move(resources, loaded.project, status)
        return ProjectResult(project_id=config.project_id, scenes=len(loaded.scenes))
    await _advance(resources, loaded.project, ProjectStatus.PROCESSING)
    wanted = [scene.sequence for scene in loaded.scenes if _is_wanted(scene, config.again)]
    renders = [_stage(RENDER, RenderConfig(project_id=config.project_id, sequence=number), f"scene:{number}") for number in wanted]
    await _done(job, resources, renders, "rendering", 0.08, 0.9, there=len(loaded.scenes) - len(wanted))
    # Before the job is submitted: once there is one, the project is its own to move.
    await _advance(resources, loaded.project, ProjectStatus.COMPOSING)
    await _done(job, resources, [_stage(COMPOSE, ComposeConfig(project_id=config.project_id), "compose")], "composing", 0.9, 1.0)
    project = await store.get(Project, project_id=config.project_id, consistent=True)
    return ProjectResult(project_id=project.project_id, scenes=len(loaded.scenes), final_version=project.final_version)


def _is_wanted(scene: Scene, again: bool) -> bool:
    return scene.status is not SceneStatus.COMPLETED or (again and not scene.locked)


def _stage(job_type: str, config: ProjectConfig, name: str) -> Stage:
    return Stage(name, Submission(job_type, config, subject=str(config.project_id)))


async def _done(
    job: JobContext, resources: Resources[MVSettings], stages: Sequence[Stage], what: str, start: float, end: float, *, there: int = 0
) -> None:
    """Go on when the jobs of all stages are completed; otherwise look again later, or give up when none is left to wait for.

    `there` is how many more need no job, or none any more: they count as done.
    """
    children = list((await submit_stages(job, resources.queue, stages)).values())
    ended = [child for child in children if child.status in (JobStatus.FAILED, JobStatus.CANCELLED)]
    waiting = [child for child in children if child.status not in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)]
    total = there + len(children)
    share = 1.0 - sum(1.0 - _fraction(child) for child in waiting) / total if total else 1.0
    job.progress(start + (end - start) * share, 1.0, f"{what}: {total - len(waiting)} of {total}")
    if waiting:
        raise Snooze(_LOOK_AGAIN)
    if ended:
        for child in ended:
            await _fail_scene_of(resources, child)
        first = ended[0]
        reason = _reason(first)
        raise GiveUp(f"{what.capitalize()} failed in {len(ended)} of {len(children)} jobs; the first says: {reason}")


def _fraction(child: Job) -> float:
    return 0.0 if child.progress is None else child.progress.fraction


def _reason(child: Job) -> str:
    """Why a job did not succeed."""
    if child.status is JobStatus.CANCELLED:
        return "it was cancelled."
    error = child.attempts[-1].error if child.attempts else None
    return "its process ended." if error is None else error.message


async def _fail_scene_of(resources: Resources[MVSettings], child: Job) -> None:
    """A render whose process died could not say so itself."""
    if child.job_type == RENDER:
        config = RenderConfig.model_validate(child.job_config)
        await fail_scene(resources.store, config.project_id, config.sequence, _reason(child))


async def _advance(resources: Resources[MVSettings], project: Project, status: ProjectStatus) -> None:
    """Move the project on, unless it is there or further already: a director is called again and again."""
    if project.status not in _ONWARDS or _ONWARDS.index(project.status) < _ONWARDS.index(status):
        await _move(resources, project, status)


async def _move(resources: Resources[MVSettings], project: Project, status: ProjectStatus) -> Project:
    """Move the project on. A project that somebody deleted in between has nothing to be made any more."""
    try:
        return await move_project(resources.store, project.project_id, status)
    except NotFound:
        raise GiveUp("The project was deleted.") from None
