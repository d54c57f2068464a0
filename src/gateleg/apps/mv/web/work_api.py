"""`/api/mv`: making videos. Each route submits a job, whose progress `/api/mv/jobs` and `/events/mv/jobs` tell."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header

from gateleg.apps.mv import rules, service
from gateleg.apps.mv.api import Sequence, changeable, seen
from gateleg.apps.mv.job_types import COMPOSE, GENERATE, RENDER, ComposeConfig, GenerateConfig, RenderConfig, Shape
from gateleg.apps.mv.planning.presets import PRESETS
from gateleg.apps.mv.scenes import get_scene
from gateleg.apps.mv.tables import Project, ProjectStatus
from gateleg.apps.mv.web.views import View
from gateleg.jobs import JobMissing, JobStatus, Submission
from gateleg.store import patch
from gateleg.web.api.calls import Call, Using

router = APIRouter()
Once = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="Sent again, it gives the first job back.")]


class Work(View):
    """A job that was submitted."""

    job_id: UUID
    project_id: UUID
    status: str


class PresetView(View):
    """A director preset."""

    name: str
    title: str
    description: str


@router.get("/director-configs")
async def director_configs(call: Using) -> list[PresetView]:
    """The director presets, which `directorConfig` of a project names."""
    return [PresetView(name=one.name, title=one.title, description=one.description) for one in PRESETS.values()]


async def settled(call: Call, project: Project) -> Project:
    """The project; one whose job has ended without a word is taken for failed."""
    if project.status not in rules.BUSY or project.root_job_id is None:
        return project
    try:
        job = await call.host.queue.get_or_archived(project.root_job_id)
    except JobMissing:
        status = JobStatus.FAILED
    else:
        status = job.status
    if status not in (JobStatus.FAILED, JobStatus.CANCELLED):
        return project
    reason = "The job was cancelled." if status is JobStatus.CANCELLED else "The job failed."
    return await service.move_project(
        call.host.store, project.project_id, ProjectStatus.FAILED, Project.error_message.set(project.error_message or reason)
    )


async def _submit(call: Call, project: Project, submission: Submission) -> Work:
    """Submit a job, and queue its project in the same transaction: neither is there without the other."""
    enlisted = await call.host.queue.enlist(submission)
    if enlisted.created:
        actions = [Project.root_job_id.set(enlisted.job.job_id), Project.error_message.remove(), Project.status.to(ProjectStatus.QUEUED)]
        await call.host.store.transact([patch(project, *actions), *enlisted.writes])
        await call.note("mv.work", str(project.project_id), job=str(enlisted.job.job_id), type=submission.job_type)
    return Work(job_id=enlisted.job.job_id, project_id=project.project_id, status=enlisted.job.status.value)


def _once(project: Project, what: str, sent: str | None) -> str:
    """The key under which a job is submitted once: the client's, or one for the state that the project is in."""
    return f"mv:{project.project_id}:{what}:{sent or f'v{project.version}'}"


@router.post("/projects/{project_id}/generate", status_code=202)
async def generate(call: Using, project_id: UUID, again: bool = False, storyboard: bool = False, once: Once = None) -> Work:
    """Plan the scenes if there are none, render those without a clip and compose the film. `again` renders all that are not locked;
    `storyboard` ends with the scenes on paper."""
    project = await settled(call, await changeable(call, project_id))
    rules.startable(project)
    config = GenerateConfig(project_id=project_id, again=again, storyboard=storyboard)
    key = _once(project, "generate", once)
    return await _submit(call, project, _about(call, project, GENERATE, config, key))


@router.post("/projects/{project_id}/scenes/{sequence}/render", status_code=202)
async def render(call: Using, project_id: UUID, sequence: Sequence, once: Once = None) -> Work:
    """Make another take of one scene."""
    project = await settled(call, await changeable(call, project_id))
    scene = await get_scene(call.host.store, project_id, sequence)
    config = RenderConfig(project_id=project_id, sequence=sequence)
    submission = _about(call, project, RENDER, config, _once(project, f"render:{sequence}:{scene.version}", once))
    submitted = await call.host.queue.submit(submission)
    return Work(job_id=submitted.job.job_id, project_id=project_id, status=submitted.job.status.value)


@router.post("/projects/{project_id}/compose", status_code=202)
async def compose(call: Using, project_id: UUID, variants: tuple[Shape, ...] = (), once: Once = None) -> Work:
    """Compose the film of the clips that play, and other shapes of it."""
    project = await settled(call, await changeable(call, project_id))
    loaded = await service.load(call.host.store, project_id)
    rules.composable(project, loaded.scenes)
    key = _once(project, "compose", once)
    config = ComposeConfig(project_id=project_id, variants=variants)
    return await _submit(call, project, _about(call, project, COMPOSE, config, key))


@router.post("/projects/{project_id}/cancel", status_code=202)
async def cancel(call: Using, project_id: UUID) -> Work:
    """Cancel what works on a project. Scenes that have their clips keep them."""
    project = await changeable(call, project_id)
    if project.root_job_id is None:
        raise rules.WrongState("Nothing works on this project.", fix="POST .../generate begins.")
    await call.host.queue.cancel_tree(project.root_job_id)
    await settled(call, await seen(call, project_id))
    return Work(job_id=project.root_job_id, project_id=project_id, status="CANCELLED")


def _about(call: Call, project: Project, job_type: str, config: GenerateConfig | RenderConfig | ComposeConfig, key: str) -> Submission:
    return Submission(job_type, config, subject=str(project.project_id), created_by=call.principal.name, idempotency_key=key)
