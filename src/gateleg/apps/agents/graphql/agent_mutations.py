"""Mutations of agents, models, tool servers, prompts, flows and UI components."""

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.agents import delete_agent
from gateleg.apps.agents.catalogue import delete_llm, delete_ui_component, save_llm, save_ui_component
from gateleg.apps.agents.catalogue_tables import Llm, UiComponent
from gateleg.apps.agents.flows import delete_flow, save_flow
from gateleg.apps.agents.graphql.agent_types import AgentType, FlowSnippetType, LlmType, MCPServerType, PromptTemplateType, UIComponentType
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import VersionStatus
from gateleg.apps.agents.graphql.fields import (
    DeletePayload,
    SavePayload,
    delete_payload_type,
    resolver_field,
    save_payload_type,
    stored_arguments,
)
from gateleg.apps.agents.graphql.item_mutations import delete_by_ids, save_item, save_version, with_move_job, with_resources, with_secrets
from gateleg.apps.agents.graphql.scalars import JSON
from gateleg.apps.agents.prompts import delete_prompt, save_prompt
from gateleg.apps.agents.save_checks import save_agent, save_server
from gateleg.apps.agents.servers import delete_server
from gateleg.apps.agents.tables import Agent, FlowSnippet, McpServer, PromptTemplate

InsertUpdateLlm = save_payload_type("InsertUpdateLlm", "llm", LlmType)
DeleteLlm = delete_payload_type("DeleteLlm")
InsertUpdateAgent = save_payload_type("InsertUpdateAgent", "agent", AgentType)
DeleteAgent = delete_payload_type("DeleteAgent")
InsertUpdatePromptTemplate = save_payload_type("InsertUpdatePromptTemplate", "promptTemplate", PromptTemplateType)
DeletePromptTemplate = delete_payload_type("DeletePromptTemplate")
InsertUpdateFlowSnippet = save_payload_type("InsertUpdateFlowSnippet", "flowSnippet", FlowSnippetType)
DeleteFlowSnippet = delete_payload_type("DeleteFlowSnippet")
InsertUpdateMCPServer = save_payload_type("InsertUpdateMCPServer", "mcpServer", MCPServerType)
DeleteMCPServer = delete_payload_type("DeleteMCPServer")
InsertUpdateUIComponent = save_payload_type("InsertUpdateUIComponent", "uiComponent", UIComponentType)
DeleteUIComponent = delete_payload_type("DeleteUIComponent")


@strawberry.type
class AgentMutations:
    """Mutations of agents. If the settings name an `editors` group, only its members may use them."""

    @resolver_field(InsertUpdateLlm)
    async def insert_update_llm(
        self,
        info: Info,
        llm_name: str,
        llm_provider: str,
        class_name: str | None = UNSET,
        configuration_schema: JSON | None = UNSET,
        module_name: str | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Add a model to the catalogue, or change one. Only operators and admins of the host."""
        return await save_item(info.context, Llm, save_llm, stored_arguments(locals()))

    @resolver_field(DeleteLlm)
    async def delete_llm(self, info: Info, llm_name: str, llm_provider: str) -> DeletePayload:
        """Delete a model from the catalogue, unless an agent of any tenant uses it."""
        return await delete_by_ids(info.context, delete_llm, llm_provider, llm_name)

    @resolver_field(InsertUpdateAgent)
    async def insert_update_agent(
        self,
        info: Info,
        agent_description: str | None = UNSET,
        agent_name: str | None = UNSET,
        agent_uuid: str | None = UNSET,
        agent_version_uuid: str | None = UNSET,
        configuration: JSON | None = UNSET,
        duplicate: bool | None = UNSET,
        flow_snippet_version_uuid: str | None = UNSET,
        instructions: str | None = UNSET,
        llm_name: str | None = UNSET,
        llm_provider: str | None = UNSET,
        mcp_server_uuids: list[str | None] | None = UNSET,
        num_of_messages: int | None = UNSET,
        status: VersionStatus | None = UNSET,
        tool_call_role: str | None = UNSET,
        updated_by: str | None = UNSET,
        variables: list[JSON | None] | None = UNSET,
    ) -> SavePayload:
        """Create an agent, a new version of one (`agentUuid`), a copy (`duplicate`), or change a version (`agentVersionUuid`)."""
        return await save_version(info.context, Agent, with_resources(info, save_agent), stored_arguments(locals()))

    @resolver_field(DeleteAgent)
    async def delete_agent(self, info: Info, agent_version_uuid: str) -> DeletePayload:
        """Delete a version of an agent. If it was active, the newest other version becomes active.

        The last version cannot be deleted while there are threads.
        """
        return await delete_by_ids(info.context, with_secrets(info, delete_agent), agent_version_uuid)

    @resolver_field(InsertUpdatePromptTemplate)
    async def insert_update_prompt_template(
        self,
        info: Info,
        duplicate: bool | None = UNSET,
        mcp_servers: list[JSON | None] | None = UNSET,
        prompt_description: str | None = UNSET,
        prompt_name: str | None = UNSET,
        prompt_type: str | None = UNSET,
        prompt_uuid: str | None = UNSET,
        prompt_version_uuid: str | None = UNSET,
        status: VersionStatus | None = UNSET,
        template_context: str | None = UNSET,
        ui_components: list[JSON | None] | None = UNSET,
        updated_by: str | None = UNSET,
        variables: list[JSON | None] | None = UNSET,
    ) -> SavePayload:
        """Create a prompt, a new version of one (`promptUuid`), a copy (`duplicate`), or change a version (`promptVersionUuid`)."""
        return await save_version(info.context, PromptTemplate, save_prompt, stored_arguments(locals()))

    @resolver_field(DeletePromptTemplate)
    async def delete_prompt_template(self, info: Info, prompt_version_uuid: str) -> DeletePayload:
        """Delete a version of a prompt. If it was active, the newest other version becomes active.

        The last version cannot be deleted while flows use it.
        """
        return await delete_by_ids(info.context, delete_prompt, prompt_version_uuid)

    @resolver_field(InsertUpdateFlowSnippet)
    async def insert_update_flow_snippet(
        self,
        info: Info,
        duplicate: bool | None = UNSET,
        enabled_tools: list[str | None] | None = UNSET,
        flow_context: str | None = UNSET,
        flow_name: str | None = UNSET,
        flow_relationship: str | None = UNSET,
        flow_snippet_uuid: str | None = UNSET,
        flow_snippet_version_uuid: str | None = UNSET,
        prompt_uuid: str | None = UNSET,
        status: VersionStatus | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Create a flow, a new version of one (`flowSnippetUuid`), a copy (`duplicate`), or change a version."""
        return await save_version(info.context, FlowSnippet, with_move_job(info, save_flow), stored_arguments(locals()))

    @resolver_field(DeleteFlowSnippet)
    async def delete_flow_snippet(self, info: Info, flow_snippet_version_uuid: str) -> DeletePayload:
        """Delete a version of a flow, unless an agent uses it. If it was active, the newest other version becomes active."""
        return await delete_by_ids(info.context, delete_flow, flow_snippet_version_uuid)

    @resolver_field(InsertUpdateMCPServer)
    async def insert_update_mcp_server(
        self,
        info: Info,
        headers: JSON | None = UNSET,
        mcp_label: str | None = UNSET,
        mcp_server_url: str | None = UNSET,
        mcp_server_uuid: str | None = UNSET,
        updated_by: str | None = UNSET,
    ) -> SavePayload:
        """Register an MCP server, or change one. Header names are kept as given."""
        return await save_item(info.context, McpServer, with_resources(info, save_server), stored_arguments(locals()))

    @resolver_field(DeleteMCPServer)
    async def delete_mcp_server(self, info: Info, mcp_server_uuid: str) -> DeletePayload:
        """Delete an MCP server, unless an agent or a prompt uses it."""
        return await delete_by_ids(info.context, with_secrets(info, delete_server), mcp_server_uuid)

    @resolver_field(InsertUpdateUIComponent)
    async def insert_update_ui_component(
        self,
        info: Info,
        ui_component_type: str,
        parameters: list[JSON | None] | None = UNSET,
        tag_name: str | None = UNSET,
        ui_component_uuid: str | None = UNSET,
        updated_by: str | None = UNSET,
        wait_for: str | None = UNSET,
    ) -> SavePayload:
        """Add a UI component to the catalogue, or change one. Only operators and admins of the host."""
        return await save_item(info.context, UiComponent, save_ui_component, stored_arguments(locals()))

    @resolver_field(DeleteUIComponent)
    async def delete_ui_component(self, info: Info, ui_component_type: str, ui_component_uuid: str) -> DeletePayload:
        """Delete a UI component from the catalogue, unless a prompt uses it."""
        return await delete_by_ids(info.context, delete_ui_component, ui_component_type, ui_component_uuid)
