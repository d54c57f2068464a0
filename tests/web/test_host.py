from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.host.host import Host, describe_store
from gateleg.host.settings import Settings
from gateleg.migrate import Migrator, Phase, load_migrations, migrations_table
from gateleg.migrate.errors import CodeOlder
from gateleg.model import Table
from gateleg.store import KeysDiffer, Store
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, old_agents
from tests.migrate.sample_application import application as agency


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("embedded:./data", "embedded, ./data"),
        ("embedded:./data?durability=relaxed", "embedded, ./data, relaxed durability"),
        ("embedded::memory:", "embedded, :memory:"),
        ("dynamodb:eu-west-1", "DynamoDB, eu-west-1"),
        ("dynamodb:", "DynamoDB, default region"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_where_the_data_is_and_how_safe_is_told_in_a_few_words(address: str, told: str) -> None:
    assert describe_store(address) == told


async def test_settings_say_how_long_finished_jobs_stay(tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", data=tmp_path, finished_days=2, failed_days=90)
    async with Host.open(settings) as host:
        kept = host.queue.context.settings.retention
    assert {status.value: days.days for status, days in kept.items()} == {"COMPLETED": 2, "CANCELLED": 2, "FAILED": 90}


async def test_a_new_store_serves_an_application_before_and_after_its_move(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/store?durability=relaxed", data=tmp_path)
    async with Host.open(settings, [agency]) as host:
        store = host.resources["agency"].store
        await store.create(NewAgent(partition_key=ACME, agent_uuid="a"))
        await store.create(OldAgent(endpoint_id="acme-prod", agent_uuid="b"))
        assert [agent.agent_uuid async for agent in store.query(NewAgent.of_partition, partition_key=ACME)] == ["a", "b"]
        assert (await store.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a")).agent_uuid == "a"
    with pytest.raises(CodeOlder, match="0001 agents-by-tenant"):
        async with Host.open(settings, [replace(agency, migrations="tests.web")]):
            pass
    async with Host.open(settings, [replace(agency, migrations="tests.web")], tolerant=True) as host:
        assert host.applications == ()


async def test_a_table_with_another_key_stops_the_host_which_names_the_migration_that_moves_it(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/store?durability=relaxed", data=tmp_path)
    with Store.connect(settings.store, table_names={"old-agents": "new-agents", "GatelegAudit": "audit"}) as before:
        before.ensure_tables(old_agents, Table("GatelegAudit", hash="id"))
    for tolerant in (False, True):
        with pytest.raises(KeysDiffer) as refused:
            async with Host.open(settings.model_copy(update={"table_names": {"GatelegAudit": "audit"}}), [agency], tolerant=tolerant):
                pass
        assert set(refused.value.problems) == {"new-agents", "GatelegAudit"}
        assert "gateleg migrate plan agency" in refused.value.fix
        assert '`old-agents = "new-agents"`' in refused.value.fix
        assert "No migration moves the items of audit" in refused.value.fix
    with Store.connect(settings.store) as after:
        assert after.transport.call("ListTables", {})["TableNames"] == ["audit", "new-agents"]


async def test_the_stores_of_an_application_work_in_every_phase_of_its_moves(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/store?durability=relaxed", data=tmp_path)
    with Store.connect(settings.store) as before:
        before.ensure_tables(old_agents, migrations_table)
        before.put(OldAgent(endpoint_id="acme-prod", agent_uuid="a", name="old"))
        Migrator(before, "agency", load_migrations("tests.migrate.agents_migrations"), by="ann").apply(until=Phase.DUAL_WRITE)
    async with Host.open(settings, [agency]) as host:
        store = host.resources["agency"].store
        assert (await store.get(NewAgent, partition_key=ACME, agent_uuid="a")).title == "old"
        await store.patch(NewAgent, NewAgent.title.set("new"), partition_key=ACME, agent_uuid="a")
        assert (await store.get(OldAgent, endpoint_id="acme-prod", agent_uuid="a")).name == "new"
