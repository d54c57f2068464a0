"""The form for a new agent or a new version, with the available models, tools, tool servers and flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.catalogue import list_llms
from gateleg.apps.agents.flows import list_flows
from gateleg.apps.agents.listing import MAX_LIMIT, Paging
from gateleg.apps.agents.secret_references import redact
from gateleg.apps.agents.servers import list_servers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.agents.catalogue_tables import Llm
    from gateleg.apps.agents.tables import Agent, FlowSnippet, McpServer
    from gateleg.apps.agents.web.page_context import Visit
    from gateleg.host import OfferedTool

__all__ = ["AgentForm", "agent_form", "form_for_agent"]

#: Separates the provider and the name of a model.
_BETWEEN = " / "
#: Configuration members that have their own form fields.
_ASKED = ("model", "tools", "require_approval")
_ALWAYS = "*"
#: The length of a tool's description beside its name, in characters.
_SHORT = 120


def _choice(provider: str, name: str) -> str:
    return f"{provider}{_BETWEEN}{name}"


class AgentForm(BaseModel):
    """The fixed fields of the form. `agent_form` adds fields with choices, and the fields after them."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    description: str = Field(default="", title="Description", max_length=5_000)
    #: provider and name of a model in the catalogue; `agent_form` sets the choices
    llm: str = Field(title="Catalogue model")
    model: str = Field(default="", title="Model", description="the provider's name of the model; empty for the default")
    instructions: str = Field(default="", title="Instructions", max_length=200_000)
    messages: int = Field(default=10, title="Messages of history", ge=0, le=1_000)

    @classmethod
    def values_of(cls, agent: Agent) -> dict[str, Any]:
        """The form values of an agent. Its secrets are references."""
        configuration = agent.configuration
        approval = configuration.get("require_approval")
        return {
            "name": agent.agent_name,
            "description": agent.agent_description or "",
            "llm": _choice(agent.llm_provider, agent.llm_name),
            "model": str(configuration.get("model", "")),
            "instructions": agent.instructions or "",
            "messages": agent.num_of_messages,
            "tools": tools_of(agent),
            "servers": agent.mcp_server_uuids,
            "approval": [_ALWAYS] if approval in ("always", True) else approval if isinstance(approval, list) else [],
            "flow": agent.flow_snippet_version_uuid or "",
            "variables": {str(one.get("name")): one.get("value") for one in agent.variables},
            "configuration": {name: value for name, value in redact(configuration).items() if name not in _ASKED},
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the agent. Values without a form field are kept."""
        asked = self.model_dump()
        approval = asked.get("approval") or []
        named = {"model": self.model, "tools": asked.get("tools"), "require_approval": "always" if _ALWAYS in approval else approval}
        provider, _, name = self.llm.partition(_BETWEEN)
        found: dict[str, Any] = {
            "agent_name": self.name,
            "agent_description": self.description or None,
            "llm_provider": provider,
            "llm_name": name,
            "instructions": self.instructions or None,
            "num_of_messages": self.messages,
            "configuration": {**asked.get("configuration", {}), **{key: value for key, value in named.items() if value}},
        }
        if "servers" in asked:
            found["mcp_server_uuids"] = asked["servers"]
        if "flow" in asked:
            found["flow_snippet_version_uuid"] = asked["flow"] or None
            found["variables"] = [{"name": key, "value": value} for key, value in asked["variables"].items()]
        return found


def tools_of(agent: Agent | None) -> list[str]:
    """The names and patterns of an agent's application tools."""
    found = None if agent is None else agent.configuration.get("tools")
    return [found] if isinstance(found, str) else [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


async def form_for_agent(visit: Visit, agent: Agent | None = None) -> type[AgentForm] | None:
    """The form with the choices of the user; None if the catalogue has no model."""
    store, context = visit.resources.store, visit.context
    llms = (await list_llms(store, context, Paging(limit=MAX_LIMIT))).items
    if not llms:
        return None
    servers = (await list_servers(store, context, Paging(limit=MAX_LIMIT))).items
    flows = (await list_flows(store, context, Paging(limit=MAX_LIMIT), statuses=("active",))).items
    return agent_form(llms, visit.resources.tools_for(context.principal), servers, flows, agent)


def agent_form(
    llms: Sequence[Llm],
    tools: Sequence[OfferedTool] = (),
    servers: Sequence[McpServer] = (),
    flows: Sequence[FlowSnippet] = (),
    agent: Agent | None = None,
) -> type[AgentForm]:
    """The form with choices. Values of the agent that are no longer offered can be kept or removed."""
    fields: dict[str, Any] = {
        "llm": (Literal[tuple(_choice(one.llm_provider, one.llm_name) for one in llms)], Field(title="Catalogue model"))
    }
    offered = {one.name: f"{one.name}: {one.tool.description[:_SHORT]}" for one in tools}
    offered |= {one: f"{one}: a pattern, or a tool that is not available to you" for one in tools_of(agent) if one not in offered}
    if offered:
        fields["tools"] = _several("Application tools", "called with the rights of the user who asks", offered)
    known = {one.mcp_server_uuid: f"{one.mcp_label}: {one.mcp_server_url}" for one in servers}
    if known:
        fields["servers"] = _several("Tool servers", "", known)
    fields["approval"] = (
        list[str],
        Field(default_factory=list, title="Tools that need approval", description="names and patterns, one per line; * matches any text"),
    )
    composed = {one.flow_snippet_version_uuid: one.flow_name for one in flows}
    if agent is not None and agent.flow_snippet_version_uuid:
        composed.setdefault(agent.flow_snippet_version_uuid, f"{agent.flow_snippet_version_uuid} (not the active version)")
    if composed:
        labels: Any = {"labels": {"": "none", **composed}}
        about = "the flow's prompt becomes the instructions"
        fields["flow"] = (Literal[("", *composed)], Field(default="", title="Flow", description=about, json_schema_extra=labels))
        fields["variables"] = (
            dict[str, Any],
            Field(default_factory=dict, title="Flow variables", description='As JSON: {"city": "Rome"}'),
        )
    about = "as JSON; values of secrets, such as api_key, are stored encrypted"
    fields["configuration"] = (dict[str, Any], Field(default_factory=dict, title="Further configuration", description=about))
    return create_model("AgentForm", __base__=AgentForm, **fields)


def _several(title: str, about: str, choices: Mapping[str, str]) -> tuple[Any, Any]:
    labels: Any = {"labels": dict(choices)}
    return list[Literal[tuple(choices)]], Field(  # type: ignore[misc]
        default_factory=list, title=title, description=about, json_schema_extra=labels
    )
