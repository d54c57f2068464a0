"""`AgentHandler`: asks the model of an agent. Subclass it and register the subclass as an entry point to add a provider.

A handler is constructed with `(logger, agent, **setting)`; then `endpoint_id`, `partition_key`, `run`, `connection_id` and `models` are
set. `partition_key` is for what it stores, `endpoint_id` for logs and addresses of other services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack

from pydantic import BaseModel

from gateleg.ai.addresses import parse_model_address
from gateleg.ai.replies import estimate
from gateleg.apps.agents.errors import BadConfiguration

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from logging import Logger

    from gateleg.ai import AskOptions, AsyncChat, AsyncModels, Delta, Message, Structured

__all__ = ["AgentHandler"]

M = TypeVar("M", bound=BaseModel)
#: Configuration members that are passed to every model as options.
_OPTIONS = {"temperature": float, "max_tokens": int, "seed": int, "tool_choice": str}


class AgentHandler:
    """Asks the model of one agent for one run. Subclasses name a provider, or override `open`, `stream` and `structured`."""

    #: prefix of its model addresses; empty if the agent's configuration has complete addresses
    provider: ClassVar[str] = ""
    #: the default model
    default_model: ClassVar[str | None] = None
    #: context window in tokens, unless the configuration has `context_tokens`
    context_tokens: ClassVar[int] = 32_000
    #: whether its models are too small to choose tools: then the planner chooses and results are quoted, unless the configuration
    #: says otherwise
    small: ClassVar[bool] = False

    #: further members of the configuration that it reads
    own_configuration: ClassVar[frozenset[str]] = frozenset()

    #: the platform, for logs and addresses of other services
    endpoint_id: str | None = None
    #: the tenant's partition, for stored data
    partition_key: str | None = None
    #: the run to answer
    run: Mapping[str, Any] | None = None
    #: the connection that answers are streamed to
    connection_id: str | None = None
    #: the host's models, with usage billed to the tenant
    models: AsyncModels
    #: the tenant's own API key for the provider, if the configuration has one
    key: str | None = None

    def __init__(self, logger: Logger, agent: Mapping[str, Any], **setting: Any) -> None:
        self.logger = logger
        self.agent = agent
        self.setting = setting

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration of the agent."""
        found: Mapping[str, Any] = self.agent.get("configuration") or {}
        return found

    @property
    def address(self) -> str:
        """The address of the model. Raises `BadConfiguration` for a model that a tenant may not name."""
        named = self.configuration.get("model") or self.default_model
        if not isinstance(named, str) or not named.strip():
            raise BadConfiguration(f"The agent {self.agent.get('agent_name')!r} names no model.", fix='Set "model" in its configuration.')
        return address_of(self.provider, named.strip())

    @property
    def budget(self) -> int:
        """Maximum prompt tokens: the context window less room for the answer."""
        context = int(self.configuration.get("context_tokens") or self.context_tokens)
        answer = int(self.configuration.get("max_tokens") or min(1024, context // 4))
        return max(256, context - answer)

    @property
    def options(self) -> dict[str, Any]:
        """The model options in the configuration. Raises `BadConfiguration` for an option of the wrong type."""
        found: dict[str, Any] = {}
        for name, kind in _OPTIONS.items():
            value = self.configuration.get(name)
            if value is None:
                continue
            try:
                found[name] = kind(value)
            except (TypeError, ValueError):
                raise BadConfiguration(f"The configuration has {name}={value!r}, which is not a valid {kind.__name__}.") from None
        if stop := self.configuration.get("stop"):
            found["stop"] = [stop] if isinstance(stop, str) else [str(one) for one in stop]
        return found

    def open(self) -> AsyncChat:
        """The model."""
        return self.models.chat(self.address, key=self.key)

    def stream(self, messages: Iterable[Message], **options: Unpack[AskOptions]) -> AsyncGenerator[Delta, None]:
        """Stream the answer; the last piece carries the whole reply."""
        return self.open().stream(messages, **options)

    async def structured(self, model: type[M], messages: Iterable[Message], **options: Unpack[AskOptions]) -> Structured[M]:
        """Get an answer that a pydantic model validates."""
        return await self.open().structured(model, messages, **options)

    def count(self, text: str) -> int:
        """Estimate the tokens of a text locally."""
        return estimate(text).tokens


def address_of(provider: str, named: str) -> str:
    """The address of a model that an agent's configuration names.

    Where its server is, only the settings of the host say: an address of a tenant's choice would have the host send requests, and keys,
    there.
    """
    address = named if not provider or named.startswith(f"{provider}:") else f"{provider}:{named}"
    if "@http" in address or (provider and parse_model_address(address).place is not None):
        raise BadConfiguration(
            f"The model {named!r} names a server.", fix="Give the server a name in [models.providers] of the host, and write name:model."
        )
    return address
