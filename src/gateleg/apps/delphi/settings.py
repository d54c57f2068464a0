"""The settings of Delphi: `[delphi]` of a host's settings."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["DelphiSettings"]


class DelphiSettings(BaseModel):
    """What a host does with jobs whose chat models it cannot use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    missing_models: Literal["refuse", "do-without"] = Field(
        default="refuse",
        description="what to do with a job whose chat model has no key or an unknown provider: refuse it at submission, or accept it, "
        "do without the model and warn",
    )
