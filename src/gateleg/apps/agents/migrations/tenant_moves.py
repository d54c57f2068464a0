"""Nine moves: from tables by `endpoint_id` to tables by `partition_key`.

By default, items of the endpoint X move to the partition `X#X`, which is also the default for requests without a part.
`tenant_moves({"acme-corp-prod": Partition("aws-prod", "acme-corp")})` assigns other partitions. Until the move is complete, items of
partitions that correspond to no old endpoint are kept in the old tables with the partition's text as their key, and with `part_id`, which
no other old item has. An old endpoint that merely contains `#` is refused: its spelling does not say whose it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gateleg.apps.agents.migrations.old_layout import (
    OldAgent,
    OldElement,
    OldFilter,
    OldFlow,
    OldGroup,
    OldPrompt,
    OldServer,
    OldThread,
    OldWizard,
)
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.tables import (
    Agent,
    FlowSnippet,
    McpServer,
    PromptTemplate,
    Thread,
    Wizard,
    WizardElement,
    WizardGroup,
    WizardGroupFilter,
)
from gateleg.migrate import KeyMove, MoveStage
from gateleg.model import spec_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.model import Entity, Query

#: Wire names of attributes that only new items have; the migration computes them at its end.
#: `absent_before` names the attributes that an old item did not have, so that it can be moved back as it was.
ABSENT = "absent_before"
OURS = frozenset({"reference_count", "revision", ABSENT})
OURS_OF_SERVERS = OURS | {"allowed_tools"}
OURS_OF_THREADS = frozenset(
    {
        "owner_id",
        "agent_version_uuid",
        "title",
        "metadata",
        "current_run_uuid",
        "summary",
        "summarised_to",
        "run_count",
        "updated_at",
        "owner_activity",
        ABSENT,
    }
)
#: Kept in old items of partitions that correspond to no old endpoint.
PART = "part_id"
#: Attributes of new items that are derived from others.
_DERIVED = frozenset({"partition_key", PART, "owner_activity"})


class EndpointPartitions:
    """The mapping between endpoints of the old tables and partitions."""

    def __init__(self, partitions: Mapping[str, Partition]) -> None:
        self._partitions = dict(partitions)
        self._endpoints = {partition: endpoint for endpoint, partition in self._partitions.items()}
        if len(self._endpoints) < len(self._partitions):
            raise ValueError("Two endpoints cannot become one partition: their items could have the same ids.")

    def partition_of(self, endpoint_id: str, part_id: str | None = None) -> Partition:
        """The partition of an endpoint: the assigned one, the default, or for an item with a part the one whose text it is."""
        if endpoint_id in self._partitions:
            return self._partitions[endpoint_id]
        if "#" in endpoint_id and not endpoint_id.endswith(f"#{part_id}"):
            raise ValueError(
                f"The endpoint {endpoint_id!r} contains '#', so it cannot become a partition. Assign one to it: "
                f"tenant_moves({{{endpoint_id!r}: Partition(...)}})."
            )
        partition = Partition.parse(endpoint_id) if "#" in endpoint_id else Partition(endpoint_id=endpoint_id)
        if self.endpoint_of(partition) != endpoint_id:
            raise ValueError(f"The endpoint {endpoint_id!r} would become {partition}, which belongs to another endpoint.")
        return partition

    def endpoint_of(self, partition: Partition) -> str:
        """The endpoint of a partition."""
        if partition in self._endpoints:
            return self._endpoints[partition]
        return str(partition) if self.is_new(partition) else partition.endpoint_id

    def is_new(self, partition: Partition) -> bool:
        """Whether a partition corresponds to no old endpoint."""
        own = partition.part_id == partition.endpoint_id and partition.endpoint_id not in self._partitions
        return partition not in self._endpoints and not own


def owner_of(partition: Partition, user_id: str | None) -> str:
    """The owner of a thread of the old tables: its user, as a caller of the partition."""
    tenant = "" if partition.part_id == partition.endpoint_id else partition.part_id
    return f"{quote(tenant, safe='')}/{quote(user_id or '', safe='')}"


def tenant_moves(partitions: Mapping[str, Partition] | None = None, stages: tuple[MoveStage, ...] = (MoveStage(),)) -> tuple[KeyMove, ...]:
    """The nine moves. `stages` lets some endpoints go first: `(MoveStage.tenants("pilot", "acme-corp-prod"), MoveStage("rest"))`."""
    places = EndpointPartitions(partitions or {})

    def move(name: str, old: type[Any], new: type[Entity], ours: frozenset[str], **renamed: str) -> KeyMove:
        return _move(places, stages, name, old, new, ours, renamed)

    return (
        move("mcp-servers", OldServer, McpServer, OURS_OF_SERVERS),
        move("prompt-templates", OldPrompt, PromptTemplate, OURS, versions="prompt_uuid", of_type="prompt_type"),
        move("flow-snippets", OldFlow, FlowSnippet, OURS, versions="flow_snippet_uuid", of_prompt="prompt_uuid"),
        move("agents", OldAgent, Agent, OURS, versions="agent_uuid", of_flow="flow_snippet_version_uuid"),
        move("threads", OldThread, Thread, OURS_OF_THREADS, of_agent="agent_uuid", of_owner="owner_id"),
        move("elements", OldElement, WizardElement, OURS, of_data_type="data_type"),
        move("wizards", OldWizard, Wizard, OURS),
        move("wizard-groups", OldGroup, WizardGroup, OURS),
        move("wizard-group-filters", OldFilter, WizardGroupFilter, OURS),
    )


def _move(
    places: EndpointPartitions,
    stages: tuple[MoveStage, ...],
    name: str,
    old: type[Any],
    new: type[Entity],
    ours: frozenset[str],
    by: Mapping[str, str],
) -> KeyMove:
    before, after = spec_of(old), spec_of(new)
    sort = str(before.table.range)

    def convert(item: Any) -> Any:
        wire = before.encode(item)
        partition = places.partition_of(item.endpoint_id, wire.get(PART, {}).get("S"))
        wire |= {"partition_key": {"S": str(partition)}, "endpoint_id": {"S": partition.endpoint_id}, "part_id": {"S": partition.part_id}}
        absent = sorted(name for name in type(item).model_fields if getattr(item, name) is None)
        wire |= {ABSENT: {"L": [{"S": name} for name in absent]}} if absent else {}
        if new is Thread:
            wire |= {"owner_id": {"S": owner_of(partition, item.user_id)}, "updated_at": wire["created_at"]}
        return after.decode(wire)

    def revert(item: Any) -> Any:
        whole = after.encode(item)
        absent = {entry["S"] for entry in whole.get(ABSENT, {"L": []})["L"]}
        empty = {name for name in absent if getattr(item, name, None) == _default(new, name)}
        wire = {name: value for name, value in whole.items() if name not in ours | _DERIVED | empty}
        part = {PART: {"S": item.partition.part_id}} if places.is_new(item.partition) else {}
        return before.decode({**wire, "endpoint_id": {"S": places.endpoint_of(item.partition)}, **part})

    def old_key(components: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"endpoint_id": places.endpoint_of(components["partition"]), sort: components[sort]}

    return KeyMove(name, old, new, convert, revert, old_key=old_key, patterns=_patterns(places, old, by), stages=stages, new_only=ours)


def _default(entity: type[Entity], name: str) -> Any:
    field = entity.model_fields.get(name)
    return None if field is None else field.get_default(call_default_factory=True)


def _patterns(places: EndpointPartitions, old: type[Any], by: Mapping[str, str]) -> dict[str, Callable[[Query[Any]], Query[Any]]]:
    """How the patterns of the new entity are answered from the old tables until all items are copied."""

    def place(query: Query[Any]) -> str:
        return places.endpoint_of(query.values["partition"])

    def whole(query: Query[Any]) -> Query[Any]:
        found: Query[Any] = old.of_endpoint(endpoint_id=place(query))
        return found

    def by_update(query: Query[Any]) -> Query[Any]:
        found: Query[Any] = old.by_update(endpoint_id=place(query))
        return found

    def indexed(pattern: str, attribute: str) -> Callable[[Query[Any]], Query[Any]]:
        def answer(query: Query[Any]) -> Query[Any]:
            wanted = query.values[attribute]
            if hasattr(old, pattern):
                found: Query[Any] = getattr(old, pattern)(endpoint_id=place(query), **{attribute: wanted})
                return found
            # For indexes that the old tables do not have, all items of the endpoint are read and filtered.
            if attribute == "owner_id":
                return whole(query).filter(old.user_id == str(wanted).partition("/")[2])
            return whole(query).filter(getattr(old, attribute) == wanted)

        return answer

    found = {"in_partition": whole, "by_endpoint_id": whole, "by_part_id": whole, "by_update": by_update}
    return found | {pattern: indexed(pattern, attribute) for pattern, attribute in by.items()}
