"""Numbered migrations: applied in order, once, by one host; verified, undone, and restored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import Migration, Migrator, MoveOptions, Phase, load_migrations, migrations_table
from gateleg.migrate.errors import BadMigration, CodeOlder, MigrationRefused, MoveClosed, UnknownMigration
from gateleg.migrate.ledger import begin_empty
from gateleg.migrate.migrations import in_order
from gateleg.migrate.moves.tables import LedgerEntry, MigrationRecord
from gateleg.model import Table
from gateleg.store import LockHeld, Store
from gateleg.store.locks import locks
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, agents_move, clients, new_agents, old_agents, opened, raw

if TYPE_CHECKING:
    from pathlib import Path

move = Migration(2, "agents-by-tenant", "Agents get a composite key", moves=(agents_move,))


def rename_all(store: Store) -> None:
    for agent in store.export(OldAgent):
        store.patch(agent, OldAgent.name.set(agent.name.upper()))


def rename_back(store: Store) -> None:
    for agent in store.export(OldAgent):
        store.patch(agent, OldAgent.name.set(agent.name.lower()))


upper = Migration(1, "upper-case", apply=rename_all, undo=rename_back)


def migrator(store: Store, *migrations: Migration, by: str = "ann") -> Migrator:
    return Migrator(store, "shop", migrations or (upper, move), by=by, options=MoveOptions(segments=2, force=True))


def filled() -> Store:
    store = opened()
    store.batch_write([OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n}", name=f"agent {n}") for n in range(5)], check_version=False)
    return store


def test_migrations_are_planned_applied_in_order_and_noted() -> None:
    store = filled()
    one = migrator(store)
    assert [status.state for status in one.status()] == ["pending", "pending"]
    planned = one.plan()
    assert [migration.number for migration, _ in planned] == [1, 2]
    assert planned[1][1] == ["agents, all (old-agents to new-agents): off → dual-write → backfill → verify → dual-read → cut-over"]
    assert [migration.number for migration in one.apply()] == [1, 2]
    assert [agent.title for agent in store.query(NewAgent.of_partition, partition_key=ACME)] == [f"AGENT {n}" for n in range(5)]
    first, second = one.status()
    assert (first.state, second.state, second.changed_by) == ("applied", "applied", "ann")
    (stage,) = second.stages
    assert (stage["phase"], stage["verified"], stage["errors"]) == ("cut-over", True, [])
    assert stage["passes"]["backfill"]["written"] == 5
    assert one.apply() == []
    assert one.plan() == []
    history = list(store.query(LedgerEntry.history, application="shop"))
    assert [(entry.number, entry.action, entry.result) for entry in reversed(history)] == [
        (1, "apply", "applying"),
        (1, "apply", "applied"),
        (2, "apply", "applying"),
        (2, "apply", "applied"),
    ]


def test_a_move_is_applied_phase_by_phase_and_cleaned_up_in_the_end() -> None:
    store = filled()
    one = migrator(store)
    one.apply(until=Phase.DUAL_WRITE)
    assert one.status()[1].state == "applying"
    one.apply()
    assert one.status()[1].state == "applied"
    assert len(raw(store, old_agents)) == 5
    one.apply(until=Phase.CLEAN_UP)
    assert raw(store, old_agents) == []
    assert one.status()[1].state == "applied"


def test_a_rollback_undoes_the_last_migration_first() -> None:
    store = filled()
    one = migrator(store)
    before = raw(store, old_agents)
    one.apply()
    with pytest.raises(MigrationRefused, match="after"):
        one.rollback(1)
    one.rollback(2)
    one.rollback(1)
    assert [status.state for status in one.status()] == ["rolled-back", "rolled-back"]
    assert [{**item, "version": before[0]["version"]} for item in raw(store, old_agents)] == before
    assert raw(store, new_agents) == []
    with pytest.raises(MigrationRefused, match="not applied"):
        one.rollback(2)
    with pytest.raises(UnknownMigration):
        one.rollback(7)


def test_a_migration_with_a_backup_is_restored_from_it() -> None:
    store = filled()
    before = raw(store, old_agents)
    one = migrator(store, move)
    one.apply()
    client = clients(store)
    client.create(NewAgent(partition_key=ACME, agent_uuid="late"))
    client.delete(NewAgent.key(partition_key=ACME, agent_uuid="0"))
    client.patch(NewAgent, NewAgent.title.set("changed"), partition_key=ACME, agent_uuid="1")
    found = one.restore(2)
    assert found == {"old-agents": {"items": 5, "written": 2, "deleted": 1}}
    assert raw(store, old_agents) == before


def test_two_hosts_do_not_apply_at_once() -> None:
    store = filled()
    other = migrator(store, by="bob")
    store.ensure_tables(locks)
    with store.lock("migrate shop", seconds=60, holder="ann"), pytest.raises(LockHeld, match="ann"):
        other.apply()
    assert other.apply()


def test_status_names_who_works_on_it_and_then_that_a_killed_process_left_it() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply(until=Phase.DUAL_WRITE)
    assert [(status.interrupted, status.held_by) for status in one.status()] == [(False, None)]
    record = store.get(MigrationRecord, application="shop", number=2)
    store.patch(record, MigrationRecord.working.set(True))
    with store.lock("migrate shop", seconds=60, holder="bob"):
        assert [(status.interrupted, status.held_by) for status in one.status()] == [(False, "bob")]
    assert [(status.interrupted, status.held_by) for status in one.status()] == [(True, None)]
    one.apply(until=Phase.BACKFILL)
    assert [status.interrupted for status in one.status()] == [False]


def test_tables_of_a_migration_are_checked_together_before_anything_is_written() -> None:
    store = Store.embedded()
    used = Table("used", hash="id")
    counted = Migration(3, "more", rewrites=(OldAgent,), uses=(used, Table("made", hash="id")))
    store.create_tables(Table("new-agents", hash="agent_uuid"), Table("used", hash="id", range="number"))
    one = migrator(store, move, counted)
    before = store.transport.call("ListTables", {})["TableNames"]
    with pytest.raises(MigrationRefused) as refused:
        one.apply()
    told = refused.value.message
    assert "The table old-agents, whose items move to new-agents, does not exist" in told
    assert "The table new-agents has the key (agent_uuid S), but (partition_key S, agent_uuid S) is declared" in told
    assert "The table used has the key (id S, number S), but (id S) is declared" in told
    assert "0002 agents-by-tenant, 0003 more cannot be applied. Nothing was written." in told
    assert store.transport.call("ListTables", {})["TableNames"] == before
    assert {migration.number: len(problems) for migration, problems in one.problems().items()} == {2: 2, 3: 2}


def test_one_name_for_the_old_and_the_new_table_is_refused() -> None:
    store = filled()
    same = Store(store.transport, table_names={"new-agents": "old-agents"})
    with pytest.raises(MigrationRefused, match="old-agents and new-agents are both called old-agents"):
        migrator(same, move).apply()


def test_tables_that_a_migration_uses_are_created_and_planned() -> None:
    store = filled()
    one = migrator(store, Migration(1, "using", uses=(Table("used", hash="id"),), apply=lambda store: None))
    assert one.plan()[0][1][0] == "used: create the table (id)"
    one.apply()
    assert store.transport.call("DescribeTable", {"TableName": "used"})["Table"]["TableStatus"] == "ACTIVE"


def test_a_dry_run_of_all_items_finds_the_one_that_cannot_be_moved() -> None:
    store = filled()
    store.put(OldAgent(endpoint_id="unknown", agent_uuid="x"))
    (fault,) = migrator(store, move).faults(2)
    assert (fault["move"], fault["from_table"], fault["to_table"]) == ("agents", "old-agents", "new-agents")
    assert "unknown" in fault["error"]
    assert raw(store, new_agents) == []


def test_code_that_is_older_than_the_data_is_refused() -> None:
    store = filled()
    migrator(store).apply()
    with pytest.raises(CodeOlder, match="0002 agents-by-tenant"):
        migrator(store, upper).apply()


def test_what_fails_is_noted_and_can_be_repeated() -> None:
    store = filled()
    store.put(OldAgent(endpoint_id="unknown", agent_uuid="x"))
    one = migrator(store, move)
    with pytest.raises(Exception, match="unknown"):
        one.apply()
    (status,) = one.status()
    assert status.state == "failed"
    assert status.error is not None
    assert [error["reason"] for error in status.stages[0]["errors"]] == ["inconvertible"]
    store.delete(OldAgent.key(endpoint_id="unknown", agent_uuid="x"))
    one.apply()
    assert one.status()[0].state == "applied"


def test_an_empty_store_serves_the_releases_before_and_after_a_move() -> None:
    """A move once closed the old entity in every empty store, so that each test failed between its declaration and the next release."""
    store = empty(move)
    assert [status.state for status in migrator(store, move).status()] == ["applied"]
    before, after = clients(store), clients(store)
    before.create(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    after.create(NewAgent(partition_key=ACME, agent_uuid="b"))
    assert sorted(agent.agent_uuid for agent in before.query(OldAgent.of_endpoint(endpoint_id="acme-prod"))) == ["a", "b"]
    assert sorted(agent.agent_uuid for agent in after.query(NewAgent.of_partition(partition_key=ACME))) == ["a", "b"]
    assert migrator(store, move).apply(until=Phase.CUT_OVER) == []


def test_a_store_that_began_empty_is_cleaned_up_like_any_other() -> None:
    store = empty(move)
    clients(store).create(OldAgent(endpoint_id="acme-prod", agent_uuid="a"))
    migrator(store, move).apply(until=Phase.CLEAN_UP)
    assert (len(raw(store, old_agents)), len(raw(store, new_agents))) == (0, 1)
    with pytest.raises(MoveClosed):
        clients(store).create(OldAgent(endpoint_id="acme-prod", agent_uuid="c"))


def test_an_empty_store_begins_without_old_items_once_the_migration_is_cleaned_up_everywhere() -> None:
    cleaned = replace(move, deployed=Phase.CLEAN_UP)
    store = empty(cleaned)
    clients(store).create(NewAgent(partition_key=ACME, agent_uuid="a"))
    with pytest.raises(MoveClosed):
        clients(store).find(OldAgent, endpoint_id="acme-prod", agent_uuid="a")
    assert store.table_states(old_agents) == {"old-agents": "MISSING"}


def test_an_empty_store_cannot_begin_in_the_middle_of_a_move() -> None:
    with pytest.raises(BadMigration, match="deployed='verify'"):
        Migration(1, "agents", deployed="verify")


def empty(migration: Migration) -> Store:
    """A store without the tables of the old layout, in which a host and its worker begin."""
    store = opened(tables=(new_agents,))
    for process in ("host", "worker"):
        store.drive(begin_empty("shop", (migration,), process, store.setup))
    return store


def test_a_store_without_tables_has_nothing_to_rewrite() -> None:
    rewrite, code = Migration(1, "titles", rewrites=(NewAgent,)), Migration(2, "more", rewrites=(NewAgent,), apply=lambda store: None)
    store = Store.embedded()
    store.drive(begin_empty("shop", (rewrite, code), "host", store.setup))
    assert [status.state for status in migrator(store, rewrite, code).status()] == ["applied", "pending"]
    used = Store.embedded()
    used.ensure_tables(new_agents, migrations_table)
    used.drive(begin_empty("shop", (rewrite,), "host", used.setup))
    assert [status.state for status in migrator(used, rewrite).status()] == ["pending"]


def test_nothing_is_noted_while_there_is_something_to_move() -> None:
    store = filled()
    store.drive(begin_empty("shop", (move,), "host", store.setup))
    assert [status.state for status in migrator(store, move).status()] == ["pending"]


def test_migrations_are_modules_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "shop_migrations"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number, name in ((2, "second"), (1, "first")):
        text = f"from gateleg.migrate import Migration\nmigration = Migration({number}, {name!r})\n"
        (package / f"m{number:04d}_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert [str(one) for one in load_migrations("shop_migrations")] == ["0001 first", "0002 second"]
    (package / "m0003_empty.py").write_text("")
    with pytest.raises(BadMigration, match="m0003_empty"):
        load_migrations("shop_migrations")
    with pytest.raises(BadMigration, match="number 2"):
        in_order([move, Migration(2, "other")])


@pytest.mark.parametrize("name", ["0002_second", "m2_second", "m02_second", "M0002_second"])
def test_a_module_that_is_almost_named_like_a_migration_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    package = tmp_path / f"almost_{name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "moved.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_migrations(package.name) == ()
    (package / f"{name}.py").write_text("")
    with pytest.raises(BadMigration, match=f"{name} is not named like a migration, and would not be applied"):
        load_migrations(package.name)


def test_a_package_of_migrations_that_is_misspelt_or_a_module_is_refused() -> None:
    with pytest.raises(BadMigration, match=r"There is no package tests\.no_such_migrations"):
        load_migrations("tests.no_such_migrations")
    with pytest.raises(BadMigration, match=r"tests\.migrate\.watchers is a module and not a package"):
        load_migrations("tests.migrate.watchers")


def test_the_work_is_paused_and_resumed() -> None:
    store = filled()
    one = migrator(store, move)
    one.apply(until=Phase.DUAL_WRITE)
    one.pause(2)
    with pytest.raises(Exception, match="paused"):
        one.apply()
    one.pause(2, paused=False)
    one.apply()
    assert one.status()[0].state == "applied"
