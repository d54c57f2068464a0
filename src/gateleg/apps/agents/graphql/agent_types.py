"""Types of agents, models, tool servers, prompts, flows and UI components."""

from datetime import datetime
from typing import Any

import strawberry

from gateleg.apps.agents.catalogue_tables import Llm, UiComponent
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import VersionStatus
from gateleg.apps.agents.graphql.fields import resolver_field
from gateleg.apps.agents.graphql.listings import PageType
from gateleg.apps.agents.graphql.live_tools import list_live_tools
from gateleg.apps.agents.graphql.scalars import JSON, Verbatim, renamed_schema, shown_name
from gateleg.apps.agents.secret_references import redact, redact_headers
from gateleg.apps.agents.tables import Agent, FlowSnippet, McpServer, PromptTemplate


@strawberry.type
class TenantType:
    """Fields of all items of a tenant."""

    partition_key: str
    endpoint_id: str
    part_id: str


@strawberry.type
class TimesType:
    """When an item was written, and by whom."""

    updated_by: str | None
    created_at: datetime
    updated_at: datetime


@strawberry.type(name="LlmType", description="A model that agents may use, and the handler that talks to it.")
class LlmType(TimesType):
    """A model."""

    llm_provider: str
    llm_name: str
    module_name: str | None
    class_name: str | None

    @resolver_field(JSON | None)
    def configuration_schema(root: strawberry.Parent[Llm]) -> Any:
        """The JSON schema of the configuration of agents that use it."""
        return Verbatim(renamed_schema(root.configuration_schema, shown_name))


@strawberry.type(name="UIComponentType", description="A UI component that prompts may use.")
class UIComponentType(TimesType):
    """A component."""

    ui_component_type: str
    ui_component_uuid: str
    tag_name: str
    parameters: list[JSON]
    wait_for: str | None


@strawberry.type(name="MCPServerType", description="An MCP server of a tenant.")
class MCPServerType(TenantType, TimesType):
    """An MCP server."""

    mcp_server_uuid: str
    mcp_label: str
    mcp_server_url: str
    allowed_tools: list[str] | None = strawberry.field(description="The tools that agents may call; all, if null.")

    @resolver_field(JSON | None)
    def headers(root: strawberry.Parent[McpServer]) -> Any:
        """The headers of its requests. Values are references to secrets."""
        return Verbatim(redact_headers(root.headers))

    @resolver_field(list[JSON] | None)
    async def tools(root: strawberry.Parent[McpServer], info: Info) -> list[dict[str, Any]]:
        """Its tools, read from the server now; null with an error if the server does not respond."""
        return [Verbatim(one) for one in await list_live_tools(info.context, root)]


@strawberry.type(name="PromptTemplateBaseType", description="One version of a prompt, without the items it refers to.")
class PromptTemplateBaseType(TenantType, TimesType):
    """A prompt in a list."""

    prompt_version_uuid: str
    prompt_uuid: str
    prompt_type: str
    prompt_name: str
    prompt_description: str | None
    template_context: str
    variables: JSON | None
    status: VersionStatus


@strawberry.type(name="PromptTemplateType", description="One version of a prompt.")
class PromptTemplateType(PromptTemplateBaseType):
    """A prompt."""

    @resolver_field(list[MCPServerType])
    async def mcp_servers(root: strawberry.Parent[PromptTemplate], info: Info) -> list[McpServer]:
        """Its MCP servers; deleted ones are left out."""
        ids = [one["mcp_server_uuid"] for one in root.mcp_servers if one.get("mcp_server_uuid")]
        return await info.context.loaders.find_all(McpServer, "mcp_server_uuid", ids)

    @resolver_field(JSON | None)
    async def ui_components(root: strawberry.Parent[PromptTemplate], info: Info) -> list[dict[str, Any]]:
        """Its UI components."""
        loaders = info.context.loaders
        found = []
        for one in root.ui_components:
            key = {name: one.get(name) for name in ("ui_component_type", "ui_component_uuid")}
            item = await loaders.find(UiComponent, **key)
            found.append(one if item is None else one | item.model_dump(exclude={"reference_count"}))
        return found


@strawberry.type(name="FlowSnippetBaseType", description="One version of a flow, without its text.")
class FlowSnippetBaseType(TenantType, TimesType):
    """A flow in a list."""

    flow_snippet_version_uuid: str
    flow_snippet_uuid: str
    enabled_tools: list[str]
    prompt_uuid: str
    flow_name: str
    status: VersionStatus


@strawberry.type(name="FlowSnippetType", description="One version of a flow: steps that are inserted into a prompt.")
class FlowSnippetType(FlowSnippetBaseType):
    """A flow."""

    flow_relationship: str | None
    flow_context: str | None

    @resolver_field(PromptTemplateType | None)
    async def prompt_template(root: strawberry.Parent[FlowSnippet], info: Info) -> PromptTemplate | None:
        """The active version of its prompt."""
        return await info.context.loaders.find_active(PromptTemplate, root.prompt_uuid)


@strawberry.type(name="AgentType", description="One version of an agent: a model, its instructions and its tools.")
class AgentType(TenantType, TimesType):
    """An agent."""

    agent_version_uuid: str
    agent_uuid: str
    agent_name: str
    agent_description: str | None
    llm_provider: str
    llm_name: str
    mcp_server_uuids: list[str]
    flow_snippet_version_uuid: str | None
    instructions: str | None
    variables: list[JSON]
    num_of_messages: int
    tool_call_role: str
    status: VersionStatus

    @resolver_field(JSON | None)
    def configuration(root: strawberry.Parent[Agent]) -> Any:
        """The configuration of its handler. Secrets are shown as references."""
        return redact(root.configuration)

    @resolver_field(LlmType | None)
    async def llm(root: strawberry.Parent[Agent], info: Info) -> Llm | None:
        """Its model."""
        return await info.context.loaders.find(Llm, llm_provider=root.llm_provider, llm_name=root.llm_name)

    @resolver_field(list[MCPServerType])
    async def mcp_servers(root: strawberry.Parent[Agent], info: Info) -> list[McpServer]:
        """Its MCP servers; deleted ones are left out."""
        return await info.context.loaders.find_all(McpServer, "mcp_server_uuid", root.mcp_server_uuids)

    @resolver_field(FlowSnippetType | None)
    async def flow_snippet(root: strawberry.Parent[Agent], info: Info) -> FlowSnippet | None:
        """The flow version that it is composed from."""
        return await info.context.loaders.find(FlowSnippet, flow_snippet_version_uuid=root.flow_snippet_version_uuid)


@strawberry.type(name="LlmListType")
class LlmListType(PageType):
    """A page of models."""

    llm_list: list[LlmType]


@strawberry.type(name="UIComponentListType")
class UIComponentListType(PageType):
    """A page of UI components."""

    ui_component_list: list[UIComponentType]


@strawberry.type(name="MCPServerListType")
class MCPServerListType(PageType):
    """A page of MCP servers."""

    mcp_server_list: list[MCPServerType]


@strawberry.type(name="PromptTemplateListType")
class PromptTemplateListType(PageType):
    """A page of prompts."""

    prompt_template_list: list[PromptTemplateBaseType]


@strawberry.type(name="FlowSnippetListType")
class FlowSnippetListType(PageType):
    """A page of flows."""

    flow_snippet_list: list[FlowSnippetBaseType]


@strawberry.type(name="AgentListType")
class AgentListType(PageType):
    """A page of agents."""

    agent_list: list[AgentType]
