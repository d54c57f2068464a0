"""The job types of music videos: names, configs and results."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from gateleg.errors import NOT_BLANK

GENERATE, PLAN, RENDER, COMPOSE, REFERENCES = "mv.generate", "mv.plan", "mv.render", "mv.compose", "mv.references"
#: Jobs that wait for a provider's model, outside the queue of renders.
FILM, LIP_SYNC = "mv.film", "mv.lip-sync"
#: The job types that make the clip of a scene.
CLIPS = (RENDER, FILM)
#: Renders have their own queue with its own limit, so that small jobs do not wait for them.
RENDERS = "mv-renders"
Shape = Literal["16:9", "9:16", "1:1"]


class ProjectConfig(BaseModel):
    """The project that a job belongs to."""

    model_config = ConfigDict(extra="forbid")

    project_id: UUID


class GenerateConfig(ProjectConfig):
    """Config of a GENERATE job, which renders the scenes without a clip (with `again` all unlocked scenes) and composes the film."""

    again: bool = False
    #: the sequence numbers of scenes to render again, although they have a clip
    only: tuple[int, ...] = ()
    #: stop after the scenes are written
    storyboard: bool = False
    #: use a synthesised song if the project has no track
    demo_song: bool = False


class PlanConfig(ProjectConfig):
    """Config of a PLAN job."""

    #: use a synthesised song if the project has no track
    demo_song: bool = False


class RenderConfig(ProjectConfig):
    """The scene of a RENDER or FILM job."""

    sequence: int


class LipSyncConfig(RenderConfig):
    """Config of a LIP_SYNC job: what its clip is made from (`playing.lip_sync_source`), so that a later change is noticed."""

    source: str | None = None


class ComposeConfig(ProjectConfig):
    """Config of a COMPOSE job: further aspect ratios of the film."""

    variants: tuple[Shape, ...] = ()


class ReferencesConfig(BaseModel):
    """Config of a REFERENCES job: the description, the owner and the provider of the pictures."""

    model_config = ConfigDict(extra="forbid")

    owner: str
    description: str = Field(min_length=1, max_length=2_000, pattern=NOT_BLANK)
    count: int = Field(default=4, ge=1, le=4)
    seed: int = Field(default=0, ge=0)
    provider: str = "studio"


class ReferencesResult(BaseModel):
    """The reference pictures that a REFERENCES job stored."""

    references: list[UUID]


class ProjectResult(BaseModel):
    """Result of a project's jobs."""

    project_id: UUID
    scenes: int
    final_version: int = 0
    seconds: float = 0.0


class ClipResult(BaseModel):
    """Result of a scene's jobs."""

    sequence: int
    take: int
    #: only for clips drawn on this machine
    frames: int = 0
