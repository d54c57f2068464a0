"""Nine tables of an agent engine, all under a tenant's composite partition."""

from datetime import datetime

from gateleg.model import GSI, LSI, Attr, Entity, Key, KeyPart, Pattern, Table, required, same_as, stamp


class Partition(KeyPart, template="{endpoint_id}#{part_id}"):
    """A platform's endpoint and a business on it."""

    endpoint_id: str
    part_id: str = same_as("endpoint_id")


def tenant_table(name: str, sort: str, *local: str) -> Table:
    ranges = ("endpoint_id", "part_id", *local)
    return Table(
        f"aace-{name}",
        hash="partition_key",
        range=sort,
        indexes=[
            *(LSI(f"{attribute}-index", range=attribute) for attribute in ranges),
            GSI("endpoint-index", hash="endpoint_id", range="updated_at"),
        ],
    )


agents = tenant_table("agents", "agent_version_uuid", "agent_uuid", "updated_at")
threads = tenant_table("threads", "thread_uuid", "updated_at")
prompt_templates = tenant_table("prompt_templates", "prompt_version_uuid", "prompt_uuid", "updated_at")
flow_snippets = tenant_table("flow_snippets", "flow_snippet_version_uuid", "flow_snippet_uuid", "updated_at")
mcp_servers = tenant_table("mcp_servers", "mcp_server_uuid", "updated_at")
elements = tenant_table("elements", "element_uuid", "updated_at")
wizards = tenant_table("wizards", "wizard_uuid", "updated_at")
wizard_groups = tenant_table("wizard_groups", "wizard_group_uuid", "updated_at")
wizard_group_filters = tenant_table("wizard_group_filters", "wizard_group_filter_uuid", "updated_at")


class TenantItem(Entity):
    """The attributes that all items of a tenant have."""

    partition: Attr[Partition] = required(name="partition_key")
    updated_at: Attr[datetime] = stamp(on="write")

    in_partition = Pattern(title="All items of a tenant")
    of_endpoint = Pattern("endpoint-index", title="Items of an endpoint over all its tenants, newest first", order="desc")
    by_endpoint_id = Pattern("endpoint_id-index", title="Items of a tenant by endpoint")
    by_part_id = Pattern("part_id-index", title="Items of a tenant by part")
    by_update = Pattern("updated_at-index", title="Items of a tenant, latest change first", order="desc")


class Agent(TenantItem, table=agents):
    """A version of an agent."""

    agent_version_uuid: Attr[str]
    agent_uuid: Attr[str]
    agent_name: Attr[str]

    key = Key("{partition}", "{agent_version_uuid}", legacy=["{endpoint_id}"])
    versions = Pattern("agent_uuid-index", by=("partition", "agent_uuid"), title="The versions of an agent")


class Thread(TenantItem, table=threads):
    """A conversation with an agent."""

    thread_uuid: Attr[str]

    key = Key("{partition}", "{thread_uuid}", legacy=["{endpoint_id}"])


class PromptTemplate(TenantItem, table=prompt_templates):
    """A version of a prompt."""

    prompt_version_uuid: Attr[str]
    prompt_uuid: Attr[str]

    key = Key("{partition}", "{prompt_version_uuid}", legacy=["{endpoint_id}"])


class FlowSnippet(TenantItem, table=flow_snippets):
    """A version of a flow."""

    flow_snippet_version_uuid: Attr[str]
    flow_snippet_uuid: Attr[str]

    key = Key("{partition}", "{flow_snippet_version_uuid}", legacy=["{endpoint_id}"])


class McpServer(TenantItem, table=mcp_servers):
    """An MCP server with tools."""

    mcp_server_uuid: Attr[str]

    key = Key("{partition}", "{mcp_server_uuid}", legacy=["{endpoint_id}"])


class Element(TenantItem, table=elements):
    """A part of a form."""

    element_uuid: Attr[str]

    key = Key("{partition}", "{element_uuid}", legacy=["{endpoint_id}"])


class Wizard(TenantItem, table=wizards):
    """A form."""

    wizard_uuid: Attr[str]

    key = Key("{partition}", "{wizard_uuid}", legacy=["{endpoint_id}"])


class WizardGroup(TenantItem, table=wizard_groups):
    """Forms that belong together."""

    wizard_group_uuid: Attr[str]

    key = Key("{partition}", "{wizard_group_uuid}", legacy=["{endpoint_id}"])


class WizardGroupFilter(TenantItem, table=wizard_group_filters):
    """Who sees which forms."""

    wizard_group_filter_uuid: Attr[str]

    key = Key("{partition}", "{wizard_group_filter_uuid}", legacy=["{endpoint_id}"])


TENANT_ITEMS: list[type[TenantItem]] = [
    Agent,
    Thread,
    PromptTemplate,
    FlowSnippet,
    McpServer,
    Element,
    Wizard,
    WizardGroup,
    WizardGroupFilter,
]
