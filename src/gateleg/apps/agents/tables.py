"""The nine tenant tables of the public schema, keyed by the tenant's partition, and the pointers to active versions.

Table names, keys, attributes and local indexes are those of the public schema; attributes that we added are marked `ours`. Runs, messages
and tool calls are in `thread_tables`; data that all tenants share is in `catalogue_tables`.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Any

from gateleg.apps.agents.partitions import Partition
from gateleg.model import GSI, LSI, Attr, Entity, Index, Key, Pattern, Table, field, required, stamp, time_uuid

#: Accepts our ids, the public engine's and callers' own: any visible text without the key delimiter.
IDENTIFIER = r"^[^#\x00-\x1f\x7f]+$"
MAX_IDENTIFIER_LENGTH = 128
#: Maximum characters of a name, and of a text sent to a model. Texts stay well below DynamoDB's 400 KB item limit.
MAX_NAME_LENGTH, MAX_TEXT_LENGTH = 200, 200_000


def new_id() -> str:
    """Make an identifier that sorts by creation time."""
    return str(time_uuid())


def is_identifier(value: object) -> bool:
    """Whether a value is a valid identifier. Lookups with any other value return nothing."""
    return isinstance(value, str) and len(value) <= MAX_IDENTIFIER_LENGTH and re.fullmatch(IDENTIFIER, value) is not None


def identifier(*, name: str | None = None) -> Any:
    """Declare a required identifier that the writer supplies."""
    return required(name=name, min_length=1, max_length=MAX_IDENTIFIER_LENGTH, pattern=IDENTIFIER)


def optional_identifier() -> Any:
    """Declare an optional reference to another item."""
    return field(None, min_length=1, max_length=MAX_IDENTIFIER_LENGTH, pattern=IDENTIFIER)


def own_identifier() -> Any:
    """Declare the item's own identifier, generated when the item is created."""
    return field(factory=new_id, create_only=True, min_length=1, max_length=MAX_IDENTIFIER_LENGTH, pattern=IDENTIFIER)


def tenant_table(name: str, sort: str, *indexes: Index) -> Table:
    """Declare a table with `partition_key` as its hash, the public schema's local indexes, and an index across tenants."""
    local = (LSI("endpoint_id-index", range="endpoint_id"), LSI("part_id-index", range="part_id"), *indexes)
    across = GSI("endpoint-index", hash="endpoint_id", range="updated_at")
    return Table(f"aace-{name}", hash="partition_key", range=sort, indexes=[*local, LSI("updated_at-index", range="updated_at"), across])


agents = tenant_table(
    "agents",
    "agent_version_uuid",
    LSI("agent_uuid-index", range="agent_uuid"),
    LSI("flow_snippet_version_uuid-index", range="flow_snippet_version_uuid"),
)
threads = tenant_table("threads", "thread_uuid", LSI("agent_uuid-index", range="agent_uuid"), LSI("owner-index", range="owner_activity"))
prompt_templates = tenant_table(
    "prompt_templates", "prompt_version_uuid", LSI("prompt_uuid-index", range="prompt_uuid"), LSI("prompt_type-index", range="prompt_type")
)
flow_snippets = tenant_table(
    "flow_snippets",
    "flow_snippet_version_uuid",
    LSI("flow_snippet_uuid-index", range="flow_snippet_uuid"),
    LSI("prompt_uuid-index", range="prompt_uuid"),
)
mcp_servers = tenant_table("mcp_servers", "mcp_server_uuid")
elements = tenant_table("elements", "element_uuid", LSI("data_type-index", range="data_type"))
wizards = tenant_table("wizards", "wizard_uuid")
wizard_groups = tenant_table("wizard_groups", "wizard_group_uuid")
wizard_group_filters = tenant_table("wizard_group_filters", "wizard_group_filter_uuid")
version_pointers = Table("aace-version_pointers", hash="partition_key", range="pointer")
model_names = Table("aace-model_names", hash="partition_key", range="model_name")

TENANT_TABLES = (agents, threads, prompt_templates, flow_snippets, mcp_servers, elements, wizards, wizard_groups, wizard_group_filters)


class VersionStatus(StrEnum):
    """The active version answers requests that do not name a version."""

    ACTIVE = "active"
    INACTIVE = "inactive"


class TenantItem(Entity):
    """Attributes of every tenant item. `endpoint_id` and `part_id` are also stored as attributes of their own."""

    partition: Attr[Partition] = required(name="partition_key")
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    in_partition = Pattern(title="All items of a tenant, by id")
    by_endpoint_id = Pattern("endpoint_id-index", title="Items of a tenant by endpoint")
    by_part_id = Pattern("part_id-index", title="Items of a tenant by part")
    by_update = Pattern("updated_at-index", title="Items of a tenant, latest change first", order="desc")
    of_endpoint = Pattern("endpoint-index", title="Items of an endpoint over all its tenants, latest change first", order="desc")


class ReferencedItem(TenantItem):
    """An item that others may refer to. It cannot be deleted while they do."""

    updated_by: Attr[str] = field("", max_length=MAX_NAME_LENGTH)
    #: ours: number of items that refer to this one, updated in the transactions that write those items
    reference_count: Attr[int] = field(0, ge=0)
    #: ours: incremented by every change and checked as the write condition (optimistic lock)
    revision: Attr[int] = field(1, ge=1)


class Agent(ReferencedItem, table=agents):
    """One version of an agent: a model, its instructions and its tools."""

    agent_version_uuid: Attr[str] = own_identifier()
    agent_uuid: Attr[str] = identifier()
    agent_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    agent_description: Attr[str | None] = field(None, max_length=5_000)
    llm_provider: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    llm_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    instructions: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)
    configuration: Attr[dict[str, Any]] = field(factory=dict)
    mcp_server_uuids: Attr[list[str]] = field(factory=list, max_length=40)
    #: maps with name and value
    variables: Attr[list[dict[str, Any]]] = field(factory=list, max_length=200)
    num_of_messages: Attr[int] = field(10, ge=0, le=1_000)
    tool_call_role: Attr[str] = field("developer", max_length=MAX_NAME_LENGTH)
    flow_snippet_version_uuid: Attr[str | None] = optional_identifier()
    status: Attr[VersionStatus] = field(VersionStatus.ACTIVE)

    key = Key("{partition}", "{agent_version_uuid}")
    versions = Pattern("agent_uuid-index", by=("partition", "agent_uuid"), title="The versions of an agent")
    of_flow = Pattern(
        "flow_snippet_version_uuid-index",
        by=("partition", "flow_snippet_version_uuid"),
        title="The versions of agents that use a version of a flow",
    )


class Thread(TenantItem, table=threads):
    """A conversation between a user and an agent, owned by the caller who started it."""

    thread_uuid: Attr[str] = own_identifier()
    agent_uuid: Attr[str] = identifier()
    #: the end user, as the caller named them
    user_id: Attr[str | None] = field(None, max_length=MAX_IDENTIFIER_LENGTH)
    #: ours: the caller who started it (`Context.owner`)
    owner_id: Attr[str] = required(read_only=True)
    #: ours: the version that answers, instead of the active one
    agent_version_uuid: Attr[str | None] = optional_identifier()
    #: ours
    title: Attr[str | None] = field(None, max_length=MAX_NAME_LENGTH)
    #: ours: free-form data of the caller
    metadata: Attr[dict[str, Any]] = field(factory=dict)
    #: ours: the run in progress; a second message queues behind it or replaces it
    current_run_uuid: Attr[str | None] = optional_identifier()
    #: ours: rolling summary of messages that no longer fit the model's context window, and the last message it covers
    summary: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)
    summarised_to: Attr[str | None] = optional_identifier()
    #: ours: number of runs; a thread with runs can only be deleted together with them
    run_count: Attr[int] = field(0, ge=0)

    key = Key("{partition}", "{thread_uuid}")
    owner_key = Key("{partition}", "{owner_id}#{updated_at}", index="owner-index")
    of_agent = Pattern("agent_uuid-index", by=("partition", "agent_uuid"), title="The threads of an agent")
    of_owner = Pattern("owner-index", by=("partition", "owner_id"), title="The threads of a user, latest activity first", order="desc")


class PromptTemplate(ReferencedItem, table=prompt_templates):
    """One version of a prompt."""

    prompt_version_uuid: Attr[str] = own_identifier()
    prompt_uuid: Attr[str] = identifier()
    prompt_type: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    prompt_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    prompt_description: Attr[str | None] = field(None, max_length=5_000)
    template_context: Attr[str] = required(max_length=MAX_TEXT_LENGTH)
    #: maps with name, and optionally type, default, required and description
    variables: Attr[list[dict[str, Any]]] = field(factory=list, max_length=200)
    #: maps with mcp_server_uuid
    mcp_servers: Attr[list[dict[str, Any]]] = field(factory=list, max_length=40)
    #: maps with ui_component_type and ui_component_uuid
    ui_components: Attr[list[dict[str, Any]]] = field(factory=list, max_length=40)
    status: Attr[VersionStatus] = field(VersionStatus.ACTIVE)

    key = Key("{partition}", "{prompt_version_uuid}")
    versions = Pattern("prompt_uuid-index", by=("partition", "prompt_uuid"), title="The versions of a prompt")
    of_type = Pattern("prompt_type-index", by=("partition", "prompt_type"), title="The prompts of a type")


class FlowSnippet(ReferencedItem, table=flow_snippets):
    """One version of a flow: steps that are inserted into a prompt."""

    flow_snippet_version_uuid: Attr[str] = own_identifier()
    flow_snippet_uuid: Attr[str] = identifier()
    prompt_uuid: Attr[str] = identifier()
    flow_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    flow_relationship: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)
    flow_context: Attr[str | None] = field(None, max_length=MAX_TEXT_LENGTH)
    enabled_tools: Attr[list[str]] = field(factory=list, max_length=500)
    status: Attr[VersionStatus] = field(VersionStatus.ACTIVE)

    key = Key("{partition}", "{flow_snippet_version_uuid}")
    versions = Pattern("flow_snippet_uuid-index", by=("partition", "flow_snippet_uuid"), title="The versions of a flow")
    of_prompt = Pattern("prompt_uuid-index", by=("partition", "prompt_uuid"), title="The flows of a prompt")


class McpServer(ReferencedItem, table=mcp_servers):
    """An MCP server that a tenant registered."""

    mcp_server_uuid: Attr[str] = own_identifier()
    mcp_label: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    mcp_server_url: Attr[str] = required(min_length=1, max_length=2_000)
    #: header names exactly as given; values are secret references, never the secrets
    headers: Attr[dict[str, str]] = field(factory=dict)
    #: ours: tools that agents may call; absent means all
    allowed_tools: Attr[list[str] | None] = field(None, max_length=500)

    key = Key("{partition}", "{mcp_server_uuid}")


class WizardElement(ReferencedItem, table=elements):
    """A question of a wizard."""

    element_uuid: Attr[str] = own_identifier()
    data_type: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    element_title: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    priority: Attr[int] = field(0)
    attribute_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    attribute_type: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    option_values: Attr[list[dict[str, Any]]] = field(factory=list, max_length=1_000)
    conditions: Attr[list[dict[str, Any]]] = field(factory=list, max_length=200)
    pattern: Attr[str | None] = field(None, max_length=1_000)

    key = Key("{partition}", "{element_uuid}")
    of_data_type = Pattern("data_type-index", by=("partition", "data_type"), title="The elements of a data type")


class Wizard(ReferencedItem, table=wizards):
    """A form: attributes of its schema, and elements in their order."""

    wizard_uuid: Attr[str] = own_identifier()
    wizard_title: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    wizard_description: Attr[str | None] = field(None, max_length=5_000)
    wizard_type: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    wizard_schema_type: Attr[str] = identifier()
    wizard_schema_name: Attr[str] = identifier()
    #: maps with name and value
    wizard_attributes: Attr[list[dict[str, Any]]] = field(factory=list, max_length=500)
    #: maps with element_uuid, required and placeholder
    wizard_elements: Attr[list[dict[str, Any]]] = field(factory=list, max_length=90)
    priority: Attr[int] = field(0)

    key = Key("{partition}", "{wizard_uuid}")


class WizardGroup(ReferencedItem, table=wizard_groups):
    """Wizards that are shown together."""

    wizard_group_uuid: Attr[str] = own_identifier()
    wizard_group_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    wizard_group_description: Attr[str | None] = field(None, max_length=5_000)
    weight: Attr[float] = field(0)
    wizard_uuids: Attr[list[str]] = field(factory=list, max_length=90)

    key = Key("{partition}", "{wizard_group_uuid}")


class WizardGroupFilter(ReferencedItem, table=wizard_group_filters):
    """Selects the users who see a group of wizards, by region and criteria."""

    wizard_group_filter_uuid: Attr[str] = own_identifier()
    wizard_group_filter_name: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    wizard_group_filter_description: Attr[str | None] = field(None, max_length=5_000)
    region: Attr[str] = required(min_length=1, max_length=MAX_NAME_LENGTH)
    criteria: Attr[dict[str, Any]] = field(factory=dict)
    weight: Attr[float] = field(0)
    wizard_group_uuid: Attr[str | None] = optional_identifier()

    key = Key("{partition}", "{wizard_group_filter_uuid}")


class VersionPointer(Entity, table=version_pointers):
    """Names the active version of an agent, prompt or flow. Every version change is conditional on the pointer's revision."""

    partition: Attr[Partition] = required(name="partition_key")
    #: `agent`, `prompt` or `flow`
    kind: Attr[str] = identifier()
    #: the id shared by all versions
    logical_uuid: Attr[str] = identifier()
    active_version_uuid: Attr[str] = identifier()
    revision: Attr[int] = field(1, ge=1)
    version_count: Attr[int] = field(1, ge=0)
    #: of an agent: its name as a model of the OpenAI API and as a tool of MCP (`model_names`); absent until one is needed
    model_name: Attr[str | None] = optional_identifier()
    #: version ids by label, such as `stable`
    labels: Attr[dict[str, str]] = field(factory=dict)
    #: threads of an agent, flows of a prompt
    reference_count: Attr[int] = field(0, ge=0)

    key = Key("{partition}", "{kind}#{logical_uuid}")
    of_kind = Pattern(by=("partition", "kind"), title="The agents, prompts or flows of a tenant, each once")


class ModelName(Entity, table=model_names):
    """A name that is reserved for an agent; `VersionPointer.model_name` is the one that lists show, the others still lead to it."""

    partition: Attr[Partition] = required(name="partition_key")
    model_name: Attr[str] = identifier()
    agent_uuid: Attr[str] = identifier()
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("{partition}", "{model_name}")
    in_partition = Pattern(title="The names of a tenant's agents, also of deleted ones")


TENANT_ITEMS: tuple[type[TenantItem], ...] = (
    *(Agent, Thread, PromptTemplate, FlowSnippet, McpServer),
    *(WizardElement, Wizard, WizardGroup, WizardGroupFilter),
)
