"""Settings of models: `[models]` of a host's settings. Everything has a default; by default, all models are local and free of charge."""

import os
from collections.abc import Mapping
from decimal import Decimal
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from gateleg.ai.addresses import PROVIDERS, ModelAddress, ProviderName, origin, parse_model_address
from gateleg.ai.errors import KeyMissing
from gateleg.ai.replies import Price

__all__ = ["DEFAULT_MODEL", "ModelSettings", "ProviderSettings", "SpendCaps"]

#: Matches every application or tenant that is not named.
EVERY = "*"
_NAME = r"^[a-z][a-z0-9_-]{0,39}$"


class ProviderSettings(BaseModel):
    """The key of a provider, by the name of the environment variable or secret that holds it, and the URL of a custom endpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key_env: str | None = Field(default=None, min_length=1, description="environment variable that holds the key")
    key_secret: str | None = Field(default=None, min_length=1, description="secret of the host that holds the key: `gateleg secrets set`")
    url: str | None = Field(default=None, description="URL of a custom endpoint, such as https://host/v1")
    speaks: ProviderName = Field(default="openai", description="the API that the endpoint implements")

    @field_validator("url")
    @classmethod
    def _is_endpoint(cls, url: str | None) -> str | None:
        if url is not None:
            origin(url)
        return None if url is None else url.rstrip("/")

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if self.key_env is not None and self.key_secret is not None:
            raise ValueError("give key_env or key_secret, not both")
        return self


class SpendCaps(BaseModel):
    """Daily spend caps (UTC), by application and by tenant; `*` applies to those that are not named."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    applications: dict[str, Decimal] = Field(default={}, description="daily cap of an application")
    tenants: dict[str, Decimal] = Field(default={}, description="daily cap of a tenant, over all applications")
    output_tokens: int = Field(default=4096, ge=1, description="output tokens to assume for a call without max_tokens")

    @field_validator("applications", "tenants")
    @classmethod
    def _not_negative(cls, caps: dict[str, Decimal]) -> dict[str, Decimal]:
        for name, cap in caps.items():
            if not cap.is_finite() or cap < 0:
                raise ValueError(f"the cap of {name} must be 0 or more")
        return caps

    def of_application(self, name: str) -> Decimal | None:
        """The cap of an application; None if it has none."""
        return self.applications.get(name, self.applications.get(EVERY))

    def of_tenant(self, name: str | None) -> Decimal | None:
        """The cap of a tenant; None if it has none."""
        return None if name is None else self.tenants.get(name, self.tenants.get(EVERY))


#: The name of the default embedding model, for rows that name no model.
DEFAULT_MODEL = "default"


class ModelSettings(BaseModel):
    """Default models, keys of providers, prices and spend caps."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chat: str = Field(default="local:smollm2", description="default chat model")
    embeddings: str = Field(default="local:minilm", description="default embedding model")
    providers: dict[str, ProviderSettings] = Field(
        default={}, description="keys by provider (`anthropic`), and custom endpoints under names of your choice"
    )
    aliases: dict[str, str] = Field(
        default={},
        description="model addresses by other names, such as bare Bedrock ids: "
        '`"amazon.titan-embed-text-v1" = "bedrock:amazon.titan-embed-text-v1@eu-west-1"`',
    )
    #: by provider (`openai`), for its own endpoint; or by endpoint (`https://host`). Sent nowhere else
    keys: dict[str, SecretStr] = Field(default={}, description="the keys themselves, by provider or endpoint; prefer `key_env`")
    #: by address (`openai:gpt-x`), or by provider and model
    prices: dict[str, Price] = Field(default={}, description="prices by model address")
    caps: SpendCaps = Field(default=SpendCaps(), description="daily spend caps")
    connect_seconds: float = Field(default=10.0, gt=0, description="seconds to wait for a connection")
    silence_seconds: float = Field(default=120.0, gt=0, description="seconds to wait for the next bytes of a response")
    total_seconds: float = Field(default=600.0, gt=0, description="seconds for a whole call, including retries")
    attempts: int = Field(default=4, ge=1, le=20, description="maximum number of attempts of a call")
    cache_days: float | None = Field(default=90, gt=0, description="days for which replies are cached")

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        for name, provider in self.providers.items():
            if name not in PROVIDERS and provider.url is None:
                raise ValueError(f"providers.{name} needs a url, because it is not one of {', '.join(PROVIDERS)}")
        for text in (self.chat, self.embeddings, *self.prices, *self.aliases.values()):
            self.resolve(text)
        return self

    @field_validator("keys")
    @classmethod
    def _are_places(cls, keys: dict[str, SecretStr]) -> dict[str, SecretStr]:
        """Refuse unknown providers: a misspelt one would leave its key unused without a message."""
        for place in keys:
            if place not in PROVIDERS:
                origin(place)
        return keys

    def resolve(self, text: str) -> ModelAddress:
        """The address in a text. A name of `aliases` stands for its address, and one of `providers` for its endpoint."""
        text = self.aliases.get(text.strip(), text)
        name, _, model = text.strip().partition(":")
        endpoint = self.providers.get(name)
        if endpoint is None or endpoint.url is None:
            return parse_model_address(text)
        speaks = name if name in PROVIDERS else endpoint.speaks
        # An explicit URL in the address takes precedence.
        address = parse_model_address(f"{speaks}:{model}")
        return address if address.place is not None else parse_model_address(f"{speaks}:{model}@{endpoint.url}")

    def resolve_embeddings(self, text: str) -> ModelAddress:
        """As `resolve`, for an embedding model: `default` is the one of these settings."""
        return self.resolve(self.embeddings if text == DEFAULT_MODEL and text not in self.aliases else text)

    def name_of(self, address: ModelAddress) -> str:
        """The address as the settings name it: with the name of its provider in place of a URL, which tenants must not see."""
        for name, provider in self.providers.items():
            speaks = name if name in PROVIDERS else provider.speaks
            if provider.url is not None and (provider.url, speaks) == (address.place, address.provider):
                return f"{name}:{address.model}"
        return str(address)

    def price_of(self, address: ModelAddress) -> Price | None:
        """The configured price of a model. Local models are free."""
        if address.provider == "local":
            return Price(input=Decimal(0))
        prices = {str(self.resolve(text)): price for text, price in self.prices.items()}
        names = (str(address), f"{address.provider}:{address.model}", f"{address.vendor}:{address.model}")
        return next((prices[name] for name in names if name in prices), None)

    @property
    def secrets(self) -> dict[str, str]:
        """The names of the secrets that hold keys, by provider or endpoint."""
        providers = self.providers.items()
        return {provider.url or name: provider.key_secret for name, provider in providers if provider.key_secret is not None}

    def with_keys(self, keys: Mapping[str, str]) -> Self:
        """The settings with further keys, by provider or endpoint: those that were read from secrets."""
        return self.model_copy(update={"keys": {**self.keys, **{place: SecretStr(key) for place, key in keys.items()}}})

    def key_for(self, address: ModelAddress, endpoint: str, usual: str, environ: Mapping[str, str] | None = None) -> str | None:
        """The key for an endpoint. A provider's key is sent only to its own endpoint, or to the `url` that is configured for it."""
        key = next((key for place, key in self.keys.items() if "://" in place and origin(place) == origin(endpoint)), None)
        if key is None and origin(endpoint) == origin(usual):
            key = self.keys.get(address.vendor)
        if key is not None:
            return key.get_secret_value()
        for name, provider in self.providers.items():
            place = provider.url or (usual if name == address.vendor else None)
            if place is None or origin(place) != origin(endpoint):
                continue
            if provider.key_secret is not None:
                raise KeyMissing(
                    f"{address} needs a key, but the secret {provider.key_secret!r} did not exist when this process started.",
                    fix=f"Run `gateleg secrets set {provider.key_secret}` and restart.",
                )
            if provider.key_env is not None:
                return _read_variable(provider.key_env, address, os.environ if environ is None else environ)
        return None


def _read_variable(name: str, address: ModelAddress, environ: Mapping[str, str]) -> str:
    key = environ.get(name, "").strip()
    if not key:
        raise KeyMissing(f"{address} needs a key, but the environment variable {name} is not set.", fix=f"Set {name} and restart.")
    return key
