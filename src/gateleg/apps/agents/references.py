"""References between items, as pure functions.

Every referenced item counts its references. The transactions that write the referring items update these counts, so that an item cannot
be deleted while others refer to it, and a reference to a missing item cannot be stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.catalogue_tables import Llm, UiComponent, WizardSchema
from gateleg.apps.agents.tables import (
    Agent,
    FlowSnippet,
    McpServer,
    PromptTemplate,
    Thread,
    VersionPointer,
    Wizard,
    WizardElement,
    WizardGroup,
    WizardGroupFilter,
)
from gateleg.apps.agents.thread_tables import AsyncTask, FineTuningMessage, Message, Run, ToolCall
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gateleg.apps.agents.partitions import Partition
    from gateleg.model import Entity, Ref

#: The `kind` of a version pointer.
AGENT, PROMPT, FLOW = "agent", "prompt", "flow"
#: How messages name an item.
TITLES: Mapping[type[Any], str] = {
    Agent: "version of an agent",
    Thread: "thread",
    PromptTemplate: "version of a prompt",
    FlowSnippet: "version of a flow",
    McpServer: "MCP server",
    WizardElement: "element",
    Wizard: "wizard",
    WizardGroup: "wizard group",
    WizardGroupFilter: "wizard group filter",
    Llm: "catalogue model",
    UiComponent: "UI component",
    WizardSchema: "wizard schema",
    Run: "run",
    Message: "message",
    ToolCall: "tool call",
    AsyncTask: "task",
    FineTuningMessage: "fine-tuning message",
}


@dataclass(frozen=True, slots=True)
class Target:
    """An item that counts the references to it: its entity and key components."""

    entity: type[Any]
    components: tuple[tuple[str, Any], ...]

    @property
    def ref(self) -> Ref[Any]:
        """The store reference of the item."""
        ref: Ref[Any] = self.entity.key(**dict(self.components))
        return ref

    @property
    def title(self) -> str:
        """The item's name in messages."""
        values = {name: value for name, value in self.components if name != "partition"}
        if self.entity is VersionPointer:
            return f"{values['kind']} {values['logical_uuid']!r}"
        return f"{TITLES[self.entity]} {' '.join(repr(value) for value in values.values())}"


def target_of(item: Entity) -> Target:
    """The target for an item."""
    names = _key_names(type(item))
    return Target(type(item), tuple((name, getattr(item, name)) for name in names))


def pointer_target(partition: Partition, kind: str, logical_uuid: str) -> Target:
    """The target for all versions together: threads refer to an agent, and flows to a prompt."""
    return Target(VersionPointer, (("partition", partition), ("kind", kind), ("logical_uuid", logical_uuid)))


def references_of(item: Entity | None) -> Counter[Target]:
    """Count what an item refers to; empty for None."""
    find = None if item is None else _REFERENCES.get(type(item))
    return Counter() if find is None else Counter(find(item))


def reference_changes(before: Entity | None, after: Entity | None) -> Counter[Target]:
    """The changes of reference counts when an item changes, without zeros."""
    moved = references_of(after)
    moved.subtract(references_of(before))
    return Counter({target: count for target, count in moved.items() if count})


def _in(item: Any, entity: type[Any], **components: Any) -> Target:
    return Target(entity, (("partition", item.partition), *components.items()))


def _of_agent(agent: Agent) -> Iterator[Target]:
    yield Target(Llm, (("llm_provider", agent.llm_provider), ("llm_name", agent.llm_name)))
    yield from (_in(agent, McpServer, mcp_server_uuid=one) for one in dict.fromkeys(agent.mcp_server_uuids))
    if agent.flow_snippet_version_uuid is not None:
        yield _in(agent, FlowSnippet, flow_snippet_version_uuid=agent.flow_snippet_version_uuid)


def _of_thread(thread: Thread) -> Iterator[Target]:
    yield pointer_target(thread.partition, AGENT, thread.agent_uuid)
    if thread.agent_version_uuid is not None:
        yield _in(thread, Agent, agent_version_uuid=thread.agent_version_uuid)


def _of_fine_tuning(message: FineTuningMessage) -> Iterator[Target]:
    yield pointer_target(message.partition, AGENT, message.agent_uuid)


def _of_prompt(prompt: PromptTemplate) -> Iterator[Target]:
    servers = (one["mcp_server_uuid"] for one in prompt.mcp_servers if one.get("mcp_server_uuid"))
    yield from (_in(prompt, McpServer, mcp_server_uuid=one) for one in dict.fromkeys(servers))
    shown = ((one.get("ui_component_type"), one.get("ui_component_uuid")) for one in prompt.ui_components)
    for kind, uuid in dict.fromkeys(shown):
        if kind and uuid:
            yield Target(UiComponent, (("ui_component_type", kind), ("ui_component_uuid", uuid)))


def _of_flow(flow: FlowSnippet) -> Iterator[Target]:
    yield pointer_target(flow.partition, PROMPT, flow.prompt_uuid)


def _of_wizard(wizard: Wizard) -> Iterator[Target]:
    schema = (("wizard_schema_type", wizard.wizard_schema_type), ("wizard_schema_name", wizard.wizard_schema_name))
    yield Target(WizardSchema, schema)
    elements = (one["element_uuid"] for one in wizard.wizard_elements if one.get("element_uuid"))
    yield from (_in(wizard, WizardElement, element_uuid=one) for one in dict.fromkeys(elements))


def _of_group(group: WizardGroup) -> Iterator[Target]:
    yield from (_in(group, Wizard, wizard_uuid=one) for one in dict.fromkeys(group.wizard_uuids))


def _of_filter(one: WizardGroupFilter) -> Iterator[Target]:
    if one.wizard_group_uuid is not None:
        yield _in(one, WizardGroup, wizard_group_uuid=one.wizard_group_uuid)


_REFERENCES: dict[type[Any], Callable[[Any], Iterable[Target]]] = {
    Agent: _of_agent,
    Thread: _of_thread,
    FineTuningMessage: _of_fine_tuning,
    PromptTemplate: _of_prompt,
    FlowSnippet: _of_flow,
    Wizard: _of_wizard,
    WizardGroup: _of_group,
    WizardGroupFilter: _of_filter,
}


def _key_names(entity: type[Any]) -> tuple[str, ...]:
    """The names of an entity's key components, in order; a `KeyPart` contributes its fields."""
    names = [name for entry in spec_of(entity).key.fields for name in entry.names]
    return tuple(dict.fromkeys("partition" if name in ("endpoint_id", "part_id") else name for name in names))
