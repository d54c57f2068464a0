"""Prices of models and the cost of calls. All prices come from the settings: none is built in, because they change."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from gateleg.ai.replies import Usage

_MILLION = Decimal(1_000_000)


class Price(BaseModel):
    """The price of a model in any currency: per million tokens, per request, per image, per second of video or sound."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(default=Decimal(0), ge=0, description="a million input tokens")
    output: Decimal = Field(default=Decimal(0), ge=0, description="a million output tokens")
    cached: Decimal | None = Field(default=None, ge=0, description="a million cached input tokens; the same as `input` by default")
    request: Decimal = Field(default=Decimal(0), ge=0, description="one request, such as a search with a reranker")
    image: Decimal = Field(default=Decimal(0), ge=0, description="one image")
    second: Decimal = Field(default=Decimal(0), ge=0, description="one second of video or sound")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("a price must set at least one value; for a free model, set input = 0")
        return self

    def of(self, usage: Usage) -> Decimal:
        """The cost of a usage."""
        cached = self.input if self.cached is None else self.cached
        tokens = (usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output
        return tokens / _MILLION + usage.requests * self.request + usage.images * self.image + usage.seconds * self.second
