"""Settings of models. Everything has a default; by default, all models are local and free of charge."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from gateleg.ai.addresses import PROVIDERS, ModelAddress, origin, parse_model_address

if TYPE_CHECKING:
    from gateleg.ai.replies import Usage

_MILLION = Decimal(1_000_000)


class Price(BaseModel):
    """What a model costs, by million tokens, in any currency. You give it: none is known here, as prices change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Decimal = Field(ge=0)
    output: Decimal = Field(default=Decimal(0), ge=0)
    #: for input tokens that the provider had in its own cache; as `input` unless given
    cached: Decimal | None = Field(default=None, ge=0)

    def of(self, usage: Usage) -> Decimal:
        """The cost of so many tokens."""
        cached = self.input if self.cached is None else self.cached
        return ((usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output) / _MILLION


class ModelSettings(BaseModel):
    """Which models to use when none is named, the keys of the providers, and prices."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chat: str = "local:smollm2"
    embeddings: str = "local:minilm"
    #: by provider (`openai`), for the place where it is usually found; or by endpoint (`https://host`). Sent nowhere else
    keys: dict[str, SecretStr] = Field(default_factory=dict)
    #: by address (`openai:gpt-x`) or by provider and model
    prices: dict[str, Price] = Field(default_factory=dict)
    connect_seconds: float = Field(default=10.0, gt=0)
    silence_seconds: float = Field(default=120.0, gt=0)
    total_seconds: float = Field(default=600.0, gt=0)
    #: how often a call is tried at most
    attempts: int = Field(default=4, ge=1, le=20)

    @field_validator("chat", "embeddings")
    @classmethod
    def _is_address(cls, text: str) -> str:
        return str(parse_model_address(text))

    @field_validator("prices")
    @classmethod
    def _are_models(cls, prices: dict[str, Price]) -> dict[str, Price]:
        return {str(parse_model_address(text)): price for text, price in prices.items()}

    @field_validator("keys")
    @classmethod
    def _are_places(cls, keys: dict[str, SecretStr]) -> dict[str, SecretStr]:
        """A misspelt provider would leave its key unused, and nobody would know why."""
        for place in keys:
            if place not in PROVIDERS:
                origin(place)
        return keys

    def price_of(self, address: ModelAddress) -> Price | None:
        """The price that was given for a model; local models cost nothing."""
        if address.provider == "local":
            return Price(input=Decimal(0))
        return self.prices.get(str(address)) or self.prices.get(f"{address.provider}:{address.model}")

    def key_for(self, address: ModelAddress, endpoint: str, usual: str) -> str | None:
        """The key for an endpoint. A provider's key goes only to where the provider usually is."""
        found = next((key for place, key in self.keys.items() if "://" in place and origin(place) == origin(endpoint)), None)
        if found is None and origin(endpoint) == origin(usual):
            found = self.keys.get(address.provider)
        return found.get_secret_value() if found is not None else None
