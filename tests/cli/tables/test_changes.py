"""Plan, apply, drift, and what is written about tables."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.installed import installed_applications
from gateleg.cli.tables.declared import load_tables
from gateleg.host import Application
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs.table_streams import TableStreams
from gateleg.model import GSI, Table
from tests.cli.tables.commands import TableCommands
from tests.model.seeds import jobs, mv, rag

SEEDS = ["agents", "delphi", "jobs", "mv", "rag"]


def test_all_five_schemas_are_planned_applied_and_then_without_drift(commands: TableCommands) -> None:
    seeds = tuple(SEEDS)
    assert {plan["state"] for plan in commands.json("plan", seeds=seeds)} == {"missing"}
    assert commands.run("drift", seeds=seeds).exit_code == 1
    assert commands.run("apply", seeds=seeds).exit_code == 0
    assert {plan["state"] for plan in commands.json("plan", seeds=seeds)} == {"in sync"}
    drift = commands.run("drift", seeds=seeds)
    assert (drift.exit_code, drift.stdout) == (0, "No drift in 20 tables.\n")


def test_a_plan_reads_like_a_list_of_things_to_do(commands: TableCommands) -> None:
    assert commands.run("plan", seeds=("rag",)).stdout.splitlines()[:3] == [
        "+ LisaRagCollectionsTable: missing",
        "    create the table (collectionId, repositoryId) with 3 global indexes",
        "    let items expire by deletedAt",
    ]


def test_the_prefix_stands_before_every_table(commands: TableCommands) -> None:
    commands.run("apply", "--prefix", "dev-")
    assert commands.run("drift", "--prefix", "dev-").exit_code == 0
    assert commands.run("drift").exit_code == 1


def test_settings_are_applied_to_every_table(commands: TableCommands) -> None:
    settings = ["--billing", "3/2", "--protect", "--recovery", "--tag", "team=film", "--only", "MVProjects"]
    commands.run("apply", "--only", "MVProjects")
    (done,) = commands.json("apply", *settings)
    assert [step["action"] for step in done["done"]] == ["change-billing", "change-protection", "change-recovery", "change-tags"]
    assert commands.run("drift", *settings).exit_code == 0


def _deploy(commands: TableCommands, table: Table) -> None:
    with commands.open() as store:
        store.create_tables(table)


def test_what_loses_something_is_asked_about(commands: TableCommands) -> None:
    _deploy(commands, Table("DelphiJobQueue", hash="job_id", indexes=[GSI("Old", hash="a")]))
    refused = commands.run("apply", seeds=("jobs",), input="n\n")
    assert refused.exit_code == 1
    assert "Queries on Old fail" in refused.output
    assert commands.run("apply", seeds=("jobs",), input="y\n").exit_code == 0


def test_yes_does_not_ask(commands: TableCommands) -> None:
    _deploy(commands, Table("DelphiJobQueue", hash="job_id", indexes=[GSI("Old", hash="a")]))
    assert commands.run("apply", "--yes", seeds=("jobs",)).exit_code == 0


def test_a_table_that_cannot_be_changed_is_replaced_only_when_told_to(commands: TableCommands) -> None:
    _deploy(commands, Table("DelphiJobQueue", hash="status", range="created_at"))
    kept = commands.run("apply", seeds=("jobs",))
    assert kept.exit_code == 1
    assert "needs a new table" in kept.output
    replaced = commands.run("apply", "--delete-existing", seeds=("jobs",), input="y\n")
    assert replaced.exit_code == 0
    assert "backed up as arn:" in replaced.output
    assert commands.run("drift", seeds=("jobs",)).exit_code == 0


def test_a_pattern_is_explained(commands: TableCommands) -> None:
    text = commands.run("explain", "Job.ready").stdout
    assert "priority descending, created_at ascending, job_id ascending" in text
    assert '"IndexName": "ReadyIndex"' in text
    told = commands.json("explain", "DelphiJobQueue/in_status", "--arg", "status=PENDING", "--items", "1000", "--size", "4096")
    assert told["condition"] == 'status = "PENDING"'
    assert told["cost"]["units"] == 500.0


def test_documents_are_written_to_a_folder(commands: TableCommands, tmp_path: Path) -> None:
    result = commands.run("docs", "--out", str(tmp_path / "schema"))
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "schema").iterdir()) == sorted(
        f"{table.name}.md" for table in (jobs.queue, mv.projects, rag.collections, rag.documents, rag.vector_stores)
    )


def test_strict_lint_fails_on_remarks_that_are_not_ignored(commands: TableCommands) -> None:
    assert commands.run("lint", seeds=("mv",)).exit_code == 0
    assert commands.run("lint", "--strict", seeds=("mv",)).exit_code == 1
    assert commands.run("lint", "--strict", "--ignore", "hot-partition", "--ignore", "unbounded-list", seeds=("mv",)).exit_code == 0
    assert {remark["code"] for remark in commands.json("lint", seeds=("mv",))} == {"hot-partition", "unbounded-list"}


@pytest.mark.parametrize(
    ("language", "member"), [("cloudformation", "AWSTemplateFormatVersion"), ("terraform", "resource"), ("requests", None)]
)
def test_tables_are_written_for_other_tools(language: str, member: str | None) -> None:
    result = CliRunner().invoke(app, ["tables", "template", language, "--tables", "tests.model.seeds.mv", "--protect"])
    document = json.loads(result.stdout)
    assert member in document if member else document[0]["DeletionProtectionEnabled"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["query", "Job.nothing"], "unknown access pattern Job.nothing"),
        (["query", "Job.ready"], "--arg queue=..."),
        (["query", "Job.ready", "--arg", "queue"], "name=value"),
        (["query", "Job.of_type", "--arg", "job_type=x", "--arg", "priority=high"], "Job.priority cannot be 'high'"),
        (["plan", "--only", "Nothing"], "unknown table Nothing"),
        (["plan", "--billing", "cheap"], "--billing"),
        (["plan", "--tag", "x"], "--tag takes key=value"),
        (["browse", "MVProjects", "--entity", "Nothing"], "MVProjects has no entity Nothing"),
        (["lint", "--ignore", "nothing"], "unknown rule nothing"),
    ],
)
def test_a_wrong_argument_is_told_apart_from_a_failure(tmp_path: Path, arguments: list[str], words: str) -> None:
    commands = TableCommands(f"embedded:{tmp_path}")
    commands.run("apply")
    result = commands.run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_modules_are_found_in_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text('from gateleg.model import Table\n\norders = Table("orders", hash="id")\n')
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "wrong.py").write_text(
        'from gateleg.model import *\n\n\nclass A(Entity, table=Table("a-1", hash="id")):\n    b: Attr[str]\n'
    )

    def run(module: str) -> subprocess.CompletedProcess[str]:
        program = "from gateleg.cli import main; main()"
        command = [sys.executable, "-c", program, "tables", "plan", "--store", "embedded::memory:", "--tables", module]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert "+ orders: missing" in run("shop").stdout
    assert "cannot import broken: it needs nothing_of_this_name" in run("broken").stderr
    assert "cannot import missing: no such module" in run("missing").stderr
    assert "A has no key" in run("wrong").stderr


def test_drift_that_cannot_be_found_out_has_a_status_of_its_own() -> None:
    result = CliRunner().invoke(app, ["tables", "drift", "--store", "nowhere:", "--tables", "tests.model.seeds.mv"])
    assert result.exit_code == 2


def test_single_tables_have_names_of_their_own_in_lists_templates_and_explanations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELEG_TABLE_NAMES", "JobQueue=jobs-eu")
    place = f"embedded:{tmp_path / 'data'}"

    def out(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["tables", *arguments])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    CliRunner().invoke(app, ["tables", "apply", "--store", place, "--only", "JobQueue", "--only", "JobLedger"])
    only = ("--only", "JobQueue", "--only", "JobLedger", "--prefix", "")
    assert {row["table"]: row["state"] for row in out("list", "--store", place, *only, "--json")["items"]} == {
        "jobs-eu": "ACTIVE",
        "JobLedger": "ACTIVE",
    }
    assert [one["TableName"] for one in out("template", "requests", *only)] == ["jobs-eu", "JobLedger"]
    resources = out("template", "cloudformation", *only)["Resources"]
    assert [one["Properties"]["TableName"] for one in resources.values()] == ["jobs-eu", "JobLedger"]
    (table, _) = out("template", "terraform", *only)["resource"]["aws_dynamodb_table"].values()
    assert table["name"] == "jobs-eu"
    told = out("explain", "JobQueue/in_status", "--json")
    assert (told["table"], told["requests"][0]["TableName"]) == ("jobs-eu", "jobs-eu")


def test_a_pattern_of_entities_with_one_name_is_named_with_its_table() -> None:
    told = CliRunner().invoke(app, ["tables", "explain", "Job.in_status"])
    assert (told.exit_code, told.stderr) == (2, "gateleg: Job.in_status may be JobQueue/in_status or DelphiJobQueue/in_status\n")


def test_lint_leaves_the_built_in_tables_out_unless_they_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    applications = runner.invoke(app, ["tables", "lint", "--json"])
    assert not [remark for remark in json.loads(applications.stdout) if remark["where"].startswith(("Job.", "DelphiJob", "Webhook."))]
    named = runner.invoke(app, ["tables", "lint", "--only", "DelphiJobQueue", "--json"])
    assert [remark for remark in json.loads(named.stdout) if remark["where"].startswith("Job.")]


def test_the_commands_work_on_all_tables_that_a_host_creates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    applications = [*installed_applications(settings), Application("shop", "Shop", "store", table_streams=TableStreams())]
    monkeypatch.setattr("gateleg.cli.installed.installed_applications", lambda _: applications)

    async def tables_of_host() -> set[str]:
        async with Host.open(settings, applications) as host:
            return {table.name for table in host.tables}

    assert {table.name for table in load_tables(settings)} == asyncio.run(tables_of_host())
    assert {"GatelegMigrations", "GatelegLocks", "GatelegStreams"} <= {table.name for table in load_tables(settings)}
