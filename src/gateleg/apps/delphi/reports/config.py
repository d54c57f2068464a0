"""What a report has. Nothing that draws or writes is loaded for it: who submits a job needs no more."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai.addresses import parse_model_address

#: The names of the files that people open first.
REPORT = "report.html"
SUMMARY = "summary.html"
MAP = "map.html"
REPLAY = "replay.html"
#: What the animation of `replay.html` draws, for pages that show it themselves.
TIMELINE = "data/timeline.json"


#: `basic` are the maps of groups and of division as pictures, `enhanced` is the interactive map, `multilayer` a picture for each layer.
Visualization = Literal["basic", "enhanced", "multilayer"]


#: Why a report cannot be had in another language.
NO_TRANSLATOR = "language {0!r} needs a model that translates: name one as translator, such as ollama:llama3.2"


class ReportConfig(BaseModel):
    """What a report has: the config of a REPORT job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: the address of a chat model that writes the sections, or the bare name of one of Anthropic's; templates write them without
    model: str | None = None
    include_topics: bool = True
    include_consensus: bool = True
    include_uncertainty: bool = True
    #: the language of `report.de.html`, `summary.de.html`, `map.de.html` and `replay.de.html`, which come beside the English pages
    language: str = Field(default="en", max_length=35, pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    #: the address of a chat model that translates; `model` does where there is none
    translator: str | None = None
    max_tokens: int = Field(default=4_000, ge=200, le=100_000)
    #: what Chromium makes beside, where it is installed: the report as PDF, the maps as PNG
    formats: tuple[Literal["pdf", "png"], ...] = ()

    #: which maps there are beside the report
    visualizations: tuple[Visualization, ...] = ("basic", "enhanced", "multilayer")

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        for address in self.models:
            parse_model_address(address)
        if self.language != "en" and self.translator_address is None:
            raise ValueError(NO_TRANSLATOR.format(self.language))
        return self

    @property
    def model_address(self) -> str | None:
        """The address of the model."""
        return _address(self.model)

    @property
    def translator_address(self) -> str | None:
        """The address of the model that translates; None where nothing is translated."""
        return None if self.language == "en" else _address(self.translator or self.model)

    @property
    def models(self) -> tuple[str, ...]:
        """The addresses of all models that comments are sent to."""
        return tuple(dict.fromkeys(one for one in (self.model_address, self.translator_address) if one is not None))


def _address(model: str | None) -> str | None:
    """The address of a model: a bare name is one of Anthropic's."""
    return f"anthropic:{model}" if model and ":" not in model else model


def translated_name(name: str, language: str) -> str:
    """What a page is called in another language: `report.de.html`."""
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{language}.{ending}"
