"""The settings of music videos: `[mv]` in `gateleg.toml`, and `GATELEG_MV__FIELD`."""

from pydantic import BaseModel, ConfigDict, Field, field_validator


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
    link_seconds: int = Field(default=3600, ge=10, le=604_800, description="seconds for which links to films, clips and pictures are valid")

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
