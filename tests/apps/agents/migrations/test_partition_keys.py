"""From tables by endpoint to tables by partition: generated old data is moved, verified, used meanwhile, and moved back."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from gateleg.apps.agents.catalogue_tables import TABLES, Llm
from gateleg.apps.agents.derived_data import rebuild
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.migrations.m0001_partition_keys import migration
from gateleg.apps.agents.migrations.old_layout import OLD_ITEMS, OldAgent, OldThread
from gateleg.apps.agents.migrations.tenant_moves import EndpointPartitions, tenant_moves
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import TENANT_ITEMS, Agent, McpServer, Thread, VersionPointer, Wizard, WizardElement
from gateleg.apps.agents.tenancy import assemble
from gateleg.apps.agents.thread_lists import list_threads
from gateleg.apps.agents.threads import save_thread
from gateleg.apps.agents.versions import AGENTS, create_next, find_active
from gateleg.host import Principal, Role
from gateleg.migrate import Migration, Migrator, MoveOptions, MoveStage, Moving, Phase, load_migrations, migrations_table
from gateleg.migrate.errors import MigrationRefused, PhaseRefused
from gateleg.model import Table, spec_of
from gateleg.store import AsyncStore, Store
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport
from tests.apps.agents.migrations.old_data import ACME, GLOBEX, START, old_data

if TYPE_CHECKING:
    from collections.abc import Mapping


class Clock:
    """A clock that pauses move."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        self.now += 0.00001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def raw(store: Store, entity: Any) -> list[Mapping[str, Any]]:
    table = spec_of(entity).table
    return sorted(store.scan(table, consistent=True), key=lambda item: [item[name]["S"] for name in (table.hash, str(table.range))])


@pytest.fixture
def store() -> Store:
    clock = Clock()
    store = Store(Store.embedded().transport, clock=clock, ticks=clock, sleep=clock.sleep, random=random.Random(7))
    store.create_tables(*TABLES, *(spec_of(entity).table for entity in OLD_ITEMS), migrations_table)
    for endpoint in (ACME, GLOBEX):
        for table, item in old_data(endpoint):
            store.transport.call("PutItem", {"TableName": table, "Item": item})
    return store


def migrator(store: Store, one: Migration = migration) -> Migrator:
    return Migrator(store, "agents", [one], by="ann", options=MoveOptions(segments=1, force=True))


def public_store() -> Store:
    """A store with the nine old tables of the public engine under their deployed names, and no others."""
    clock = Clock()
    deployed = {spec_of(entity).table.name: spec_of(entity).table.name.removesuffix("-by-endpoint") for entity in OLD_ITEMS}
    names = deployed | {spec_of(entity).table.name: f"aace2-{spec_of(entity).table.name[5:]}" for entity in TENANT_ITEMS}
    transport = Store.embedded().transport
    store = Store(transport, table_names=names, clock=clock, ticks=clock, sleep=clock.sleep, random=random.Random(7))
    store.create_tables(*(spec_of(entity).table for entity in OLD_ITEMS))
    for table, item in old_data(ACME):
        transport.call("PutItem", {"TableName": names[table], "Item": item})
    return store


def test_tables_that_the_public_system_has_and_no_others_are_enough() -> None:
    store = public_store()
    one = migrator(store)
    assert one.problems() == {}
    planned = one.plan()[0][1]
    assert "aace2-agents: create the table (partition_key, agent_version_uuid) with 1 global and 5 local indexes" in planned
    assert any(step.startswith("aace-runs: create the table") for step in planned)
    one.apply()
    assert [status.state for status in one.status()] == ["applied"]
    assert all(result.holds for result in one.verify(1).values())


def test_tables_of_the_public_system_that_are_not_moved_stop_it_before_anything_is_written() -> None:
    store = public_store()
    kept = ("runs", "messages", "tool_calls")
    for name in kept:
        store.create_tables(Table(f"aace-{name}", hash="thread_uuid", range=f"{name.removesuffix('s')}_uuid"))
        item = {"thread_uuid": {"S": "thread-0"}, f"{name.removesuffix('s')}_uuid": {"S": "x"}}
        store.transport.call("PutItem", {"TableName": f"aace-{name}", "Item": item})
    before = store.transport.call("ListTables", {})["TableNames"]
    with pytest.raises(MigrationRefused, match="Nothing was written") as refused:
        migrator(store).apply()
    for name in kept:
        assert f"give `aace-{name}` a name in [table_names] of gateleg.toml that is still free" in refused.value.message
    assert store.transport.call("ListTables", {})["TableNames"] == before
    named = Store(
        store.transport,
        table_names={**store.setup.table_names, **{f"aace-{name}": f"aace2-{name}" for name in kept}},
        clock=store.setup.clock,
        sleep=store.setup.clock.sleep,  # type: ignore[attr-defined]
    )
    migrator(named).apply()
    assert [status.state for status in migrator(named).status()] == ["applied"]
    assert [store.transport.call("Scan", {"TableName": f"aace-{name}"})["Count"] for name in kept] == [1, 1, 1]


def test_an_endpoint_with_the_delimiter_is_refused_unless_a_partition_is_assigned_to_it(store: Store) -> None:
    table, server = old_data("ep#bad")[0]
    store.transport.call("PutItem", {"TableName": table, "Item": server})
    (fault,) = migrator(store).faults(1)
    assert "'ep#bad' contains '#'" in fault["error"]
    with pytest.raises(PhaseRefused, match="contains '#'"):
        migrator(store).apply()
    for part in ("good", "bad"):
        assigned = Migration(1, "partition-keys", moves=tenant_moves({"ep#bad": Partition(endpoint_id="ep", part_id=part)}))
        assert migrator(store, assigned).faults(1) == []


def test_the_application_ships_it() -> None:
    from gateleg.apps.agents.application import application

    assert application.migrations is not None
    assert load_migrations(application.migrations) == (migration,)
    assert [spec_of(move.new).table.name for move in migration.moves].sort() == [spec_of(one).table.name for one in TENANT_ITEMS].sort()


def test_demand_18_everything_is_moved_verified_and_can_be_used(store: Store) -> None:
    before = {entity: raw(store, entity) for entity in OLD_ITEMS}
    one = migrator(store)
    one.apply()
    assert [status.state for status in one.status()] == ["applied"]
    assert all(result.holds for result in one.verify(1).values())
    partition = Partition(endpoint_id=ACME)
    for move in migration.moves:
        assert len(raw(store, move.new)) == len(before[move.old])  # type: ignore[index]
    agent = store.get(Agent, partition=partition, agent_version_uuid=f"{0:04d}{2:016d}")
    assert (agent.configuration, agent.agent_name, agent.status) == ({"temperature": 0.5, "max_tokens": 5}, "Agent 2", "active")
    assert (agent.created_at, agent.updated_by) == (START + timedelta(minutes=2), "setup")
    thread = store.get(Thread, partition=partition, thread_uuid="thread-1")
    assert (thread.owner_id, thread.user_id, thread.updated_at) == ("/user-1", "user-1", START + timedelta(minutes=1))
    assert {entity: len(raw(store, entity)) for entity in OLD_ITEMS} == {entity: len(items) for entity, items in before.items()}


def test_one_version_is_active_afterwards_and_everything_that_is_named_is_counted(store: Store) -> None:
    migrator(store).apply()
    partition = Partition(endpoint_id=GLOBEX)
    pointers = list(store.query(VersionPointer.of_kind, partition=partition, kind="agent"))
    assert [(one.logical_uuid, one.version_count, one.reference_count) for one in pointers] == [("agent-0", 3, 1), ("agent-1", 3, 1)]
    versions = list(store.query(Agent.versions, partition=partition, agent_uuid="agent-0"))
    assert [one.status.value for one in versions] == ["inactive", "inactive", "active"]
    assert versions[2].agent_version_uuid == pointers[0].active_version_uuid
    assert store.get(McpServer, partition=partition, mcp_server_uuid="server-0").reference_count == 4
    assert store.get(WizardElement, partition=partition, element_uuid="element-0").reference_count == 1
    assert store.get(Wizard, partition=partition, wizard_uuid="wizard-0").reference_count == 1
    again = rebuild(store)
    assert (again.pointers, again.deactivated, again.counts) == (0, 0, 0)


def test_demand_20_the_way_back_leads_to_the_exact_state(store: Store) -> None:
    before = {entity: raw(store, entity) for entity in OLD_ITEMS}
    for item in before[OldAgent]:
        # One version is left active, in both layouts.
        item["status"]["S"] = "active" if item["agent_version_uuid"]["S"].endswith("2") else "inactive"
    one = migrator(store)
    one.apply()
    one.rollback(1)
    assert {entity: raw(store, entity) for entity in OLD_ITEMS} == before
    assert [raw(store, entity) for entity in TENANT_ITEMS] == [[]] * len(TENANT_ITEMS)


@pytest.mark.parametrize("phase", [Phase.DUAL_WRITE, Phase.DUAL_READ, Phase.CUT_OVER])
def test_demand_21_requests_find_and_change_old_items_in_every_phase(store: Store, phase: Phase) -> None:
    migrator(store).apply(until=phase)
    client = store.moving(Moving(migration.moves))
    partition = Partition(endpoint_id=ACME)
    place: dict[str, Any] = {"partition": partition, "mcp_server_uuid": "server-0"}
    assert client.get(McpServer, **place, consistent=True).mcp_label == "S"
    client.patch(McpServer, McpServer.mcp_label.set("changed"), **place)
    assert client.get(McpServer, **place, consistent=True).mcp_label == "changed"
    assert len(list(client.query(Agent.versions, partition=partition, agent_uuid="agent-0", consistent=True))) == 3
    assert len(list(client.query(Agent.by_update, partition=partition, consistent=True))) == 6
    assert len(list(client.query(Agent.of_flow, partition=partition, flow_snippet_version_uuid="fv-0", consistent=True))) == 3
    assert [one.thread_uuid for one in client.query(Thread.of_owner, partition=partition, owner_id="/user-1", consistent=True)] == [
        "thread-1"
    ]
    new = Partition(endpoint_id="aws-prod", part_id="initech")
    client.create(McpServer(partition=new, mcp_server_uuid="server-0", mcp_label="new", mcp_server_url="https://y.test"))
    assert [one.mcp_label for one in client.query(McpServer.in_partition, partition=new, consistent=True)] == ["new"]
    assert client.get(McpServer, **place, consistent=True).mcp_label == "changed"


@pytest.mark.parametrize("phase", [Phase.DUAL_WRITE, Phase.DUAL_READ])
async def test_the_service_works_on_data_that_is_being_moved(store: Store, phase: Phase) -> None:
    migrator(store).apply(until=phase)
    store.create(Llm(llm_provider="openai", llm_name="gpt", module_name="m", class_name="C"))
    context = assemble(Principal("olga", Role.OPERATOR), AgentsSettings(endpoint_id=ACME))
    assert isinstance(store.transport, EmbeddedTransport)
    # The store of the migration closes the engine; this one only uses it.
    client = AsyncStore(AsyncEmbeddedTransport(store.transport.engine)).moving(Moving(migration.moves))
    found = await find_active(client, context, AGENTS, "agent-0")
    assert found is not None
    assert found.agent_name == "Agent 2"
    newer = await create_next(client, context, AGENTS, "agent-0", {"agent_name": "Newer"})
    thread = await save_thread(client, context, {"agent_uuid": "agent-0"})
    assert [one.thread_uuid for one in (await list_threads(client, context, Paging(limit=1))).items] == [thread.thread_uuid]
    old = store.get(OldAgent, endpoint_id=ACME, agent_version_uuid=newer.agent_version_uuid)
    assert (old.agent_uuid, old.status) == ("agent-0", "active")
    migrator(store).apply()
    pointer = store.get(VersionPointer, partition=Partition(endpoint_id=ACME), kind="agent", logical_uuid="agent-0")
    assert (pointer.active_version_uuid, pointer.version_count, pointer.reference_count) == (newer.agent_version_uuid, 4, 2)
    assert all(result.holds for result in migrator(store).verify(1).values())


def test_endpoints_are_given_to_tenants_and_moved_one_after_another(store: Store) -> None:
    places = {ACME: Partition(endpoint_id="aws-prod", part_id="acme-corp")}
    stages = (MoveStage.tenants("pilot", ACME), MoveStage("rest"))
    staged = Migration(1, "partition-keys", tables=migration.tables, moves=tenant_moves(places, stages), apply=rebuild_all)
    one = migrator(store, staged)
    one.apply(stage="pilot")
    assert {item.partition.partition_key for item in store.export(Agent)} == {"aws-prod#acme-corp"}
    thread = store.get(Thread, partition=places[ACME], thread_uuid="thread-1")
    assert thread.owner_id == "acme-corp/user-1"
    one.apply()
    assert {item.partition.partition_key for item in store.export(Agent)} == {"aws-prod#acme-corp", f"{GLOBEX}#{GLOBEX}"}
    one.rollback(1)
    assert {item.endpoint_id for item in store.export(OldAgent)} == {ACME, GLOBEX}


def rebuild_all(store: Store) -> None:
    rebuild(store)


def test_places_never_let_two_endpoints_meet() -> None:
    given = {"a": Partition(endpoint_id="b"), "x": Partition(endpoint_id="aws", part_id="x")}
    places = EndpointPartitions(given)
    for endpoint in ("a", "x", "c", "aws#y", "b#b"):
        if endpoint == "b#b":
            continue
        # Only items of new partitions say which part they are of.
        part = "y" if endpoint == "aws#y" else None
        assert places.endpoint_of(places.partition_of(endpoint, part)) == endpoint
    for taken, part in (("b", None), ("aws#x", "x"), ("c#c", "c")):
        with pytest.raises(ValueError, match="belongs to another endpoint"):
            places.partition_of(taken, part)
    with pytest.raises(ValueError, match="contains '#'"):
        places.partition_of("aws#y")
    with pytest.raises(ValueError, match="cannot become one"):
        EndpointPartitions({"a": Partition(endpoint_id="z"), "b": Partition(endpoint_id="z")})


def test_threads_of_users_that_the_old_tables_did_not_name_are_for_operators(store: Store) -> None:
    migrator(store).apply()
    thread = store.get(Thread, partition=Partition(endpoint_id=ACME), thread_uuid="thread-0")
    assert (thread.owner_id, thread.user_id) == ("/", None)
    assert store.get(OldThread, endpoint_id=ACME, thread_uuid="thread-0").user_id is None


def test_what_is_derived_is_rebuilt_for_the_catalogue_too(store: Store) -> None:
    store.create(Llm(llm_provider="openai", llm_name="gpt", module_name="m", class_name="C"))
    migrator(store).apply()
    assert store.get(Llm, llm_provider="openai", llm_name="gpt").reference_count == 12
