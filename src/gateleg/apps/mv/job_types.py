"""The job types of music videos: their names, what they are asked for and what they answer."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

GENERATE, PLAN, RENDER, COMPOSE, REFERENCES = "mv.generate", "mv.plan", "mv.render", "mv.compose", "mv.references"
#: Clips and moved lips that models make elsewhere: their jobs wait, and take no place of a render.
FILM, LIP_SYNC = "mv.film", "mv.lip-sync"
#: The job types that make the clip of a scene.
CLIPS = (RENDER, FILM)
#: The queue of renders: it has a limit of its own, so that small jobs need not wait for films.
RENDERS = "mv-renders"
Shape = Literal["16:9", "9:16", "1:1"]


class ProjectConfig(BaseModel):
    """Which project a job is about."""

    model_config = ConfigDict(extra="forbid")

    project_id: UUID


class GenerateConfig(ProjectConfig):
    """What a GENERATE job makes: the scenes that have no clip, with `again` all that are not locked, and the film."""

    again: bool = False
    #: by their sequences, the only scenes that have a clip and are rendered again
    only: tuple[int, ...] = ()
    #: end with the scenes on paper: the storyboard
    storyboard: bool = False


class RenderConfig(ProjectConfig):
    """The scene that a RENDER or FILM job makes a clip for, or whose lips a LIP_SYNC job moves."""

    sequence: int


class ComposeConfig(ProjectConfig):
    """What a COMPOSE job makes beside the film: other shapes of it."""

    variants: tuple[Shape, ...] = ()


class ReferencesConfig(BaseModel):
    """What a REFERENCES job makes, for whom and by which provider."""

    model_config = ConfigDict(extra="forbid")

    owner: str
    description: str = Field(min_length=1, max_length=2_000)
    count: int = Field(default=4, ge=1, le=4)
    seed: int = Field(default=0, ge=0)
    provider: str = "studio"


class ReferencesResult(BaseModel):
    """The pictures that a REFERENCES job has kept."""

    references: list[UUID]


class ProjectResult(BaseModel):
    """What the jobs of a project answer."""

    project_id: UUID
    scenes: int
    final_version: int = 0
    seconds: float = 0.0


class ClipResult(BaseModel):
    """What the jobs of one scene answer."""

    sequence: int
    take: int
    #: of clips that were drawn here
    frames: int = 0
