"""Providers of clips and pictures: the studio on this machine, or models from the settings; their requests and costs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from gateleg.ai import Account, MediaRequest
from gateleg.apps.mv.job_types import FILM, RENDER
from gateleg.apps.mv.settings import STUDIO
from gateleg.host import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai import AsyncMedia, AsyncModels, Attachment
    from gateleg.apps.mv.settings import FilmModel, MVSettings
    from gateleg.apps.mv.tables import Project, Scene
    from gateleg.host import Resources


class ProviderUnknown(Refusal):
    """The provider is not configured on this host."""

    code = "unknown-provider"
    status = 422
    fix = "Set `provider` to one that GET /api/mv/providers lists."


class PriceMissing(Refusal):
    """The price of a model is not configured, so the model cannot be used."""

    status = 409
    fix = "Ask the administrator of this host to set its price per second below [models.prices] in gateleg.toml (0 if it is free)."


def provider_of(project: Project, scene: Scene | None = None) -> str:
    """The name of the provider of a scene, or of a project's scenes."""
    return (scene.provider if scene is not None else None) or project.provider


def clip_type(project: Project, scene: Scene) -> str:
    """The job type that makes the clip of a scene."""
    return RENDER if provider_of(project, scene) == STUDIO else FILM


def find_film_model(settings: MVSettings, name: str) -> FilmModel:
    """The video model of a provider. Raises `ProviderUnknown`."""
    if name not in settings.film_models:
        raise ProviderUnknown(f"There is no provider {name!r}. Available providers: {', '.join((STUDIO, *settings.film_models))}.")
    return settings.film_models[name]


def find_picture_model(settings: MVSettings, name: str) -> str:
    """The address of a model that makes reference pictures. Raises `ProviderUnknown`."""
    if name not in settings.picture_models:
        known = ", ".join((STUDIO, *settings.picture_models))
        raise ProviderUnknown(f"There is no picture provider {name!r}.", fix=f"Use one of: {known}.")
    return settings.picture_models[name]


def media_of(resources: Resources[Any], address: str, tenant: str | None) -> AsyncMedia:
    """The media model at an address. Its usage is recorded for the tenant."""
    models: AsyncModels = resources.models
    return models.billed_to(Account(resources.application, tenant)).media(address)


def film_seconds(model: FilmModel, duration: float) -> int:
    """The clip length to request: the shortest that covers the scene, or the longest available. Shorter clips are slowed down."""
    return min((length for length in model.seconds if length >= duration), default=max(model.seconds))


def film_request(project: Project, scene: Scene, model: FilmModel, pictures: Sequence[Attachment] = ()) -> MediaRequest:
    """The request for a video model, with the scene's reference pictures in the order of `subjects_of`."""
    shape = project.aspect_ratio if project.aspect_ratio in model.aspect_ratios else model.aspect_ratios[0]
    return MediaRequest(
        "video",
        _prompt(project, scene),
        negative_prompt=scene.negative_prompt or "",
        seconds=Decimal(film_seconds(model, scene.duration)),
        aspect_ratio=shape,
        seed=scene.seed if scene.seed is not None else project.seed or None,
        image=pictures[0] if pictures and model.picture == "first-frame" else None,
        references=tuple(pictures) if model.picture == "reference" else (),
        options=model.options,
    )


def _prompt(project: Project, scene: Scene) -> str:
    """The prompt of a scene. It always describes the character and the product, because models do not know the other scenes."""
    described = (project.character_description, project.product_description)
    unsaid = [words for words in described if words and words.lower() not in scene.prompt.lower()]
    return scene.prompt if not unsaid else f"{scene.prompt} Shown: {'; '.join(unsaid)}."


def film_cost(resources: Resources[Any], provider: str, duration: float) -> float:
    """The cost of a scene's clip in US dollars; the studio is free. Raises `ProviderUnknown` and `PriceMissing`."""
    if provider == STUDIO:
        return 0.0
    model = find_film_model(resources.settings, provider)
    request = MediaRequest("video", seconds=Decimal(film_seconds(model, duration)))
    return _priced(resources, model.model, request, provider)


def lip_sync_cost(resources: Resources[Any], duration: float) -> float:
    """The cost of lip-syncing a clip in US dollars; 0 if no lip-sync model is configured."""
    address = resources.settings.lip_sync_model
    if address is None:
        return 0.0
    return _priced(resources, address, MediaRequest("lip-sync", seconds=Decimal(str(round(duration, 3)))), address)


def picture_cost(resources: Resources[Any], provider: str, count: int) -> float:
    """The cost of reference pictures in US dollars."""
    if provider == STUDIO:
        return 0.0
    address = find_picture_model(resources.settings, provider)
    return _priced(resources, address, MediaRequest("image", count=count), provider)


def _priced(resources: Resources[Any], address: str, request: MediaRequest, name: str) -> float:
    cost = resources.models.media(address).estimate(request).cost
    if cost is None:
        raise PriceMissing(f"The price of {name} ({address}) is not configured.")
    return float(cost)
