"""The job handlers: plan a video, render its scenes in parallel, compose it, and coordinate these jobs.

Heavy work runs in processes, which are killed with their job. After an interruption, scenes that have a clip are not rendered again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gateleg.apps.mv import costs
from gateleg.apps.mv.job_types import (
    CLIPS,
    COMPOSE,
    FILM,
    GENERATE,
    LIP_SYNC,
    PLAN,
    REFERENCES,
    RENDER,
    RENDERS,
    ClipResult,
    ComposeConfig,
    GenerateConfig,
    LipSyncConfig,
    PlanConfig,
    ProjectConfig,
    ProjectResult,
    ReferencesConfig,
    ReferencesResult,
    RenderConfig,
)
from gateleg.apps.mv.playing import lip_sync_source
from gateleg.apps.mv.progress import COMPOSING, LIP_SYNCING, PLANNING, RENDERING
from gateleg.apps.mv.providers import clip_type
from gateleg.apps.mv.reconciliation import reason_of
from gateleg.apps.mv.rules import to_render
from gateleg.apps.mv.scenes import fail_scene
from gateleg.apps.mv.service import load_project, move_project
from gateleg.apps.mv.tables import Project, ProjectStatus
from gateleg.apps.mv.webhook_events import fail_project
from gateleg.host import Refusal
from gateleg.host.errors import Unknown
from gateleg.jobs import GiveUp, Jobs, JobStatus, Snooze, Stage, Submission, submit_stages
from gateleg.store import ConditionFailed, IllegalTransition, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from gateleg.apps.mv.progress import Phase
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Scene
    from gateleg.host import Resources
    from gateleg.jobs import Job, JobContext

#: Seconds between two polls of the child jobs.
_POLL_SECONDS = 0.5
#: The statuses of jobs that ended without success.
_UNSUCCESSFUL = (JobStatus.FAILED, JobStatus.CANCELLED)
#: The order of statuses; all others come first. A project is completed slightly before its COMPOSE job.
_STATUS_ORDER = {ProjectStatus.GENERATING_SCENES: 1, ProjectStatus.PROCESSING: 2, ProjectStatus.COMPOSING: 3, ProjectStatus.COMPLETED: 4}


def mv_jobs(resources: Resources[MVSettings]) -> Jobs:
    """Create the registry of job handlers."""
    jobs = Jobs()

    @jobs.handler(GENERATE, config=GenerateConfig, result=ProjectResult, priority=60, timeout=600)
    async def generate(job: JobContext, config: GenerateConfig) -> ProjectResult:
        return await direct(job, config, resources)

    @jobs.handler(PLAN, config=PlanConfig, result=ProjectResult, runs="process", timeout=900)
    def plan(job: JobContext, config: PlanConfig) -> ProjectResult:
        from gateleg.apps.mv.render_jobs import plan_project

        return plan_project(job, config.project_id, resources, demo_song=config.demo_song)

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
        from gateleg.apps.mv.render_jobs import render_scene

        return render_scene(job, config.project_id, config.sequence, resources)

    @jobs.handler(FILM, config=RenderConfig, result=ClipResult, timeout=900)
    async def film(job: JobContext, config: RenderConfig) -> ClipResult:
        from gateleg.apps.mv.provider_jobs import generate_clip

        return await generate_clip(job, config.project_id, config.sequence, resources)

    @jobs.handler(LIP_SYNC, config=LipSyncConfig, result=ClipResult, timeout=900)
    async def lip_sync(job: JobContext, config: LipSyncConfig) -> ClipResult:
        from gateleg.apps.mv.provider_jobs import lip_sync_scene

        return await lip_sync_scene(job, config, resources)

    @jobs.handler(COMPOSE, config=ComposeConfig, result=ProjectResult, runs="process", timeout=3600)
    def compose(job: JobContext, config: ComposeConfig) -> ProjectResult:
        from gateleg.apps.mv.finals import compose_project

        return compose_project(job, config.project_id, config.variants, resources)

    @jobs.handler(REFERENCES, config=ReferencesConfig, result=ReferencesResult, runs="process", timeout=600)
    def references(job: JobContext, config: ReferencesConfig) -> ReferencesResult:
        from gateleg.apps.mv.reference_pictures import make_references

        return make_references(job, config, resources)

    return jobs


async def direct(job: JobContext, config: GenerateConfig, resources: Resources[MVSettings]) -> ProjectResult:
    """Take a project through its phases. The handler is called again until all child jobs are done; it submits each only once."""
    try:
        return await _direct(job, config, resources)
    except GiveUp as error:
        await fail_project(resources, config.project_id, str(error))
        raise


async def _direct(job: JobContext, config: GenerateConfig, resources: Resources[MVSettings]) -> ProjectResult:
    store, project_id = resources.store, config.project_id
    loaded = await _load(resources, project_id)
    if not loaded.scenes or (config.demo_song and loaded.project.audio_backing_track_s3_key is None):
        planning = [_stage(PLAN, PlanConfig(project_id=project_id, demo_song=config.demo_song), "plan")]
        await _await_stages(job, resources, PLANNING, planning, loaded.project)
        loaded = await _load(resources, project_id)
    if config.storyboard:
        # The scenes are written. Rendering starts only on request.
        for status in (ProjectStatus.QUEUED, ProjectStatus.PENDING):
            await _move(resources, loaded.project, status)
        return ProjectResult(project_id=project_id, scenes=len(loaded.scenes))
    wanted = to_render(loaded.scenes, config.again, config.only)
    _check_cost(job, loaded, config, resources)
    renders = [_scene_stage(clip_type(loaded.project, scene), "scene", project_id, scene.sequence) for scene in wanted]
    await _await_stages(job, resources, RENDERING, renders, loaded.project, done_already=len(loaded.scenes) - len(wanted))
    await _lip_sync_scenes(job, resources, project_id)
    composing = [_stage(COMPOSE, ComposeConfig(project_id=project_id), "compose")]
    await _await_stages(job, resources, COMPOSING, composing, loaded.project)
    project = await store.get(Project, project_id=project_id, consistent=True)
    return ProjectResult(project_id=project_id, scenes=len(loaded.scenes), final_version=project.final_version)


def _has_reached(job: JobContext, phase: Phase) -> bool:
    """Whether an earlier call of this job reached a phase."""
    return job.job.progress is not None and job.job.progress.fraction >= phase.start


def _has_rendered(job: JobContext) -> bool:
    """Whether an earlier call of this job has seen a render advance. The end of the planning alone is the same fraction as the start."""
    return job.job.progress is not None and job.job.progress.fraction > RENDERING.start


def _check_cost(job: JobContext, loaded: ProjectWithScenes, config: GenerateConfig, resources: Resources[MVSettings]) -> None:
    """Raise `GiveUp` if rendering would exceed the spend cap. Called once the scenes are known, before the first is rendered."""
    if _has_rendered(job):
        return
    try:
        costs.check_spend_cap(
            loaded.project, costs.estimate(loaded.project, loaded.scenes, resources, again=config.again, only=config.only)
        )
    except Refusal as error:
        raise GiveUp(error.message) from error


async def _lip_sync_scenes(job: JobContext, resources: Resources[MVSettings], project_id: UUID) -> None:
    """Lip-sync the clips that need it, if a lip-sync model is configured."""
    loaded = await _load(resources, project_id)
    wanted = [scene for scene in loaded.scenes if scene.needs_lip_sync]
    if resources.settings.lip_sync_model is None:
        if wanted and not _has_reached(job, COMPOSING):
            numbers = ", ".join(str(scene.sequence) for scene in wanted)
            job.log(f"No lip-sync model is configured, so the lips in scenes {numbers} do not follow the song.", "WARNING")
        return
    # Keep finished scenes in the list of stages, so that the next call finds their jobs completed.
    stages = [_lip_sync_stage(loaded, scene) for scene in wanted]
    await _await_stages(job, resources, LIP_SYNCING, stages, loaded.project)


async def _load(resources: Resources[MVSettings], project_id: UUID) -> ProjectWithScenes:
    try:
        return await load_project(resources.store, project_id)
    except Unknown:
        raise GiveUp("The project was deleted.") from None


def _scene_stage(job_type: str, name: str, project_id: UUID, sequence: int) -> Stage:
    return _stage(job_type, RenderConfig(project_id=project_id, sequence=sequence), f"{name}:{sequence}")


def _lip_sync_stage(loaded: ProjectWithScenes, scene: Scene) -> Stage:
    """A stage for what the scene plays now: if that is changed meanwhile, the next call submits another one."""
    source = lip_sync_source(loaded, scene)
    config = LipSyncConfig(project_id=scene.project_id, sequence=scene.sequence, source=source)
    return _stage(LIP_SYNC, config, f"lips:{source[:12]}:{scene.sequence}")


def _stage(job_type: str, config: ProjectConfig, name: str) -> Stage:
    return Stage(name, Submission(job_type, config, subject=str(config.project_id)))


async def _await_stages(
    job: JobContext, resources: Resources[MVSettings], phase: Phase, stages: Sequence[Stage], project: Project, *, done_already: int = 0
) -> None:
    """Return if the jobs of all stages have completed. Raises `Snooze` while some are active, and `GiveUp` once the rest failed.

    `done_already` is the number of scenes that need no job and count as done.
    """
    children = list((await submit_stages(job, resources.queue, stages)).values())
    ended = [child for child in children if child.status in _UNSUCCESSFUL]
    waiting = [child for child in children if child.status not in (JobStatus.COMPLETED, *_UNSUCCESSFUL)]
    total = done_already + len(children)
    share = 1.0 - sum(1.0 - _fraction(child) for child in waiting) / total if total else 1.0
    words = f"{phase.words}: {total - len(waiting)} of {total}"
    job.progress(phase.start + (phase.end - phase.start) * share, 1.0, words)
    if waiting:
        await advance(resources, project, phase.status)
        raise Snooze(_POLL_SECONDS)
    if ended:
        for child in ended:
            await _fail_scene_of(resources, child)
        reason = reason_of(ended[0])
        raise GiveUp(f"{phase.words.capitalize()} failed in {len(ended)} of {len(children)} jobs. First error: {reason}")


def _fraction(child: Job) -> float:
    return 0.0 if child.progress is None else child.progress.fraction


async def _fail_scene_of(resources: Resources[MVSettings], child: Job) -> None:
    """Mark the scene of a failed render as failed, because a process that died could not do it."""
    if child.job_type in CLIPS:
        config = RenderConfig.model_validate(child.job_config)
        await fail_scene(resources.store, config.project_id, config.sequence, reason_of(child))


async def advance(resources: Resources[MVSettings], project: Project, status: ProjectStatus) -> None:
    """Advance the project from the status with which it was read, never backwards. If its status has changed, it is already further."""
    if _STATUS_ORDER.get(project.status, 0) >= _STATUS_ORDER[status]:
        return
    try:
        await resources.store.patch(
            Project, Project.status.to(status), project_id=project.project_id, condition=Project.status == project.status
        )
    except NotFound:
        raise GiveUp("The project was deleted.") from None
    except (ConditionFailed, IllegalTransition):
        return


async def _move(resources: Resources[MVSettings], project: Project, status: ProjectStatus) -> Project:
    """Change the project's status. Raises `GiveUp` if it was deleted."""
    try:
        return await move_project(resources.store, project.project_id, status)
    except NotFound:
        raise GiveUp("The project was deleted.") from None
