"""Request bodies: new projects and scenes, and changes to them. Field names are in camel case. Unknown fields are refused."""

from typing import Annotated, Self

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.settings import STUDIO, MVSettings
from gateleg.apps.mv.tables import MAX_REFERENCES, Project, Scene
from gateleg.errors import NOT_BLANK
from gateleg.model import InputModel, PatchModel, S3Key

CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
Once = Annotated[
    str | None, Header(alias="Idempotency-Key", max_length=200, description="A repeated request with the same key returns the first job.")
]
#: Fields that can be set on creation and changed later.
_DECIDED = ["character_description", "product_description", "title", "director_config", "provider", "seed", "spend_cap"]
_FORMAT = ["aspect_ratio", "resolution", "fps"]


class NewProject(InputModel[Project], include=["mode", *_DECIDED, *_FORMAT]):
    """A new project. `prompt` describes what the video is about."""

    model_config = CAMEL
    prompt: str = Field(min_length=1, max_length=2_000, pattern=NOT_BLANK)

    def project(self, owner: str, settings: MVSettings) -> Project:
        """The project of an owner, with defaults from the settings. Raises `UnknownPreset`."""
        usual = {} if "resolution" in self.model_fields_set else {"resolution": settings.resolution}
        director = find_preset(self.director_config or settings.director).name
        return self.entity(owner_id=owner, concept_prompt=self.prompt, director_config=director, **usual)


class ProjectChanges(PatchModel[Project], include=["concept_prompt", *_DECIDED, *_FORMAT]):
    """Changes to a project; null removes an optional value."""

    model_config = CAMEL

    def check(self) -> None:
        """Raise `UnknownPreset` if the preset does not exist."""
        if self.director_config is not None and "director_config" in self.model_fields_set:
            find_preset(self.director_config)


class SceneChanges(
    PatchModel[Scene],
    include=["prompt", "negative_prompt", "duration", "needs_lip_sync", "provider", "seed", "plan", "locked", "reference_image_s3_keys"],
):
    """Changes to a scene; null removes an optional value."""

    model_config = CAMEL


class NewReferences(BaseModel):
    """A description of the pictures, and how many to make."""

    model_config = CAMEL
    character_description: str = Field(min_length=1, max_length=2_000, pattern=NOT_BLANK)
    num_images: int = Field(default=4, ge=1, le=4)
    seed: int = Field(default=0, ge=0)
    provider: str = Field(default=STUDIO, max_length=100)


class NewScene(BaseModel):
    """A scene to add at `position`, counted from 1, or at the end."""

    model_config = CAMEL
    scene_concept: str = Field(min_length=1, max_length=5_000, pattern=NOT_BLANK)
    negative_prompt: str | None = Field(default=None, max_length=1_000)
    duration: float = Field(default=4.0, gt=0, le=600)
    needs_lip_sync: bool = False
    reference_image_s3_keys: list[S3Key] = Field(default=[], max_length=MAX_REFERENCES)
    position: int | None = Field(default=None, ge=1)


class NewOrder(BaseModel):
    """The sequence numbers of all scenes, in playing order."""

    model_config = CAMEL
    scene_order: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=999)


class Cut(BaseModel):
    """The position at which to split a scene, in seconds from its start."""

    model_config = CAMEL
    at: float = Field(gt=0)


class NewTrim(BaseModel):
    """The part of a clip to play, in seconds; null plays all of it."""

    model_config = CAMEL

    class Points(BaseModel):
        """Start and end."""

        model_config = ConfigDict(extra="forbid")
        start: float = Field(alias="in", ge=0)
        end: float = Field(alias="out", gt=0)

        @model_validator(mode="after")
        def check_order(self) -> Self:
            """Raise unless at least a tenth of a second is left."""
            if self.end - self.start < 0.1:
                raise ValueError("out must be at least 0.1 seconds after in")
            return self

    trim_points: Points | None
