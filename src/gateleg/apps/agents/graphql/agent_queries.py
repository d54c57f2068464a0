"""Queries of agents, models, tool servers, prompts, flows and UI components."""

from datetime import datetime

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.catalogue import list_llms, list_ui_components
from gateleg.apps.agents.catalogue_tables import Llm, UiComponent
from gateleg.apps.agents.flows import list_flows
from gateleg.apps.agents.graphql.agent_types import (
    AgentListType,
    AgentType,
    FlowSnippetListType,
    FlowSnippetType,
    LlmListType,
    LlmType,
    MCPServerListType,
    MCPServerType,
    PromptTemplateListType,
    PromptTemplateType,
    UIComponentListType,
    UIComponentType,
)
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import VersionStatus
from gateleg.apps.agents.graphql.fields import resolver_field, stored_arguments
from gateleg.apps.agents.graphql.item_lookup import find_version
from gateleg.apps.agents.graphql.listings import Listing, list_rows
from gateleg.apps.agents.prompts import list_prompts
from gateleg.apps.agents.servers import list_servers
from gateleg.apps.agents.tables import Agent, FlowSnippet, McpServer, PromptTemplate


@strawberry.type
class AgentQueries:
    """Queries of agents."""

    @resolver_field(str)
    def ping(self) -> str:
        """A greeting, to test whether the API responds."""
        return "Hello at " + datetime.now().isoformat()

    @resolver_field(LlmType | None)
    async def llm(self, info: Info, llm_provider: str, llm_name: str) -> Llm | None:
        """A model; null if there is none."""
        return await info.context.loaders.find(Llm, llm_provider=llm_provider, llm_name=llm_name)

    @resolver_field(LlmListType)
    async def llm_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        llm_provider: str | None = UNSET,
        module_name: str | None = UNSET,
        class_name: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[Llm]:
        """Models, by provider and name."""
        return await list_rows(info.context, list_llms, stored_arguments(locals()))

    @resolver_field(AgentType | None)
    async def agent(self, info: Info, agent_uuid: str | None = UNSET, agent_version_uuid: str | None = UNSET) -> Agent | None:
        """An agent: its active version by `agentUuid`, or one version by `agentVersionUuid`. Null if there is none."""
        return await find_version(info.context, Agent, agent_uuid, agent_version_uuid)

    @resolver_field(AgentListType)
    async def agent_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        agent_uuid: str | None = UNSET,
        agent_name: str | None = UNSET,
        llm_provider: str | None = UNSET,
        llm_name: str | None = UNSET,
        model: str | None = UNSET,
        statuses: list[VersionStatus | None] | None = UNSET,
        flow_snippet_version_uuid: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[Agent]:
        """Versions of agents, latest change first. `agentName` matches part of the name, `model` the model of the configuration."""
        return await list_rows(info.context, list_agents, stored_arguments(locals()))

    @resolver_field(PromptTemplateType | None)
    async def prompt_template(
        self, info: Info, prompt_version_uuid: str | None = UNSET, prompt_uuid: str | None = UNSET
    ) -> PromptTemplate | None:
        """A prompt: its active version by `promptUuid`, or one version by `promptVersionUuid`. Null if there is none."""
        return await find_version(info.context, PromptTemplate, prompt_uuid, prompt_version_uuid)

    @resolver_field(PromptTemplateListType)
    async def prompt_template_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        prompt_uuid: str | None = UNSET,
        prompt_type: str | None = UNSET,
        prompt_name: str | None = UNSET,
        statuses: list[VersionStatus | None] | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[PromptTemplate]:
        """Versions of prompts, earliest change first. `promptName` matches part of the name."""
        return await list_rows(info.context, list_prompts, stored_arguments(locals()))

    @resolver_field(FlowSnippetType | None)
    async def flow_snippet(
        self, info: Info, flow_snippet_version_uuid: str | None = UNSET, flow_snippet_uuid: str | None = UNSET
    ) -> FlowSnippet | None:
        """A flow: its active version by `flowSnippetUuid`, or one version by `flowSnippetVersionUuid`. Null if there is none."""
        return await find_version(info.context, FlowSnippet, flow_snippet_uuid, flow_snippet_version_uuid)

    @resolver_field(FlowSnippetListType)
    async def flow_snippet_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        flow_snippet_uuid: str | None = UNSET,
        prompt_uuid: str | None = UNSET,
        flow_name: str | None = UNSET,
        statuses: list[VersionStatus | None] | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[FlowSnippet]:
        """Versions of flows, earliest change first. `flowName` matches part of the name."""
        return await list_rows(info.context, list_flows, stored_arguments(locals()))

    @resolver_field(MCPServerType | None)
    async def mcp_server(self, info: Info, mcp_server_uuid: str) -> McpServer | None:
        """An MCP server; null if there is none."""
        return await info.context.loaders.find(McpServer, mcp_server_uuid=mcp_server_uuid)

    @resolver_field(MCPServerListType)
    async def mcp_server_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        mcp_label: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[McpServer]:
        """MCP servers, earliest change first."""
        return await list_rows(info.context, list_servers, stored_arguments(locals()))

    @resolver_field(UIComponentType | None)
    async def ui_component(self, info: Info, ui_component_type: str, ui_component_uuid: str) -> UiComponent | None:
        """A UI component; null if there is none."""
        key = {"ui_component_type": ui_component_type, "ui_component_uuid": ui_component_uuid}
        return await info.context.loaders.find(UiComponent, **key)

    @resolver_field(UIComponentListType)
    async def ui_component_list(
        self,
        info: Info,
        page_number: int | None = UNSET,
        limit: int | None = UNSET,
        after: str | None = UNSET,
        ui_component_type: str | None = UNSET,
        tag_name: str | None = UNSET,
        updated_at_gt: datetime | None = UNSET,
        updated_at_lt: datetime | None = UNSET,
    ) -> Listing[UiComponent]:
        """UI components, by type. `tagName` matches part of the name."""
        return await list_rows(info.context, list_ui_components, stored_arguments(locals()))
