"""Response bodies of projects, scenes, takes and films. Expiring URLs replace object keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gateleg.apps.mv.service import ProjectWithScenes, StatusCount
from gateleg.apps.mv.tables import FinalVersion, Mode, Project, ProjectStatus, Reference, Scene, SceneStatus, Take
from gateleg.model.inspection import is_refused, refused_object_keys
from gateleg.objects import AsyncObjects


@dataclass(frozen=True)
class Links:
    """Creates expiring URLs of objects."""

    objects: AsyncObjects
    #: how long the URLs are valid, in seconds
    valid: int

    async def url(self, key: str) -> str:
        """The URL of an object."""
        return await self.objects.presign(key, expires=self.valid)

    async def maybe(self, key: str | None) -> str | None:
        """The URL of an object; None without a key, and for what another program has stored in place of one."""
        return None if key is None or is_refused(key) else await self.url(key)

    async def all(self, keys: Iterable[str]) -> list[str]:
        """The URLs of objects, without those of invalid keys."""
        return [await self.url(key) for key in keys if not is_refused(key)]


class View(BaseModel):
    """A response body with field names in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


INVALID = Field(
    description="Attributes in which another program has stored something else than an object key. They count as absent; "
    "`POST /projects/{id}/repair` clears them."
)


class Trim(View):
    """The part of a clip that plays, in seconds."""

    start: float = Field(alias="in", ge=0)
    end: float = Field(alias="out", gt=0)


class SceneView(View):
    """A scene."""

    project_id: UUID
    sequence: int = Field(description="The scene's permanent number; its position is `displaySequence`.")
    display_sequence: int = Field(description="The scene's position in the film, from 1.")
    status: SceneStatus
    prompt: str
    negative_prompt: str | None
    duration: float
    reference_image_urls: list[str]
    audio_clip_url: str | None
    video_clip_url: str | None
    original_video_clip_url: str | None
    working_video_clip_url: str | None
    lip_synced_video_clip_url: str | None
    needs_lip_sync: bool
    trim_points: Trim | None
    provider: str | None
    seed: int | None
    plan: dict[str, str | float | bool]
    locked: bool
    take: int
    retry_count: int
    error_message: str | None
    video_generation_job_id: UUID | None
    created_at: datetime
    updated_at: datetime
    version: int
    invalid_fields: list[str] = INVALID


class ProjectSummary(View):
    """A project without its scenes."""

    project_id: UUID
    title: str
    status: ProjectStatus
    mode: Mode
    concept_prompt: str
    character_description: str | None
    product_description: str | None
    director_config: str | None
    provider: str
    aspect_ratio: str
    resolution: int
    fps: int
    seed: int
    scene_count: int
    completed_scenes: int
    failed_scenes: int
    audio_duration: float | None
    tempo: float | None
    root_job_id: UUID | None
    error_message: str | None
    spend_cap: float | None
    final_version: int
    created_at: datetime
    updated_at: datetime
    version: int
    invalid_fields: list[str] = INVALID


class ProjectView(ProjectSummary):
    """A project with its scenes in playing order."""

    character_image_url: str | None
    product_image_url: str | None
    audio_backing_track_url: str | None
    lyrics_url: str | None
    analysis_url: str | None
    final_output_url: str | None
    scenes: list[SceneView]


class TakeView(View):
    """One take of a scene."""

    take: int
    clip_url: str | None
    prompt: str
    provider: str
    duration: float
    seed: int | None
    cost: float
    playing: bool
    created_at: datetime


class FinalView(View):
    """One film of a project."""

    number: int
    video_url: str | None
    duration: float
    companion_urls: dict[str, str]
    playing: bool
    created_at: datetime


class ReferenceView(View):
    """A reference picture of a character or product."""

    reference_id: UUID
    image_url: str | None
    description: str
    source: str
    created_at: datetime


class StatusCountView(View):
    """One row of the status board."""

    status: ProjectStatus
    count: int
    more: bool
    oldest: datetime | None

    @classmethod
    def of(cls, row: StatusCount) -> "StatusCountView":
        """Create the view of a row."""
        return cls(status=row.status, count=row.count, more=row.more, oldest=row.oldest)


def _same(model: type[BaseModel], source: Any) -> dict[str, Any]:
    """The fields that a view and its source have in common."""
    return {name: getattr(source, name) for name in model.model_fields if hasattr(source, name)}


def summary_of(project: Project) -> ProjectSummary:
    """A project in a list."""
    return ProjectSummary.model_validate({**_same(ProjectSummary, project), "invalid_fields": refused_object_keys(project)})


async def view_project(links: Links, loaded: ProjectWithScenes) -> ProjectView:
    """A project with the URLs of its files."""
    project = loaded.project
    return ProjectView.model_validate(
        {
            **_same(ProjectSummary, project),
            "invalid_fields": refused_object_keys(project),
            "character_image_url": await links.maybe(project.character_image_s3_key),
            "product_image_url": await links.maybe(project.product_image_s3_key),
            "audio_backing_track_url": await links.maybe(project.audio_backing_track_s3_key),
            "lyrics_url": await links.maybe(project.lyrics_s3_key),
            "analysis_url": await links.maybe(project.analysis_s3_key),
            "final_output_url": await links.maybe(project.final_output_s3_key),
            "scenes": [await view_scene(links, scene, place) for place, scene in enumerate(loaded.scenes, 1)],
        }
    )


async def view_scene(links: Links, scene: Scene, place: int) -> SceneView:
    """A scene with the URLs of its files. `place` is its position in the film."""
    trim = scene.trim_points
    return SceneView.model_validate(
        {
            **_same(SceneView, scene),
            "display_sequence": place,
            "invalid_fields": refused_object_keys(scene),
            "reference_image_urls": await links.all(scene.reference_image_s3_keys),
            "audio_clip_url": await links.maybe(scene.audio_clip_s3_key),
            "video_clip_url": await links.maybe(scene.video_clip_s3_key),
            "original_video_clip_url": await links.maybe(scene.original_video_clip_s3_key),
            "working_video_clip_url": await links.maybe(scene.working_video_clip_s3_key),
            "lip_synced_video_clip_url": await links.maybe(scene.lip_synced_video_clip_s3_key),
            "trim_points": None if trim is None else {"start": trim.start, "end": trim.end},
        }
    )


async def view_take(links: Links, take: Take, scene: Scene) -> TakeView:
    """A take with the URL of its clip."""
    url = await links.maybe(take.clip_s3_key)
    return TakeView.model_validate({**_same(TakeView, take), "clip_url": url, "playing": take.take == scene.take})


async def view_final(links: Links, final: FinalVersion, project: Project) -> FinalView:
    """A film with the URLs of its files."""
    return FinalView.model_validate(
        {
            **_same(FinalView, final),
            "video_url": await links.maybe(final.video_s3_key),
            "companion_urls": {name: await links.url(key) for name, key in final.companions.items() if not is_refused(key)},
            "playing": final.number == project.final_version,
        }
    )


async def view_reference(links: Links, reference: Reference) -> ReferenceView:
    """A reference picture with its URL."""
    url = await links.maybe(reference.image_s3_key)
    return ReferenceView.model_validate({**_same(ReferenceView, reference), "image_url": url})
