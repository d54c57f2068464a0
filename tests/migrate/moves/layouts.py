"""An old layout and a new one, as in a move from one key to a composite one: agents by endpoint, then by endpoint and part."""

import random
import time
from collections.abc import Mapping
from typing import Any

from gateleg.migrate import KeyMove, Moving
from gateleg.migrate.moves.control import enter_phase
from gateleg.migrate.moves.declaration import Phase, phases_between
from gateleg.migrate.moves.tables import migrations_table
from gateleg.model import LSI, Attr, Entity, Key, KeyPart, Pattern, Table, Version, field
from gateleg.store import Store

old_agents = Table("old-agents", hash="endpoint_id", range="agent_uuid", indexes=[LSI("by-update", range="updated_at")])
new_agents = Table("new-agents", hash="partition_key", range="agent_uuid", indexes=[LSI("by-update", range="updated_at")])

#: the tenants of the old endpoints
TENANTS = {"acme-prod": ("aws-prod", "acme"), "globex-prod": ("aws-prod", "globex")}


class OldAgent(Entity, table=old_agents):
    """An agent before the move."""

    endpoint_id: Attr[str]
    agent_uuid: Attr[str]
    name: Attr[str] = field("")
    updated_at: Attr[int] = field(0)
    uses: Attr[int] = field(0)
    tags: Attr[set[str] | None] = field(None)
    notes: Attr[list[str]] = field(factory=list)
    version: Attr[Version] = field(0)

    key = Key("{endpoint_id}", "{agent_uuid}")
    update_key = Key("{endpoint_id}", "{updated_at}", index="by-update")
    of_endpoint = Pattern(title="The agents of an endpoint")
    by_update = Pattern("by-update", title="The agents of an endpoint, by update")


class Partition(KeyPart, template="{endpoint_id}#{part_id}"):
    """A tenant."""

    endpoint_id: str
    part_id: str


class NewAgent(Entity, table=new_agents):
    """An agent after the move."""

    partition_key: Attr[Partition]
    agent_uuid: Attr[str]
    title: Attr[str] = field("")
    updated_at: Attr[int] = field(0)
    uses: Attr[int] = field(0)
    tags: Attr[set[str] | None] = field(None)
    notes: Attr[list[str]] = field(factory=list)
    version: Attr[Version] = field(0)

    key = Key("{partition_key}", "{agent_uuid}")
    update_key = Key("{partition_key}", "{updated_at}", index="by-update")
    of_partition = Pattern(title="The agents of a tenant")
    by_update = Pattern("by-update", title="The agents of a tenant, by update")


PARTITIONS = {endpoint: Partition(*tenant) for endpoint, tenant in TENANTS.items()}
ENDPOINTS = {partition: endpoint for endpoint, partition in PARTITIONS.items()}


def to_new(old: OldAgent) -> NewAgent:
    """The agent under its tenant's key."""
    values = {name: getattr(old, name) for name in ("agent_uuid", "updated_at", "uses", "tags", "notes", "version")}
    return NewAgent(partition_key=PARTITIONS[old.endpoint_id], title=old.name, **values)


def to_old(new: NewAgent) -> OldAgent:
    """The agent under its old key."""
    values = {name: getattr(new, name) for name in ("agent_uuid", "updated_at", "uses", "tags", "notes", "version")}
    return OldAgent(endpoint_id=ENDPOINTS[new.partition_key], name=new.title, **values)


def old_key(components: Mapping[str, Any]) -> Mapping[str, Any]:
    """The components of the old key."""
    return {"endpoint_id": ENDPOINTS[components["partition_key"]], "agent_uuid": components["agent_uuid"]}


agents_move = KeyMove(
    "agents",
    OldAgent,
    NewAgent,
    convert=to_new,
    revert=to_old,
    old_key=old_key,
    patterns={
        "of_partition": lambda query: OldAgent.of_endpoint(endpoint_id=ENDPOINTS[query.values["partition_key"]]),
        "by_update": lambda query: OldAgent.by_update(endpoint_id=ENDPOINTS[query.values["partition_key"]]),
    },
)
ACME = PARTITIONS["acme-prod"]


class Time:
    """A clock that pauses move."""

    def __init__(self) -> None:
        # Not in the past: the engine has a clock of its own, by which items expire.
        self.now = time.time()

    def __call__(self) -> float:
        self.now += 0.00001
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def opened(path: str = ":memory:", tables: tuple[Table, ...] = (old_agents, new_agents, migrations_table)) -> Store:
    """A store with the tables of both layouts, or with `tables`, whose pauses take no time."""
    clock = Time()
    store = Store(Store.embedded(path).transport, clock=clock, ticks=clock, sleep=clock.sleep, random=random.Random(7))
    store.ensure_tables(*tables)
    return store


def move_to(store: Store, phase: Phase, move: KeyMove = agents_move) -> None:
    """Bring all stages of a move to a phase, without the work that belongs to it."""
    from gateleg.migrate.moves.control import read_state

    for stage in move.stages:
        state = store.drive(read_state(move, stage, store.setup))
        for one in phases_between(state.phase, phase):
            store.drive(enter_phase(move, stage, one, store.setup))


def clients(store: Store, move: KeyMove = agents_move) -> Store:
    """A store as a client process has it."""
    return store.moving(Moving([move]))


def raw(store: Store, table: Table) -> list[dict[str, Any]]:
    """All items of a table, as they are stored, in the order of their keys."""
    return sorted(store.scan(table, consistent=True), key=lambda item: [item[name]["S"] for name in table.attributes])
