"""`/api/mv`: routes that start and cancel jobs. Follow their progress at `/api/mv/jobs` and `/events/mv/jobs`."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from gateleg.apps.mv import costs, job_submission, service
from gateleg.apps.mv.api import Sequence, changeable_project, resources_of, scene_view, visible_project
from gateleg.apps.mv.job_submission import rewrite_prompt
from gateleg.apps.mv.job_types import Shape
from gateleg.apps.mv.planning.presets import PRESETS
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.web.bodies import Once
from gateleg.apps.mv.web.views import SceneView, View
from gateleg.jobs import Job
from gateleg.web.api.calls import Using

router = APIRouter()
Selection = Annotated[
    tuple[int, ...], Query(max_length=999, description="The sequence number of a scene to render again; may be repeated.")
]

Shapes = Annotated[tuple[Shape, ...], Query(max_length=3, description="Another aspect ratio of the film, such as `9:16`; may be repeated.")]


class Work(View):
    """A submitted job."""

    job_id: UUID
    project_id: UUID
    status: str


class EstimateView(View):
    """The estimated cost of a film."""

    scenes: int
    seconds: float
    cost: float
    spend_cap: float | None
    allowed: bool


class PresetView(View):
    """A director preset."""

    name: str
    title: str
    description: str


@router.get("/director-configs")
async def director_configs(call: Using) -> list[PresetView]:
    """List the director presets, the values of a project's `directorConfig`."""
    return [PresetView(name=one.name, title=one.title, description=one.description) for one in PRESETS.values()]


class ProviderView(View):
    """A provider of clips or pictures: a value of `provider` in projects, scenes and references."""

    name: str
    makes: Literal["clips", "pictures"]
    #: the model's address; null for the studio
    model: str | None = None


@router.get("/providers")
async def providers(call: Using) -> list[ProviderView]:
    """List the providers of clips and pictures: the studio on this machine, and the models from the settings."""
    settings = resources_of(call).settings
    films = [ProviderView(name=name, makes="clips", model=model.model) for name, model in settings.film_models.items()]
    pictures = [ProviderView(name=name, makes="pictures", model=model) for name, model in settings.picture_models.items()]
    return [ProviderView(name=STUDIO, makes="clips"), *films, ProviderView(name=STUDIO, makes="pictures"), *pictures]


def _work(project_id: UUID, job: Job) -> Work:
    return Work(job_id=job.job_id, project_id=project_id, status=job.status.value)


@router.get("/projects/{project_id}/estimate")
async def estimate(call: Using, project_id: UUID, again: bool = False, scene: Selection = ()) -> EstimateView:
    """Estimate the cost of `generate` in US dollars, and whether it is within the project's `spendCap`. The studio is free."""
    await visible_project(call, project_id)
    loaded = await service.load_project(call.host.store, project_id)
    found = costs.estimate(loaded.project, loaded.scenes, resources_of(call), again=again, only=scene)
    return EstimateView(scenes=found.scenes, seconds=found.seconds, cost=found.cost, spend_cap=found.cap, allowed=found.allowed)


@router.post("/projects/{project_id}/generate", status_code=202)
async def generate(
    call: Using,
    project_id: UUID,
    again: bool = False,
    scene: Selection = (),
    storyboard: bool = False,
    demo_song: Annotated[bool, Query(alias="demoSong", description="Synthesise a song if the project has none.")] = False,
    once: Once = None,
) -> Work:
    """Plan the scenes if there are none, render scenes without a clip, and compose the film.

    `again` renders all unlocked scenes; `scene` (may be repeated) renders the given scenes again; `storyboard` stops when the scenes are
    written."""
    await changeable_project(call, project_id)
    job = await job_submission.generate(
        resources_of(call), call.principal, project_id, again=again, only=scene, storyboard=storyboard, demo_song=demo_song, once=once
    )
    return _work(project_id, job)


@router.post("/projects/{project_id}/retry", status_code=202)
async def retry(call: Using, project_id: UUID, once: Once = None) -> Work:
    """Render all failed scenes again, and compose the film."""
    await changeable_project(call, project_id)
    return _work(project_id, await job_submission.retry_failed(resources_of(call), call.principal, project_id, once=once))


@router.post("/projects/{project_id}/scenes/{sequence}/prompt")
async def rewrite(call: Using, project_id: UUID, sequence: Sequence) -> SceneView:
    """Rewrite the prompt of a scene. Its clip is kept until it is rendered again."""
    await changeable_project(call, project_id)
    await rewrite_prompt(resources_of(call), project_id, sequence)
    return await scene_view(call, project_id, sequence)


@router.post("/projects/{project_id}/scenes/{sequence}/render", status_code=202)
async def render(call: Using, project_id: UUID, sequence: Sequence, once: Once = None) -> Work:
    """Render another take of one scene."""
    await changeable_project(call, project_id)
    return _work(project_id, await job_submission.render(resources_of(call), call.principal, project_id, sequence, once=once))


@router.post("/projects/{project_id}/compose", status_code=202)
async def compose(call: Using, project_id: UUID, variants: Shapes = (), once: Once = None) -> Work:
    """Compose the film from the current clips, optionally in other aspect ratios too."""
    await changeable_project(call, project_id)
    return _work(project_id, await job_submission.compose(resources_of(call), call.principal, project_id, variants, once=once))


@router.post("/projects/{project_id}/cancel", status_code=202)
async def cancel(call: Using, project_id: UUID) -> Work:
    """Cancel the active job of a project. Finished clips are kept."""
    await changeable_project(call, project_id)
    return Work(job_id=await job_submission.cancel(resources_of(call), project_id), project_id=project_id, status="CANCELLED")
