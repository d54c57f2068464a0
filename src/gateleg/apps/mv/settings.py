"""The settings of music videos: `[mv]` in `gateleg.toml`, and `GATELEG_MV__FIELD`."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

#: The provider that draws on this machine.
STUDIO = "studio"


class FilmModel(BaseModel):
    """A video model that films scenes: `[mv.film_models.veo]`. Its price per second is in `[models.prices]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1, description="its address, such as gemini:veo-3.0-generate-001 or replicate:google/veo-3")
    seconds: tuple[int, ...] = Field(default=(4, 6, 8), min_length=1, description="the lengths that it films: the next longer one is taken")
    aspect_ratios: tuple[str, ...] = Field(default=("16:9", "9:16"), min_length=1, description="its shapes; others are cut from the first")
    picture: Literal["none", "first-frame", "reference"] = Field(
        default="none",
        description="how it takes the picture of the character or product: not, as its first frame, or as a reference",
    )
    options: dict[str, str | int | float | bool] = Field(default={}, description="further parameters, as the model calls them")


class MVSettings(BaseModel):
    """What whoever runs a host decides about music videos."""

    model_config = ConfigDict(extra="forbid")

    director: str = Field(default="clean", description="the director preset of projects that name none")
    resolution: int = Field(default=720, ge=144, le=2160, description="lines of pixels of projects that say nothing else; 480 is a draft")
    most_scenes: int = Field(default=200, ge=1, le=999, description="scenes that a project may have")
    longest_song: float = Field(default=900.0, gt=0, le=7200, description="seconds of the longest song that is taken")
    longest_clip: float = Field(default=600.0, gt=0, le=7200, description="seconds of the longest clip that is taken")
    song_bytes: int = Field(default=200_000_000, ge=1000, description="bytes that a song may have; upload_limit of the host holds as well")
    clip_bytes: int = Field(default=500_000_000, ge=1000, description="bytes that a clip may have; upload_limit of the host holds as well")
    picture_bytes: int = Field(default=20_000_000, ge=1000, le=200_000_000, description="bytes that a picture may have")
    probe_seconds: float = Field(default=20.0, gt=0, le=600, description="seconds that looking into an uploaded file may take")
    probe_memory: int = Field(
        default=1_500_000_000, ge=200_000_000, description="bytes of memory that looking into an uploaded file may take"
    )
    renders_per_worker: int | None = Field(
        default=None, ge=1, le=256, description="scenes that a worker renders side by side; one less than it has cores, when left out"
    )
    fonts: tuple[Path, ...] = Field(
        default=(),
        description="font files for titles and lyrics in scripts that the application's fonts lack (Chinese, Arabic, Thai, ...), in order",
    )
    film_models: dict[str, FilmModel] = Field(
        default={}, description="video models by the name that `provider` of a project or scene has; beside them there is the studio"
    )
    picture_models: dict[str, str] = Field(
        default={}, description="models that make reference pictures, by name: their addresses, such as gemini:imagen-4.0-generate-001"
    )
    lip_sync_model: str | None = Field(
        default=None, description="the address of a lip-sync model, such as replicate:sync/lipsync-2, for scenes with needsLipSync"
    )
    film_minutes: float = Field(default=60.0, gt=0, le=1440, description="minutes that a video model may take for one scene")
    link_seconds: int = Field(default=3600, ge=10, le=604_800, description="seconds for which links to films, clips and pictures are valid")

    @field_validator("film_models", "picture_models")
    @classmethod
    def check_names(cls, value: dict[str, object]) -> dict[str, object]:
        """The studio is always there, under its own name."""
        if STUDIO in value:
            raise ValueError(f"{STUDIO} is the name of the studio on this machine: choose another one")
        return value

    @field_validator("fonts")
    @classmethod
    def check_fonts(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        """Font files must be there when the host starts, not when a title is drawn."""
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
