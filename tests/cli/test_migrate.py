"""`gateleg migrate`: what somebody types to move a table, and back."""

import json
import re
from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.migrate import Migration, Migrator, migrations_table
from gateleg.model import Table
from gateleg.store import Store
from tests.migrate.agents_migrations.m0001_agents_by_tenant import migration as agents_by_tenant
from tests.migrate.moves.layouts import NewAgent, OldAgent, new_agents, old_agents, raw


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installed, "entry_points", lambda group: ())
    (tmp_path / "gateleg.toml").write_text('applications = ["tests.migrate.sample_application:application"]\n')
    place = f"embedded:{tmp_path}/data?durability=relaxed"
    with Store.connect(place) as opened:
        opened.ensure_tables(old_agents, migrations_table)
        agents = [OldAgent(endpoint_id="acme-prod", agent_uuid=f"{n}", name=f"agent {n}") for n in range(7)]
        opened.batch_write(agents, check_version=False)
    return place


def migrate(store: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["migrate", *arguments, "--store", store])


def test_a_move_is_planned_applied_watched_verified_and_undone(store: str) -> None:
    planned = json.loads(migrate(store, "plan", "agency", "--samples", "2", "--json").output)
    assert [(entry["number"], len(entry["samples"])) for entry in planned] == [(1, 2)]
    shown = migrate(store, "plan", "agency").output
    assert "agents, all (old-agents to new-agents): off → dual-write → backfill" in shown
    assert re.search(r'before  old-agents  .*"acme-prod".*\n  after   new-agents  .*"aws-prod#acme"', shown)
    applied = migrate(store, "apply", "agency", "--phase", "dual-read", "--segments", "2")
    assert applied.exit_code == 0, applied.output
    assert "as far as dual-read" in applied.output
    shown = migrate(store, "status", "agency").output
    assert "agents, all: dual-read, verified" in shown
    assert "7 items seen, 7 written" in shown
    verified = migrate(store, "verify", "agency", "1")
    assert "7 old and 7 new items agree; 14 were compared" in verified.output
    with Store.connect(store) as opened:
        opened.delete(NewAgent.key(partition_key="aws-prod#acme", agent_uuid="3"))
    assert migrate(store, "verify", "agency", "1").exit_code == 1
    assert "missing old" in migrate(store, "status", "agency").output
    assert migrate(store, "pause", "agency", "1").exit_code == 0
    assert "paused" in migrate(store, "status", "agency").output
    assert migrate(store, "resume", "agency", "1").exit_code == 0
    assert "is back in off" in migrate(store, "rollback", "agency", "1").output
    with Store.connect(store) as opened:
        assert len(raw(opened, old_agents)) == 7
        assert raw(opened, new_agents) == []


def test_a_plan_says_what_stops_apply_and_which_items_cannot_be_moved(store: str) -> None:
    with Store.connect(store) as opened:
        opened.put(OldAgent(endpoint_id="unknown", agent_uuid="x"))
    plain = migrate(store, "plan", "agency", "--samples", "0")
    assert plain.exit_code == 0, plain.output
    checked = migrate(store, "plan", "agency", "--samples", "0", "--check-items")
    assert checked.exit_code == 1
    assert checked.output.count("cannot be moved") == 1
    with Store.connect(store) as opened:
        opened.create_tables(Table("new-agents", hash="agent_uuid"))
    refused = migrate(store, "plan", "agency")
    assert refused.exit_code == 1
    assert "apply would be refused:\n    The table new-agents has the key (agent_uuid S)" in refused.output
    applied = migrate(store, "apply", "agency")
    assert applied.exit_code == 1
    assert "Nothing was written." in applied.output


def test_a_plan_for_an_old_table_with_another_key_says_so(store: str) -> None:
    with Store.connect(store) as opened:
        opened.delete_tables(old_agents)
        opened.create_tables(Table("old-agents", hash="name"))
        opened.transport.call("PutItem", {"TableName": "old-agents", "Item": {"name": {"S": "a"}}})
    planned = migrate(store, "plan", "agency", "--check-items")
    assert planned.exit_code == 1
    assert "The table old-agents has the key (name S), but (endpoint_id S, agent_uuid S) is declared" in planned.output


def test_status_without_an_application_shows_all(store: str) -> None:
    shown = migrate(store, "status").output
    assert "agency:\n0001 agents-by-tenant: pending" in shown
    assert [one["name"] for one in json.loads(migrate(store, "status", "--json").output)["agency"]] == ["agents-by-tenant"]


def test_failed_items_are_listed_page_by_page_and_repeated(store: str) -> None:
    with Store.connect(store) as opened:
        opened.batch_write([OldAgent(endpoint_id="unknown", agent_uuid=f"{n}") for n in range(3)], check_version=False)
    assert migrate(store, "apply", "agency").exit_code == 1
    first = json.loads(migrate(store, "errors", "agency", "1", "--limit", "2", "--json").output)
    rest = json.loads(migrate(store, "errors", "agency", "1", "--limit", "2", "--after", first["next"], "--json").output)
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
    assert len({one["key"] for one in first["items"] + rest["items"]}) == 3
    left = migrate(store, "repeat", "agency", "1")
    assert (left.exit_code, "agents/all: 3 left" in left.output) == (1, True)
    with Store.connect(store) as opened:
        for n in range(3):
            opened.delete(OldAgent.key(endpoint_id="unknown", agent_uuid=f"{n}"))
    assert migrate(store, "repeat", "agency", "1").exit_code == 0
    assert "No failed items" in migrate(store, "errors", "agency", "1").output


def test_data_that_is_newer_than_the_code_is_shown_with_a_warning_and_not_verified(store: str) -> None:
    with Store.connect(store) as opened:
        newer = Migration(2, "later", apply=lambda _: None)
        Migrator(opened, "agency", [agents_by_tenant, newer], by="ann").apply()
    shown = migrate(store, "status", "agency")
    assert (shown.exit_code, "0002 later: applied" in shown.output, "but not in its code" in shown.output) == (0, True, True)
    refused = migrate(store, "verify", "agency", "1")
    assert (refused.exit_code, "code-older-than-data" in refused.output) == (1, True)


def test_a_worker_can_do_it(store: str) -> None:
    submitted = migrate(store, "apply", "agency", "--queue", "--segments", "2")
    assert submitted.exit_code == 0, submitted.output
    UUID(submitted.output.strip())
    assert "MIGRATION" in CliRunner().invoke(app, ["jobs", "show", submitted.output.strip(), "--store", store]).output


def test_what_cannot_be_done_is_said_in_one_line(store: str) -> None:
    assert "the application nobody has no migrations; use one of these: agency" in migrate(store, "status", "nobody").output
    assert "agency has no migration 9. `gateleg migrate status` lists them." in migrate(store, "apply", "agency", "9").output
    assert "unknown phase sideways" in migrate(store, "apply", "agency", "--phase", "sideways").output
    refused = migrate(store, "rollback", "agency", "1")
    assert (refused.exit_code, "was not applied" in refused.output) == (1, True)
