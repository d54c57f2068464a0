"""Model addresses, as used in configuration: `local:smollm2`, `ollama:llama3.2@http://host:11434`, `openai:gpt-x@https://host/v1`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from gateleg.ai.errors import BadModelAddress
from gateleg.net import Address

__all__ = ["ModelAddress", "ProviderName", "check_address_form", "parse_model_address"]

ProviderName = Literal[
    "local", "ollama", "openai", "anthropic", "gemini", "bedrock", "replicate", "rerank", "openai-responses", "pydantic-ai"
]
PROVIDERS: tuple[str, ...] = get_args(ProviderName)
#: A model id of Bedrock: the vendor, a dot, and a name, in which there is a hyphen.
_BARE = re.compile(r"[a-z0-9-]+(?:\.[\w:-]+)+", re.ASCII)
_FORM = re.compile(r"[a-z][a-z0-9_-]{0,39}:\S+")
_PLACED = re.compile(r"(?P<model>.+?)@(?P<place>https?://.*)", re.DOTALL)
_REGIONAL = re.compile(r"(?P<model>.+?)@(?P<place>https?://.*|[a-z]{2}(?:-[a-z]+)+-\d)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """The provider and name of a model, and its URL or Bedrock region; None for the provider's own endpoint."""

    provider: ProviderName
    model: str
    place: str | None = None

    @property
    def vendor(self) -> str:
        """Whose key it uses: both APIs of OpenAI share one."""
        return self.provider.removesuffix("-responses")

    @property
    def name(self) -> str:
        """The provider and the model, without the URL, which callers of a host must not see."""
        return f"{self.provider}:{self.model}"

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" + (f"@{self.place}" if self.place else "")


def parse_model_address(text: str) -> ModelAddress:
    """Parse an address. A model's name may contain colons and at signs; text after an `@` is a location only if it looks like one."""
    provider, colon, rest = text.strip().partition(":")
    bare = text.strip()
    if provider not in PROVIDERS and _BARE.fullmatch(bare) and "-" in bare.partition(".")[2]:
        raise BadModelAddress(
            f"{text!r} is a bare model id of Bedrock, and this host does not know in which region it is.",
            fix=f'Set [models.aliases] "{bare}" = "bedrock:{bare}@REGION" in gateleg.toml, and AWS credentials as for botocore.',
        )
    if not colon or provider not in PROVIDERS:
        raise BadModelAddress(f"{text!r} is not a model address: {provider!r} is not a known provider.")
    form = _REGIONAL if provider == "bedrock" else _PLACED
    match = form.fullmatch(rest)
    model, place = (match["model"], match["place"]) if match else (rest, "")
    if not model or any(character.isspace() for character in model):
        raise BadModelAddress(f"{text!r} has no model name.")
    if place.startswith(("http://", "https://")):
        place = _checked(place, text)
    elif provider == "local" and place:
        raise BadModelAddress(f"{text!r}: a local model has no URL.")
    return ModelAddress(provider, model, place or None)  # type: ignore[arg-type]


def check_address_form(text: str) -> None:
    """Refuse a text that no settings can make an address of. A name of `[models.providers]` is only known to the settings, which resolve it
    (`ModelSettings.resolve`)."""
    if not _FORM.fullmatch(text.strip()):
        raise BadModelAddress(f"{text!r} is not a model address: it has no provider before a colon, or no model after it.")


def _checked(url: str, text: str) -> str:
    try:
        Address.parse(url)
    except ValueError:
        raise BadModelAddress(f"{text!r}: {url!r} is not a valid endpoint URL.") from None
    return url.rstrip("/")


def origin(url: str) -> str:
    """The part of a URL that keys are bound to: scheme, host and port. Raises `ValueError` for anything but HTTP."""
    return Address.parse(url.partition("?")[0]).origin
