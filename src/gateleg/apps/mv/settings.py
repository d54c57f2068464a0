"""The settings of music videos: `[mv]` in `gateleg.toml`, and `GATELEG_MV__FIELD`."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: The name of the provider that draws on this machine.
STUDIO = "studio"


class FilmModel(BaseModel):
    """A video model for scenes, such as `[mv.film_models.veo]`. Its price per second is in `[models.prices]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1, description="its address, such as gemini:veo-3.0-generate-001 or replicate:google/veo-3")
    seconds: tuple[int, ...] = Field(
        default=(4, 6, 8), min_length=1, description="the clip lengths it offers, in seconds; the next longer one is requested"
    )
    aspect_ratios: tuple[str, ...] = Field(
        default=("16:9", "9:16"), min_length=1, description="the aspect ratios it offers; others are cropped from the first"
    )
    picture: Literal["none", "first-frame", "reference"] = Field(
        default="none",
        description="how it uses the pictures of the product and the character: not at all, the first as the first frame, or as references",
    )
    references: int = Field(default=3, ge=1, le=16, description="how many reference pictures it takes")
    options: dict[str, str | int | float | bool] = Field(default={}, description="further parameters of the model, by its own names")


class MVSettings(BaseModel):
    """The settings of the music video application."""

    model_config = ConfigDict(extra="forbid")

    director: str = Field(default="clean", description="the director preset of projects without one")
    resolution: int = Field(default=720, ge=144, le=2160, description="the default resolution: pixels of the shorter side; 480 is a draft")
    most_scenes: int = Field(default=200, ge=1, le=999, description="the maximum number of scenes in a project")
    longest_song: float = Field(default=900.0, gt=0, le=7200, description="the maximum length of a song, in seconds")
    longest_clip: float = Field(default=600.0, gt=0, le=7200, description="the maximum length of a clip, in seconds")
    song_bytes: int = Field(
        default=200_000_000, ge=1000, description="the maximum size of a song in bytes; the host's upload_limit applies as well"
    )
    clip_bytes: int = Field(
        default=500_000_000, ge=1000, description="the maximum size of a clip in bytes; the host's upload_limit applies as well"
    )
    picture_bytes: int = Field(default=20_000_000, ge=1000, le=200_000_000, description="the maximum size of a picture, in bytes")
    probe_seconds: float = Field(default=20.0, gt=0, le=600, description="the time limit for probing an uploaded file, in seconds")
    probe_memory: int = Field(default=1_500_000_000, ge=200_000_000, description="the memory limit for probing an uploaded file, in bytes")
    renders_per_worker: int | None = Field(
        default=None, ge=1, le=256, description="how many scenes a worker renders at once; by default one less than it has cores"
    )
    fonts: tuple[Path, ...] = Field(
        default=(),
        description="font files for scripts that the built-in fonts lack (Chinese, Arabic, Thai, ...), tried in this order",
    )
    film_models: dict[str, FilmModel] = Field(
        default={}, description="video models, by the name used as `provider` of a project or scene; the studio is always available"
    )
    picture_models: dict[str, str] = Field(
        default={}, description="addresses of models for reference pictures, such as gemini:imagen-4.0-generate-001, by provider name"
    )
    lip_sync_model: str | None = Field(
        default=None, description="the address of a lip-sync model, such as replicate:sync/lipsync-2, for scenes with needsLipSync"
    )
    film_minutes: float = Field(default=60.0, gt=0, le=1440, description="the time limit of a video model for one scene, in minutes")
    link_seconds: int = Field(
        default=3600, ge=10, le=604_800, description="how long links to films, clips and pictures are valid, in seconds"
    )

    @field_validator("film_models", "picture_models")
    @classmethod
    def check_names(cls, value: dict[str, object]) -> dict[str, object]:
        """The name `studio` is reserved."""
        if STUDIO in value:
            raise ValueError(f"the name {STUDIO!r} is reserved for drawing on this machine; choose another name")
        return value

    @field_validator("fonts")
    @classmethod
    def check_fonts(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        """Check at startup that the font files exist, not only when a title is drawn."""
        for path in value:
            if not path.is_file():
                raise ValueError(f"{path} is not a file")
        return value

    @field_validator("director")
    @classmethod
    def check_director(cls, value: str) -> str:
        """The preset must exist."""
        from gateleg.apps.mv.errors import UnknownPreset
        from gateleg.apps.mv.planning.presets import find_preset

        try:
            return find_preset(value).name
        except UnknownPreset as error:
            raise ValueError(str(error)) from None
