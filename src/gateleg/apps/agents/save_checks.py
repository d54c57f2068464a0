"""Use cases: save agents and MCP servers. An agent that this host cannot run is refused on saving, so that its author can correct it.

The functions of the same names in `agents` and `servers` do not know handlers, models and the network; clients call these instead.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from gateleg.ai import KeyMissing
from gateleg.ai.errors import BadModelAddress, ExtraMissing, WeightsMissing
from gateleg.apps.agents import agents, servers
from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import BadConfiguration, BadField
from gateleg.apps.agents.running.agents import fallback_handlers, handler_for
from gateleg.apps.agents.running.handlers.contract import AgentHandler
from gateleg.host.secrets import SecretNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent, McpServer
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources

__all__ = ["check_runnable", "save_agent", "save_server"]

#: Configuration members that are lists of tool or model names.
_LISTS = ("tools", "enabled_tools", "fallback_models")
#: Problems that an operator can fix later: the agent is saved, and its runs report them.
_LACKING = (ExtraMissing, KeyMissing, WeightsMissing)


async def save_agent(resources: Resources[AgentsSettings], context: Context, values: Mapping[str, Any], *, copied: bool = False) -> Agent:
    """Save an agent or a version that this host can run. Raises `HandlerNotAllowed`, `BadConfiguration` and `BadField`."""

    async def check(agent: Agent) -> None:
        await check_runnable(resources, context, agent)

    return await agents.save_agent(resources.store, resources.secrets, context, values, copied=copied, check=check)


async def save_server(resources: Resources[AgentsSettings], context: Context, values: Mapping[str, Any]) -> McpServer:
    """Save an MCP server whose address the SSRF guard permits. Raises `AddressRefused` and `BadField`."""
    url = values.get("mcp_server_url")
    if url is not None:
        servers.check_url(url)
        await resources.outgoing.check(url)
    return await servers.save_server(resources.store, resources.secrets, context, values)


#: The members of a configuration that have a meaning for every handler.
KNOWN_CONFIGURATION = frozenset(
    {"api_key", "context_tokens", "enabled_tools", "fallback_models", "max_tokens", "model", "planner", "quote_tools", "require_approval"}
    | {"seed", "stop", "summarise", "temperature", "tool_choice", "tool_steps", "tools"}
)
#: How similar a misspelt name is to the one that was meant, from 0 to 1.
_ALMOST = 0.85


async def check_runnable(resources: Resources[AgentsSettings], context: Context, agent: Agent) -> None:
    """Raise for an agent whose handler, model, options or secrets this host does not have.

    An entry that the catalogue lacks is refused by the transaction that writes the agent.
    """
    _check_lists(agent)
    if await resources.store.find(Llm, llm_provider=agent.llm_provider, llm_name=agent.llm_name) is None:
        return
    try:
        handler = await handler_for(resources, context, agent, resources.models)
    except SecretNotFound as error:
        raise BadField(f"configuration: {error.message}", details={"field": "configuration"}) from None
    _ = handler.options
    _check_spelling(agent.configuration, KNOWN_CONFIGURATION | handler.own_configuration)
    if type(handler).open is AgentHandler.open:
        _check_model(handler)
    for other in fallback_handlers(resources, handler):
        _check_model(other)


def _check_spelling(configuration: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `BadField` for a name that is almost one of those that have a meaning; any other may belong to another program."""
    for name in configuration:
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        similar = get_close_matches(plain, known, 1, _ALMOST) if name not in known else []
        if similar:
            raise BadField(f"configuration.{name} has no meaning. Did you mean {similar[0]!r}?", details={"field": f"configuration.{name}"})


def _check_model(handler: AgentHandler) -> None:
    """Raise for a model without a configured provider. Model names are not checked with the provider, which would take a request."""
    try:
        handler.open()
    except _LACKING:
        return
    except BadModelAddress as error:
        raise BadConfiguration(f"The agent's model cannot be used: {error.message}", fix=error.fix) from None


def _check_lists(agent: Agent) -> None:
    for name in _LISTS:
        value = agent.configuration.get(name)
        if value is not None and not isinstance(value, str) and not _is_texts(value):
            raise BadField(f"configuration.{name} must be a list of texts.", details={"field": f"configuration.{name}"})
    approval = agent.configuration.get("require_approval")
    if approval not in (None, "always", "never", True, False) and not _is_texts(approval):
        raise BadField(
            'configuration.require_approval must be "always", "never" or a list of names and patterns of tools.',
            details={"field": "configuration.require_approval"},
        )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
