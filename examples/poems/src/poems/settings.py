"""The settings of the application: `[poems]` in gateleg.toml, or GATELEG_POEMS__..."""

from pydantic import BaseModel, Field


class PoemSettings(BaseModel):
    """How the application runs."""

    longest: int = Field(default=100_000, ge=1, description="bytes that a poem may have")
    indent: int = Field(default=4, ge=0, le=40, description="spaces before each line of a poem that is set")
