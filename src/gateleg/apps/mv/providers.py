"""Who makes the clip of a scene: the studio on this machine, or a video model of the settings; what it is asked for and what it costs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.ai import Account, MediaRequest
from gateleg.apps.mv.job_types import FILM, RENDER
from gateleg.apps.mv.settings import STUDIO
from gateleg.web import Refusal

if TYPE_CHECKING:
    from gateleg.ai import AsyncMedia, AsyncModels, Attachment
    from gateleg.apps.mv.settings import FilmModel, MVSettings
    from gateleg.apps.mv.tables import Project, Scene
    from gateleg.web import Resources


class ProviderUnknown(Refusal):
    """A provider that this host does not have."""

    code = "unknown-provider"
    status = 422
    fix = "Set `provider` to one that GET /api/mv/providers lists."


class PriceMissing(Refusal):
    """A model whose price is not in the settings: nothing is bought without one."""

    code = "price-missing"
    status = 409
    fix = "Ask whoever runs this host to set its price per second under [models.prices] in gateleg.toml; 0 for one that costs nothing."


def provider_of(project: Project, scene: Scene | None = None) -> str:
    """The name of the provider that makes a scene, or the scenes of a project."""
    return (scene.provider if scene is not None else None) or project.provider


def clip_type(project: Project, scene: Scene) -> str:
    """The type of the job that makes the clip of a scene."""
    return RENDER if provider_of(project, scene) == STUDIO else FILM


def find_film_model(settings: MVSettings, name: str) -> FilmModel:
    """The video model of a provider. Raises `ProviderUnknown`."""
    if name not in settings.film_models:
        raise ProviderUnknown(f"There is no provider {name!r} here; there are: {', '.join((STUDIO, *settings.film_models))}.")
    return settings.film_models[name]


def find_picture_model(settings: MVSettings, name: str) -> str:
    """The address of a model that makes reference pictures. Raises `ProviderUnknown`."""
    if name not in settings.picture_models:
        known = ", ".join((STUDIO, *settings.picture_models))
        raise ProviderUnknown(f"There is no provider {name!r} of pictures here; there are: {known}.", fix=f"Use one of: {known}.")
    return settings.picture_models[name]


def media_of(resources: Resources[Any], address: str, tenant: str | None) -> AsyncMedia:
    """A model of the settings; what it makes is recorded for the tenant."""
    models: AsyncModels = resources.models
    return models.billed_to(Account(resources.application, tenant)).media(address)


def film_seconds(model: FilmModel, duration: float) -> int:
    """The length to ask for: the shortest that covers a scene, or the longest there is. A clip that is too short is slowed down."""
    return min((length for length in model.seconds if length >= duration), default=max(model.seconds))


def film_request(project: Project, scene: Scene, model: FilmModel, picture: Attachment | None = None) -> MediaRequest:
    """What a video model is asked for."""
    shape = project.aspect_ratio if project.aspect_ratio in model.aspect_ratios else model.aspect_ratios[0]
    return MediaRequest(
        "video",
        _prompt(project, scene),
        negative_prompt=scene.negative_prompt or "",
        seconds=Decimal(film_seconds(model, scene.duration)),
        aspect_ratio=shape,
        seed=scene.seed if scene.seed is not None else project.seed or None,
        image=picture if model.picture == "first-frame" else None,
        references=(picture,) if picture is not None and model.picture == "reference" else (),
        options=model.options,
    )


def _prompt(project: Project, scene: Scene) -> str:
    """The text of a scene. A model knows nothing of the other scenes, so who appears in it is described every time."""
    who = project.character_description or project.product_description
    return scene.prompt if not who or who.lower() in scene.prompt.lower() else f"{scene.prompt} Shown: {who}."


def film_cost(resources: Resources[Any], provider: str, duration: float) -> float:
    """US dollars for the clip of a scene. The studio costs nothing. Raises `ProviderUnknown` and `PriceMissing`."""
    if provider == STUDIO:
        return 0.0
    model = find_film_model(resources.settings, provider)
    request = MediaRequest("video", seconds=Decimal(film_seconds(model, duration)))
    return _priced(resources, model.model, request, provider)


def lip_sync_cost(resources: Resources[Any], duration: float) -> float:
    """US dollars for moving the lips in the clip of a scene; nothing where no model is configured for it."""
    address = resources.settings.lip_sync_model
    if address is None:
        return 0.0
    return _priced(resources, address, MediaRequest("lip-sync", seconds=Decimal(str(round(duration, 3)))), address)


def picture_cost(resources: Resources[Any], provider: str, count: int) -> float:
    """US dollars for reference pictures."""
    if provider == STUDIO:
        return 0.0
    address = find_picture_model(resources.settings, provider)
    return _priced(resources, address, MediaRequest("image", count=count), provider)


def _priced(resources: Resources[Any], address: str, request: MediaRequest, name: str) -> float:
    cost = resources.models.media(address).estimate(request).cost
    if cost is None:
        raise PriceMissing(f"The price of {name} ({address}) is not known here.")
    return float(cost)
