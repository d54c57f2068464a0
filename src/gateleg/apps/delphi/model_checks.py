"""Whether the models that a job names can be used on this host: their provider is known, and its key is there. Asks no model.

A job is checked when it is submitted, through whatever door, because its handler's config is checked then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, model_validator

from gateleg.ai import AiError
from gateleg.apps.delphi.runs.pipeline import PipelineConfig, config_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.ai import Chat, Models

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ModelChecks:
    """How to open models at their addresses without asking them anything."""

    chat: Callable[[str], object]
    embeddings: Callable[[str], object]
    #: whether jobs may name chat models that cannot be used, and do without them
    lenient: bool = False

    def check(self, config: Any) -> None:
        """Raise `ValueError` if a model of a stage's config cannot be used."""
        try:
            if not self.lenient:
                for address in config.chat_models:
                    self.chat(address)
            for address in getattr(config, "models", ()):
                if address not in config.chat_models:
                    self.embeddings(address)
        except AiError as error:
            raise ValueError(str(error)) from None


def checked(config: type[M], checks: ModelChecks | None) -> type[M]:
    """The model of a config, which also checks the models that the config names. Without checks, the same model."""
    if checks is None:
        return config
    check = checks.check

    class Checked(config):  # type: ignore[valid-type,misc]
        @model_validator(mode="after")
        def _models_can_be_used(self) -> Self:
            for stage in [config_of(one) for one in self.stages] if isinstance(self, PipelineConfig) else [self]:
                if hasattr(stage, "chat_models"):
                    check(stage)
            return self

    Checked.__name__, Checked.__qualname__, Checked.__doc__ = config.__name__, config.__qualname__, config.__doc__
    return Checked


def chat_or_reason(models: Models, address: str | None, *, lenient: bool) -> tuple[Chat | None, str]:
    """The chat model at an address, or why it cannot be used. Raises the error instead unless `lenient`. Without an address, neither."""
    if address is None:
        return None, ""
    try:
        return models.chat(address), ""
    except AiError as error:
        if not lenient:
            raise
        return None, str(error)
