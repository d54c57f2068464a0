"""The config of a report. Imports nothing heavy, because submitting a job needs only this module."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai.addresses import check_address_form

#: The names of the pages.
REPORT = "report.html"
SUMMARY = "summary.html"
MAP = "map.html"
REPLAY = "replay.html"
#: The data of the animation in `replay.html`, for pages that embed it.
TIMELINE = "data/timeline.json"


#: `basic`: pictures of groups and of consensus; `enhanced`: the interactive map; `multilayer`: a picture of each layer of topics.
Visualization = Literal["basic", "enhanced", "multilayer"]


#: The error message for a language without a translator.
NO_TRANSLATOR = "language {0!r} needs a model that translates: set translator, such as ollama:llama3.2"


class ReportConfig(BaseModel):
    """The config of a REPORT job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: the address of a chat model that chooses the statements of the sections, or the bare name of an Anthropic model. Statements are
    #: verified and written from templates, with or without a model
    model: str | None = None
    include_topics: bool = True
    include_consensus: bool = True
    include_uncertainty: bool = True
    #: the language of additional pages, such as `report.de.html` and `map.de.html`, besides the English ones
    language: str = Field(default="en", max_length=35, pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    #: the address of a chat model that translates; `model` by default
    translator: str | None = None
    max_tokens: int = Field(default=4_000, ge=200, le=100_000)
    #: files that Chromium prints, if it is installed: the report as PDF, the maps as PNG
    formats: tuple[Literal["pdf", "png"], ...] = ()

    #: the maps to make
    visualizations: tuple[Visualization, ...] = ("basic", "enhanced", "multilayer")

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        for address in self.models:
            check_address_form(address)
        if self.language != "en" and self.translator_address is None:
            raise ValueError(NO_TRANSLATOR.format(self.language))
        return self

    @property
    def model_address(self) -> str | None:
        """The address of the model."""
        return _address(self.model)

    @property
    def translator_address(self) -> str | None:
        """The address of the model that translates; None if nothing is to be translated."""
        return None if self.language == "en" else _address(self.translator or self.model)

    @property
    def models(self) -> tuple[str, ...]:
        """The addresses of all models that comments are sent to."""
        return tuple(dict.fromkeys(one for one in (self.model_address, self.translator_address) if one is not None))

    @property
    def chat_models(self) -> tuple[str, ...]:
        """The addresses of chat models: all of its models."""
        return self.models


def _address(model: str | None) -> str | None:
    """The address of a model; a bare name is that of an Anthropic model."""
    return f"anthropic:{model}" if model and ":" not in model else model


def translated_name(name: str, language: str) -> str:
    """The name of a translated page, such as `report.de.html`."""
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{language}.{ending}"
