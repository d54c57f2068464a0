"""What clients send: new projects and scenes, and changes of them. Names are in camel case; unknown ones are refused."""

from typing import Annotated, Self

from fastapi import Header
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.settings import STUDIO, MVSettings
from gateleg.apps.mv.tables import Project, Scene
from gateleg.model import InputModel, PatchModel

CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")
Once = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="Sent again, it gives the first job back.")]
#: What the owner of a project decides, now and later.
_DECIDED = ["character_description", "product_description", "title", "director_config", "provider", "seed", "spend_cap"]
_FORMAT = ["aspect_ratio", "resolution", "fps"]


class NewProject(InputModel[Project], include=["mode", *_DECIDED, *_FORMAT]):
    """A new project. `prompt` is what the video is about."""

    model_config = CAMEL
    prompt: str = Field(min_length=1, max_length=2_000)

    def project(self, owner: str, settings: MVSettings) -> Project:
        """The project of an owner. What was not sent is as the settings have it; a preset must exist."""
        usual = {} if "resolution" in self.model_fields_set else {"resolution": settings.resolution}
        director = find_preset(self.director_config or settings.director).name
        return self.entity(owner_id=owner, concept_prompt=self.prompt, director_config=director, **usual)


class ProjectChanges(PatchModel[Project], include=["concept_prompt", *_DECIDED, *_FORMAT]):
    """Changes of a project; null removes what may be absent."""

    model_config = CAMEL

    def check(self) -> None:
        """Refuse a preset that does not exist."""
        if self.director_config is not None and "director_config" in self.model_fields_set:
            find_preset(self.director_config)


class SceneChanges(
    PatchModel[Scene], include=["prompt", "negative_prompt", "duration", "needs_lip_sync", "provider", "seed", "plan", "locked"]
):
    """Changes of a scene; null removes what may be absent."""

    model_config = CAMEL


class NewReferences(BaseModel):
    """Who or what is to be drawn, and how many pictures."""

    model_config = CAMEL
    character_description: str = Field(min_length=1, max_length=2_000)
    num_images: int = Field(default=4, ge=1, le=4)
    seed: int = Field(default=0, ge=0)
    provider: str = Field(default=STUDIO, max_length=100)


class NewScene(BaseModel):
    """A scene to be added. `position` is its place from 1; without it the scene comes last."""

    model_config = CAMEL
    scene_concept: str = Field(min_length=1, max_length=5_000)
    negative_prompt: str | None = Field(default=None, max_length=1_000)
    duration: float = Field(default=4.0, gt=0, le=600)
    needs_lip_sync: bool = False
    position: int | None = Field(default=None, ge=1)


class NewOrder(BaseModel):
    """All scenes by sequence, as they are to play."""

    model_config = CAMEL
    scene_order: list[Annotated[int, Field(ge=1)]] = Field(min_length=1, max_length=999)


class Cut(BaseModel):
    """Where to split a scene, in seconds."""

    model_config = CAMEL
    at: float = Field(gt=0)


class NewTrim(BaseModel):
    """The part of a clip that plays, in seconds; null plays all of it again."""

    model_config = CAMEL

    class Points(BaseModel):
        """From and to."""

        model_config = ConfigDict(extra="forbid")
        start: float = Field(alias="in", ge=0)
        end: float = Field(alias="out", gt=0)

        @model_validator(mode="after")
        def check_order(self) -> Self:
            """At least a tenth of a second must be left."""
            if self.end - self.start < 0.1:
                raise ValueError("out must be at least 0.1 seconds behind in")
            return self

    trim_points: Points | None
