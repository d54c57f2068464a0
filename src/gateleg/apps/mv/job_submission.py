"""Use cases that start and cancel jobs, shared by the API and the console."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv import costs, rules
from gateleg.apps.mv.job_types import (
    COMPOSE,
    GENERATE,
    REFERENCES,
    RENDER,
    ComposeConfig,
    GenerateConfig,
    ReferencesConfig,
    RenderConfig,
)
from gateleg.apps.mv.providers import clip_type, picture_cost
from gateleg.apps.mv.reconciliation import reconcile
from gateleg.apps.mv.scenes import edit_scene, get_scene
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.tables import Project, ProjectStatus, Scene, SceneStatus
from gateleg.event_loops import import_in_thread
from gateleg.host import submitted_by
from gateleg.jobs import Submission
from gateleg.store import patch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from gateleg.apps.mv.job_types import ProjectConfig, Shape
    from gateleg.host import Principal, Resources
    from gateleg.jobs import Job


async def generate(
    resources: Resources[Any],
    principal: Principal,
    project_id: UUID,
    *,
    again: bool = False,
    only: Collection[int] = (),
    storyboard: bool = False,
    demo_song: bool = False,
    once: str | None = None,
) -> Job:
    """Submit the job that plans missing scenes, renders scenes without a clip and the selected ones, and composes the film.

    With `demo_song`, a song is synthesised for a project without a track; otherwise such a project is refused.
    """
    loaded = await reconcile(resources.store, resources.queue, project_id)
    project = loaded.project
    rules.check_startable(project)
    rules.check_selection(loaded.scenes, only)
    if not storyboard:
        costs.check_spend_cap(project, costs.estimate(project, loaded.scenes, resources, again=again, only=only))
    if not demo_song:
        rules.check_track(project)
    config = GenerateConfig(project_id=project_id, again=again, only=tuple(sorted(set(only))), storyboard=storyboard, demo_song=demo_song)
    return await _submit(resources, principal, project, GENERATE, config, _once(project, "generate", once))


async def retry_failed(resources: Resources[Any], principal: Principal, project_id: UUID, *, once: str | None = None) -> Job:
    """Submit the job that renders the failed scenes and composes the film. Raises `WrongProjectState` if no scene has failed."""
    loaded = await reconcile(resources.store, resources.queue, project_id)
    if not any(scene.status is SceneStatus.FAILED for scene in loaded.scenes):
        raise rules.WrongProjectState(
            "No scene of this project has failed.", fix="POST /api/mv/projects/{id}/generate renders scenes without a clip."
        )
    return await generate(resources, principal, project_id, once=once)


async def render(resources: Resources[Any], principal: Principal, project_id: UUID, sequence: int, *, once: str | None = None) -> Job:
    """Submit the job that renders another take of one scene. Other scenes may be rendered at the same time."""
    loaded = await reconcile(resources.store, resources.queue, project_id)
    scene = await get_scene(resources.store, project_id, sequence)
    if clip_type(loaded.project, scene) == RENDER:
        # A clip that is drawn here moves to the song; a model does not hear it.
        rules.check_track(loaded.project)
    costs.check_spend_cap(loaded.project, costs.estimate(loaded.project, [scene], resources, again=True))
    key = _once(loaded.project, f"render:{sequence}:{scene.version}", once)
    config = RenderConfig(project_id=project_id, sequence=sequence)
    submitted = await resources.queue.submit(_about(principal, loaded.project, clip_type(loaded.project, scene), config, key))
    return submitted.job


async def compose(
    resources: Resources[Any], principal: Principal, project_id: UUID, variants: Sequence[Shape] = (), *, once: str | None = None
) -> Job:
    """Submit the job that composes the film from the current clips, and optionally in other aspect ratios too."""
    loaded = await reconcile(resources.store, resources.queue, project_id)
    rules.check_composable(loaded.project, loaded.scenes)
    rules.check_track(loaded.project)
    config = ComposeConfig(project_id=project_id, variants=tuple(variants))
    return await _submit(resources, principal, loaded.project, COMPOSE, config, _once(loaded.project, "compose", once))


async def make_references(
    resources: Resources[Any],
    principal: Principal,
    description: str,
    count: int,
    seed: int,
    *,
    provider: str = STUDIO,
    once: str | None = None,
) -> Job:
    """Submit the job that makes reference pictures from a description, with the studio or a model from the settings."""
    owner = principal.owner
    picture_cost(resources, provider, count)
    config = ReferencesConfig(owner=owner, description=description, count=count, seed=seed, provider=provider)
    key = None if once is None else f"mv:references:{owner}:{once}"
    return (await resources.queue.submit(submitted_by(principal, Submission(REFERENCES, config, idempotency_key=key)))).job


async def rewrite_prompt(resources: Resources[Any], project_id: UUID, sequence: int) -> Scene:
    """Rewrite the prompt of a scene."""
    rewrite_scene = (await import_in_thread("gateleg.apps.mv.prompt_rewrites")).rewrite_scene
    scene = await get_scene(resources.store, project_id, sequence)
    # Run in a thread, because loading the studio would block the event loop.
    text = await asyncio.to_thread(rewrite_scene, await load_project(resources.store, project_id), sequence)
    plan = {**scene.plan, "shot": text.shot, "move": text.move, "namesSubject": text.names_subject}
    return await edit_scene(resources.store, project_id, sequence, [Scene.prompt.set(text.prompt), Scene.plan.set(plan)], scene.version)


async def cancel(resources: Resources[Any], project_id: UUID) -> UUID:
    """Cancel the active job of a project, and return its id. Finished clips are kept. Raises `WrongProjectState` if no job is active."""
    loaded = await reconcile(resources.store, resources.queue, project_id)
    job_id = loaded.project.root_job_id
    if job_id is None or not rules.is_busy(loaded.project):
        raise rules.WrongProjectState("No job is active on this project.", fix="POST /api/mv/projects/{id}/generate starts one.")
    await resources.queue.cancel_tree(job_id)
    await reconcile(resources.store, resources.queue, project_id)
    return job_id


async def _submit(resources: Resources[Any], principal: Principal, project: Project, job_type: str, config: ProjectConfig, key: str) -> Job:
    """Submit a job, and mark its project as queued, in one transaction."""
    enlisted = await resources.queue.enlist(_about(principal, project, job_type, config, key))
    if enlisted.created:
        actions = [Project.root_job_id.set(enlisted.job.job_id), Project.error_message.remove(), Project.status.to(ProjectStatus.QUEUED)]
        await resources.store.transact([patch(project, *actions), *enlisted.writes])
        await resources.audit.note(principal, "mv.work", str(project.project_id), job=str(enlisted.job.job_id), type=job_type)
    return enlisted.job


def _once(project: Project, what: str, sent: str | None) -> str:
    """The idempotency key of a job: the client's, or one that depends on the project's version."""
    return f"mv:{project.project_id}:{what}:{sent or f'v{project.version}'}"


def _about(principal: Principal, project: Project, job_type: str, config: ProjectConfig, key: str) -> Submission:
    return submitted_by(principal, Submission(job_type, config, subject=str(project.project_id), idempotency_key=key))
