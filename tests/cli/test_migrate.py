"""`gateleg migrate`: what somebody types to move a table, and back."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.migrate import migrations_table
from gateleg.store import Store
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
    assert "dual-write → backfill" in migrate(store, "plan", "agency").output
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


def test_a_worker_can_do_it(store: str) -> None:
    submitted = migrate(store, "apply", "agency", "--queue", "--segments", "2")
    assert submitted.exit_code == 0, submitted.output
    UUID(submitted.output.strip())
    assert "MIGRATION" in CliRunner().invoke(app, ["jobs", "show", submitted.output.strip(), "--store", store]).output


def test_what_cannot_be_done_is_said_in_one_line(store: str) -> None:
    assert "no migrations of nobody; those that have some: agency" in migrate(store, "status", "nobody").output
    assert "there is no phase sideways" in migrate(store, "apply", "agency", "--phase", "sideways").output
    refused = migrate(store, "rollback", "agency", "1")
    assert (refused.exit_code, "was not applied" in refused.output) == (1, True)
