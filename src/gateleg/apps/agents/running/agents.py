"""Load the version of an agent that answers a run, and the handler of its model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import BadConfiguration, HandlerNotAllowed, NotFoundInPartition
from gateleg.apps.agents.running.handlers.built_in import LocalHandler, OpenAICompatibleHandler
from gateleg.apps.agents.running.handlers.registry import find_handler, make_handler
from gateleg.apps.agents.secret_references import is_reference, reveal
from gateleg.apps.agents.tables import Agent, VersionPointer

if TYPE_CHECKING:
    from gateleg.ai import AsyncModels
    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.running.handlers.contract import AgentHandler
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.host import Resources
    from gateleg.store import AsyncStore

__all__ = ["active_agent", "agent_version", "fallback_handlers", "handler_for"]

#: The configuration member with a tenant's own API key for the provider.
API_KEY_NAME = "api_key"
_log = logging.getLogger("gateleg.apps.agents")


async def active_agent(store: AsyncStore, partition: Partition, agent_uuid: str) -> Agent:
    """The active version of an agent, in two reads. Raises `NotFoundInPartition`."""
    pointer = await store.find(VersionPointer, partition=partition, kind="agent", logical_uuid=agent_uuid, consistent=True)
    if pointer is None:
        raise NotFoundInPartition(f"There is no agent {agent_uuid!r}.")
    return await agent_version(store, partition, pointer.active_version_uuid)


async def agent_version(store: AsyncStore, partition: Partition, agent_version_uuid: str) -> Agent:
    """One version of an agent. Raises `NotFoundInPartition`."""
    found = await store.find(Agent, partition=partition, agent_version_uuid=agent_version_uuid, consistent=True)
    if found is None:
        raise NotFoundInPartition(f"There is no version {agent_version_uuid!r} of any agent.")
    return found


async def handler_for(
    resources: Resources[AgentsSettings], context: Context, agent: Agent, models: AsyncModels, run: Run | None = None
) -> AgentHandler:
    """Make the handler of an agent's model, which is one of `models`.

    Only the handler receives the configuration's secrets. Raises `HandlerNotAllowed`, `BadConfiguration` and `SecretNotFound`.
    """
    llm = await resources.store.find(Llm, llm_provider=agent.llm_provider, llm_name=agent.llm_name)
    settings = resources.settings
    kind = find_handler(_handler_name(agent, llm, settings.handlers), settings.handlers)
    key = agent.configuration.get(API_KEY_NAME)
    if key is not None and not is_reference(key):
        raise BadConfiguration(
            "The configuration contains an unencrypted api_key.", fix="Save the agent again: the key is then stored as a secret."
        )
    configuration = await reveal(resources.secrets, context, agent.configuration)
    return make_handler(
        kind,
        _log,
        {**agent.model_dump(exclude={"partition"}), "configuration": configuration},
        settings.model_dump(),
        endpoint_id=context.endpoint_id,
        partition_key=context.partition_key,
        run=None if run is None else run.model_dump(exclude={"partition", "request"}),
        connection_id=context.connection_id,
        models=models,
        key=configuration.get(API_KEY_NAME),
    )


def _handler_name(agent: Agent, llm: Llm | None, allowed: list[str]) -> str:
    """The handler's registered name: from the class in the catalogue entry if it is built in, else from the provider."""
    if llm is not None and llm.class_name:
        try:
            find_handler(llm.class_name, allowed)
        except HandlerNotAllowed:
            return agent.llm_provider
        return llm.class_name
    return agent.llm_provider


def fallback_handlers(resources: Resources[AgentsSettings], first: AgentHandler) -> list[AgentHandler]:
    """The handlers to try when the agent's model is unavailable: those of its configuration, then those of the host."""
    named = [*_texts(first.configuration.get("fallback_models")), *resources.settings.fallback_models]
    found: list[AgentHandler] = []
    for address in dict.fromkeys(named):
        configuration = {**first.configuration, "model": address}
        if address.startswith("local:"):
            configuration["context_tokens"] = LocalHandler.context_tokens
        handler = OpenAICompatibleHandler(first.logger, {**first.agent, "configuration": configuration}, **first.setting)
        for name in ("endpoint_id", "partition_key", "run", "connection_id", "models"):
            setattr(handler, name, getattr(first, name))
        found.append(handler)
    return found


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
