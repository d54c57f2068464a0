"""What a report has. Nothing that draws or writes is loaded for it: who submits a job needs no more."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai import parse_model_address

#: The names of the files that people open first.
REPORT = "report.html"
SUMMARY = "summary.html"
MAP = "map.html"
REPLAY = "replay.html"
#: What the animation of `replay.html` draws, for pages that show it themselves.
TIMELINE = "data/timeline.json"


#: `basic` are the maps of groups and of division as pictures, `enhanced` is the interactive map, `multilayer` a picture for each layer.
Visualization = Literal["basic", "enhanced", "multilayer"]


class ReportConfig(BaseModel):
    """What a report has: the config of a REPORT job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: the address of a chat model that writes the sections, or the bare name of one of Anthropic's; templates write them without
    model: str | None = None
    include_topics: bool = True
    include_consensus: bool = True
    include_uncertainty: bool = True
    #: of sections that a model writes; templates write English
    language: str = Field(default="en", min_length=2, max_length=35)
    max_tokens: int = Field(default=4_000, ge=200, le=100_000)
    #: what Chromium makes beside, where it is installed: the report as PDF, the maps as PNG
    formats: tuple[Literal["pdf", "png"], ...] = ()

    #: which maps there are beside the report
    visualizations: tuple[Visualization, ...] = ("basic", "enhanced", "multilayer")

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        for address in self.models:
            parse_model_address(address)
        return self

    @property
    def model_address(self) -> str | None:
        """The address of the model."""
        return f"anthropic:{self.model}" if self.model and ":" not in self.model else self.model

    @property
    def models(self) -> tuple[str, ...]:
        """The addresses of all models that comments are sent to."""
        return () if self.model_address is None else (self.model_address,)
