"""Prices of models: what calls cost, and what they will cost at most. You give them: none is known here, as prices change."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from gateleg.ai.replies import Usage

_MILLION = Decimal(1_000_000)


class Price(BaseModel):
    """What a model costs, in any currency: by million tokens, by request, by image, by second of video or sound."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(default=Decimal(0), ge=0, description="a million input tokens")
    output: Decimal = Field(default=Decimal(0), ge=0, description="a million output tokens")
    cached: Decimal | None = Field(default=None, ge=0, description="a million input tokens that the provider had cached; as `input`")
    request: Decimal = Field(default=Decimal(0), ge=0, description="one request, such as a search of a reranker")
    image: Decimal = Field(default=Decimal(0), ge=0, description="one image")
    second: Decimal = Field(default=Decimal(0), ge=0, description="one second of video or sound")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("a price says what something costs; for nothing, write input = 0")
        return self

    def of(self, usage: Usage) -> Decimal:
        """The cost of a usage."""
        cached = self.input if self.cached is None else self.cached
        tokens = (usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output
        return tokens / _MILLION + usage.requests * self.request + usage.images * self.image + usage.seconds * self.second
