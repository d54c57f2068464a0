"""The nine tables before the migration: the hash key `endpoint_id` stands for both platform and business.

Only keys, indexes and attributes that may be absent are declared; all other attributes of an item are kept unchanged. The tables have
different names here, because a store cannot have two tables of one name: set the deployed names in `[table_names]` of `gateleg.toml`.
"""

from datetime import datetime
from typing import Annotated, Any

from gateleg.model import LSI, Attr, Entity, Index, Key, Pattern, Table, TimeFormat, field

#: Times as the public engine writes them.
OldTime = Annotated[datetime, TimeFormat.PYNAMODB]


def old_table(name: str, sort: str, *ranges: str) -> Table:
    """A table by endpoint."""
    indexes: list[Index] = [LSI(f"{name}-index", range=name) for name in ranges]
    return Table(f"aace-{name}-by-endpoint", hash="endpoint_id", range=sort, indexes=indexes)


class OldItem(Entity):
    """The attributes of all items of an endpoint."""

    endpoint_id: Attr[str]
    created_at: Attr[OldTime | None] = field(None)
    updated_at: Attr[OldTime]

    of_endpoint = Pattern(title="All items of an endpoint, by id")
    by_update = Pattern("updated_at-index", title="Items of an endpoint, latest change first", order="desc")


class OldAgent(OldItem, table=old_table("agents", "agent_version_uuid", "agent_uuid", "updated_at")):
    """A version of an agent."""

    agent_version_uuid: Attr[str]
    agent_uuid: Attr[str]
    configuration: Attr[dict[str, Any] | None] = field(None)
    mcp_server_uuids: Attr[list[str] | None] = field(None)
    variables: Attr[list[dict[str, Any]] | None] = field(None)
    num_of_messages: Attr[int | None] = field(None)
    tool_call_role: Attr[str | None] = field(None)
    flow_snippet_version_uuid: Attr[str | None] = field(None)
    status: Attr[str | None] = field(None)

    key = Key("{endpoint_id}", "{agent_version_uuid}")
    versions = Pattern("agent_uuid-index", by=("endpoint_id", "agent_uuid"), title="The versions of an agent")


old_threads = Table(
    "aace-threads-by-endpoint",
    hash="endpoint_id",
    range="thread_uuid",
    indexes=[LSI("agent_uuid-index", range="agent_uuid"), LSI("updated_at-index", range="created_at")],
)


class OldThread(Entity, table=old_threads):
    """A thread. Threads were never updated, so their index by update time is by creation time."""

    endpoint_id: Attr[str]
    thread_uuid: Attr[str]
    agent_uuid: Attr[str]
    user_id: Attr[str | None] = field(None)
    created_at: Attr[OldTime]

    key = Key("{endpoint_id}", "{thread_uuid}")
    of_endpoint = Pattern(title="The threads of an endpoint, by id")
    by_update = Pattern("updated_at-index", title="The threads of an endpoint, newest first", order="desc")
    of_agent = Pattern("agent_uuid-index", by=("endpoint_id", "agent_uuid"), title="The threads of an agent")


class OldPrompt(OldItem, table=old_table("prompt_templates", "prompt_version_uuid", "prompt_uuid", "prompt_type", "updated_at")):
    """A version of a prompt."""

    prompt_version_uuid: Attr[str]
    prompt_uuid: Attr[str]
    prompt_type: Attr[str]
    variables: Attr[list[dict[str, Any]] | None] = field(None)
    mcp_servers: Attr[list[dict[str, Any]] | None] = field(None)
    ui_components: Attr[list[dict[str, Any]] | None] = field(None)
    status: Attr[str | None] = field(None)

    key = Key("{endpoint_id}", "{prompt_version_uuid}")
    versions = Pattern("prompt_uuid-index", by=("endpoint_id", "prompt_uuid"), title="The versions of a prompt")
    of_type = Pattern("prompt_type-index", by=("endpoint_id", "prompt_type"), title="The prompts of a type")


class OldFlow(OldItem, table=old_table("flow_snippets", "flow_snippet_version_uuid", "flow_snippet_uuid", "prompt_uuid", "updated_at")):
    """A version of a flow."""

    flow_snippet_version_uuid: Attr[str]
    flow_snippet_uuid: Attr[str]
    prompt_uuid: Attr[str]
    enabled_tools: Attr[list[str] | None] = field(None)
    status: Attr[str | None] = field(None)

    key = Key("{endpoint_id}", "{flow_snippet_version_uuid}")
    versions = Pattern("flow_snippet_uuid-index", by=("endpoint_id", "flow_snippet_uuid"), title="The versions of a flow")
    of_prompt = Pattern("prompt_uuid-index", by=("endpoint_id", "prompt_uuid"), title="The flows of a prompt")


class OldServer(OldItem, table=old_table("mcp_servers", "mcp_server_uuid", "updated_at")):
    """An MCP server, with its headers unencrypted."""

    mcp_server_uuid: Attr[str]
    headers: Attr[dict[str, Any] | None] = field(None)

    key = Key("{endpoint_id}", "{mcp_server_uuid}")


class OldElement(OldItem, table=old_table("elements", "element_uuid", "data_type", "updated_at")):
    """An element of wizards."""

    element_uuid: Attr[str]
    data_type: Attr[str]
    priority: Attr[int | None] = field(None)
    option_values: Attr[list[dict[str, Any]] | None] = field(None)
    conditions: Attr[list[dict[str, Any]] | None] = field(None)

    key = Key("{endpoint_id}", "{element_uuid}")
    of_data_type = Pattern("data_type-index", by=("endpoint_id", "data_type"), title="The elements of a data type")


class OldWizard(OldItem, table=old_table("wizards", "wizard_uuid", "updated_at")):
    """A wizard."""

    wizard_uuid: Attr[str]
    wizard_attributes: Attr[list[dict[str, Any]] | None] = field(None)
    wizard_elements: Attr[list[dict[str, Any]] | None] = field(None)
    priority: Attr[int | None] = field(None)

    key = Key("{endpoint_id}", "{wizard_uuid}")


class OldGroup(OldItem, table=old_table("wizard_groups", "wizard_group_uuid", "updated_at")):
    """A group of wizards."""

    wizard_group_uuid: Attr[str]
    weight: Attr[float | None] = field(None)
    wizard_uuids: Attr[list[str] | None] = field(None)

    key = Key("{endpoint_id}", "{wizard_group_uuid}")


class OldFilter(OldItem, table=old_table("wizard_group_filters", "wizard_group_filter_uuid", "updated_at")):
    """A filter of groups."""

    wizard_group_filter_uuid: Attr[str]
    criteria: Attr[dict[str, Any] | None] = field(None)
    weight: Attr[float | None] = field(None)
    wizard_group_uuid: Attr[str | None] = field(None)

    key = Key("{endpoint_id}", "{wizard_group_filter_uuid}")


OLD_ITEMS: tuple[type[Entity], ...] = (OldAgent, OldThread, OldPrompt, OldFlow, OldServer, OldElement, OldWizard, OldGroup, OldFilter)
