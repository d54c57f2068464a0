"""`/api/mv`: making videos. Each route submits a job, whose progress `/api/mv/jobs` and `/events/mv/jobs` tell."""

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from gateleg.apps.mv import costs, service, submitting
from gateleg.apps.mv.api import Sequence, changeable_project, resources_of, scene_view, visible_project
from gateleg.apps.mv.job_types import Shape
from gateleg.apps.mv.planning.presets import PRESETS
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.submitting import rewrite_prompt
from gateleg.apps.mv.web.bodies import Once
from gateleg.apps.mv.web.views import SceneView, View
from gateleg.jobs import Job
from gateleg.web.api.calls import Using

router = APIRouter()
Selection = Annotated[tuple[int, ...], Query(max_length=999, description="The sequence of a scene to render again; may be repeated.")]

Shapes = Annotated[tuple[Shape, ...], Query(max_length=3, description="Another shape of the film, such as `9:16`; may be repeated.")]


class Work(View):
    """A job that was submitted."""

    job_id: UUID
    project_id: UUID
    status: str


class EstimateView(View):
    """What making a film would cost."""

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
    """The director presets, which `directorConfig` of a project names."""
    return [PresetView(name=one.name, title=one.title, description=one.description) for one in PRESETS.values()]


class ProviderView(View):
    """A provider that `provider` of a project, a scene or of reference pictures names."""

    name: str
    makes: Literal["clips", "pictures"]
    #: the model's address; null for the studio
    model: str | None = None


@router.get("/providers")
async def providers(call: Using) -> list[ProviderView]:
    """Who makes clips and pictures here: the studio on this machine, and the models of the settings."""
    settings = resources_of(call).settings
    films = [ProviderView(name=name, makes="clips", model=model.model) for name, model in settings.film_models.items()]
    pictures = [ProviderView(name=name, makes="pictures", model=model) for name, model in settings.picture_models.items()]
    return [ProviderView(name=STUDIO, makes="clips"), *films, ProviderView(name=STUDIO, makes="pictures"), *pictures]


def _work(project_id: UUID, job: Job) -> Work:
    return Work(job_id=job.job_id, project_id=project_id, status=job.status.value)


@router.get("/projects/{project_id}/estimate")
async def estimate(call: Using, project_id: UUID, again: bool = False, scene: Selection = ()) -> EstimateView:
    """What `generate` would cost, in US dollars, and whether the project's `spendCap` permits it. The studio costs nothing."""
    await visible_project(call, project_id)
    loaded = await service.load_project(call.host.store, project_id)
    found = costs.estimate(loaded.project, loaded.scenes, resources_of(call), again=again, only=scene)
    return EstimateView(scenes=found.scenes, seconds=found.seconds, cost=found.cost, spend_cap=found.cap, allowed=found.allowed)


@router.post("/projects/{project_id}/generate", status_code=202)
async def generate(
    call: Using, project_id: UUID, again: bool = False, scene: Selection = (), storyboard: bool = False, once: Once = None
) -> Work:
    """Plan the scenes if there are none, render those without a clip and compose the film. `again` renders all that are not locked,
    `scene`, given once for each, only some; `storyboard` ends with the scenes on paper."""
    await changeable_project(call, project_id)
    job = await submitting.generate(
        resources_of(call), call.principal, project_id, again=again, only=scene, storyboard=storyboard, once=once
    )
    return _work(project_id, job)


@router.post("/projects/{project_id}/retry", status_code=202)
async def retry(call: Using, project_id: UUID, once: Once = None) -> Work:
    """Render all scenes that have failed again, and compose the film."""
    await changeable_project(call, project_id)
    return _work(project_id, await submitting.retry_failed(resources_of(call), call.principal, project_id, once=once))


@router.post("/projects/{project_id}/scenes/{sequence}/prompt")
async def rewrite(call: Using, project_id: UUID, sequence: Sequence) -> SceneView:
    """Write the text of a scene anew. Its clip stays until it is rendered again."""
    await changeable_project(call, project_id)
    await rewrite_prompt(resources_of(call), project_id, sequence)
    return await scene_view(call, project_id, sequence)


@router.post("/projects/{project_id}/scenes/{sequence}/render", status_code=202)
async def render(call: Using, project_id: UUID, sequence: Sequence, once: Once = None) -> Work:
    """Make another take of one scene."""
    await changeable_project(call, project_id)
    return _work(project_id, await submitting.render(resources_of(call), call.principal, project_id, sequence, once=once))


@router.post("/projects/{project_id}/compose", status_code=202)
async def compose(call: Using, project_id: UUID, variants: Shapes = (), once: Once = None) -> Work:
    """Compose the film of the clips that play, and other shapes of it."""
    await changeable_project(call, project_id)
    return _work(project_id, await submitting.compose(resources_of(call), call.principal, project_id, variants, once=once))


@router.post("/projects/{project_id}/cancel", status_code=202)
async def cancel(call: Using, project_id: UUID) -> Work:
    """Cancel what works on a project. Scenes that have their clips keep them."""
    await changeable_project(call, project_id)
    return Work(job_id=await submitting.cancel(resources_of(call), project_id), project_id=project_id, status="CANCELLED")
