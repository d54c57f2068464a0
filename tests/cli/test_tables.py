import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.model import GSI, Table
from gateleg.store import Store, UniqueTaken
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import EmbeddedTransport
from tests.model.seeds import jobs, mv, rag

SEEDS = ["agents", "delphi", "jobs", "mv", "rag"]


class Desk:
    """Runs commands on one store."""

    def __init__(self, store: str) -> None:
        self.store = store

    def run(self, command: str, *arguments: str, seeds: tuple[str, ...] = ("jobs", "mv", "rag"), input: str | None = None) -> Result:
        given = [option for seed in seeds for option in ("--tables", f"tests.model.seeds.{seed}")]
        placed = [] if command in ("explain", "docs", "lint") else ["--store", self.store]
        return CliRunner().invoke(app, ["tables", command, *placed, *given, *arguments], input=input)

    def json(self, command: str, *arguments: str, **options: Any) -> Any:
        result = self.run(command, *arguments, "--json", **options)
        assert result.exit_code in (0, 1), result.output
        return json.loads(result.stdout)

    def open(self) -> Store:
        return Store.connect(self.store)


@pytest.fixture(params=["embedded", "endpoint"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Commands on an empty store, in this process and over HTTP."""
    monkeypatch.setenv("COLUMNS", "120")
    for name, value in (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, value)
    if request.param == "embedded":
        store = f"embedded:{tmp_path / 'data'}"
        Store.connect(store).close()
        yield Desk(store)
    else:
        with Engine(":memory:") as engine, serve_in_thread(engine) as url:
            yield Desk(url)


@pytest.fixture
def filled(desk: Desk) -> Desk:
    """Commands on a store with some jobs, a project with scenes and a collection."""
    assert desk.run("apply").exit_code == 0
    with desk.open() as store:
        for priority in range(5):
            store.create(jobs.Job(job_type="report", conversation_id="c", priority=priority))
        project = store.create(mv.Project(concept_prompt="A storm", character_description="a sailor"))
        for sequence in (1, 2):
            store.create(mv.Scene(project_id=project.project_id, sequence=sequence, prompt="waves", duration=2.5))
        store.create(rag.Collection(repository_id="r", name="Docs", embedding_model="m", created_by="ann"))
    return desk


def test_all_five_schemas_are_planned_applied_and_then_without_drift(desk: Desk) -> None:
    seeds = tuple(SEEDS)
    assert {plan["state"] for plan in desk.json("plan", seeds=seeds)} == {"missing"}
    assert desk.run("drift", seeds=seeds).exit_code == 1
    assert desk.run("apply", seeds=seeds).exit_code == 0
    assert {plan["state"] for plan in desk.json("plan", seeds=seeds)} == {"in sync"}
    drift = desk.run("drift", seeds=seeds)
    assert (drift.exit_code, drift.stdout) == (0, "No drift in 20 tables.\n")


def test_a_plan_reads_like_a_list_of_things_to_do(desk: Desk) -> None:
    assert desk.run("plan", seeds=("rag",)).stdout.splitlines()[:3] == [
        "+ LisaRagCollectionsTable: missing",
        "    create the table (collectionId, repositoryId) with 3 global indexes",
        "    let items expire by deletedAt",
    ]


def test_the_prefix_stands_before_every_table(desk: Desk) -> None:
    desk.run("apply", "--prefix", "dev-")
    assert desk.run("drift", "--prefix", "dev-").exit_code == 0
    assert desk.run("drift").exit_code == 1


def test_settings_are_applied_to_every_table(desk: Desk) -> None:
    settings = ["--billing", "3/2", "--protect", "--recovery", "--tag", "team=film", "--only", "MVProjects"]
    desk.run("apply", "--only", "MVProjects")
    (done,) = desk.json("apply", *settings)
    assert [step["action"] for step in done["done"]] == ["change-billing", "change-protection", "change-recovery", "change-tags"]
    assert desk.run("drift", *settings).exit_code == 0


def _deploy(desk: Desk, table: Table) -> None:
    with desk.open() as store:
        store.create_tables(table)


def test_what_loses_something_is_asked_about(desk: Desk) -> None:
    _deploy(desk, Table("DelphiJobQueue", hash="job_id", indexes=[GSI("Old", hash="a")]))
    refused = desk.run("apply", seeds=("jobs",), input="n\n")
    assert refused.exit_code == 1
    assert "Queries on Old fail" in refused.output
    assert desk.run("apply", seeds=("jobs",), input="y\n").exit_code == 0


def test_yes_does_not_ask(desk: Desk) -> None:
    _deploy(desk, Table("DelphiJobQueue", hash="job_id", indexes=[GSI("Old", hash="a")]))
    assert desk.run("apply", "--yes", seeds=("jobs",)).exit_code == 0


def test_a_table_that_cannot_be_changed_is_replaced_only_when_told_to(desk: Desk) -> None:
    _deploy(desk, Table("DelphiJobQueue", hash="status", range="created_at"))
    kept = desk.run("apply", seeds=("jobs",))
    assert kept.exit_code == 1
    assert "needs a new table" in kept.output
    replaced = desk.run("apply", "--delete-existing", seeds=("jobs",), input="y\n")
    assert replaced.exit_code == 0
    assert "backed up as arn:" in replaced.output
    assert desk.run("drift", seeds=("jobs",)).exit_code == 0


def test_a_pattern_is_explained(desk: Desk) -> None:
    text = desk.run("explain", "Job.ready").stdout
    assert "priority descending, created_at ascending, job_id ascending" in text
    assert '"IndexName": "ReadyIndex"' in text
    told = desk.json("explain", "DelphiJobQueue/in_status", "--arg", "status=PENDING", "--items", "1000", "--size", "4096")
    assert told["condition"] == 'status = "PENDING"'
    assert told["cost"]["units"] == 500.0


def test_documents_are_written_to_a_folder(desk: Desk, tmp_path: Path) -> None:
    result = desk.run("docs", "--out", str(tmp_path / "schema"))
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "schema").iterdir()) == sorted(
        f"{table.name}.md" for table in (jobs.queue, mv.projects, rag.collections, rag.documents, rag.vector_stores)
    )


def test_strict_lint_fails_on_remarks_that_are_not_ignored(desk: Desk) -> None:
    assert desk.run("lint", seeds=("mv",)).exit_code == 0
    assert desk.run("lint", "--strict", seeds=("mv",)).exit_code == 1
    assert desk.run("lint", "--strict", "--ignore", "hot-partition", "--ignore", "unbounded-list", seeds=("mv",)).exit_code == 0
    assert {remark["code"] for remark in desk.json("lint", seeds=("mv",))} == {"hot-partition", "unbounded-list"}


def test_a_question_is_asked_with_typed_arguments_page_by_page(filled: Desk) -> None:
    first = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "3")
    assert [item["priority"] for item in first["items"]] == [4, 3, 2]
    rest = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "3", "--cursor", first["cursor"])
    assert [item["priority"] for item in rest["items"]] == [1, 0]
    assert rest["cursor"] is None


def test_a_question_can_be_turned_round_and_counted(filled: Desk) -> None:
    turned = filled.json("query", "Job.ready", "--arg", "queue=default", "--reverse", "--limit", "1")
    assert [item["priority"] for item in turned["items"]] == [0]
    assert filled.run("query", "Job.ready", "--arg", "queue=default", "--count").stdout == "5\n"


@pytest.mark.parametrize(
    ("options", "priorities"),
    [
        (["--where", "priority>=3"], [3, 4]),
        (["--where", "priority = 1..2"], [1, 2]),
        (["--filter", "status=PEND*", "--filter", "conversation_id!=d", "--where", "priority<1"], [0]),
    ],
)
def test_a_question_is_narrowed_and_filtered(filled: Desk, options: list[str], priorities: list[int]) -> None:
    found = filled.json("query", "Job.of_type", "--arg", "job_type=report", *options)["items"]
    assert sorted(item["priority"] for item in found) == priorities


@pytest.mark.parametrize(
    ("where", "words"), [("priority", "is not a comparison"), ("size>1", "has no attribute size"), ("priority>high", "cannot be 'high'")]
)
def test_a_comparison_that_means_nothing_is_explained(filled: Desk, where: str, words: str) -> None:
    result = filled.run("query", "Job.of_type", "--arg", "job_type=report", "--where", where)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize(
    ("language", "member"), [("cloudformation", "AWSTemplateFormatVersion"), ("terraform", "resource"), ("requests", None)]
)
def test_tables_are_written_for_other_tools(language: str, member: str | None) -> None:
    result = CliRunner().invoke(app, ["tables", "template", language, "--tables", "tests.model.seeds.mv", "--protect"])
    document = json.loads(result.stdout)
    assert member in document if member else document[0]["DeletionProtectionEnabled"] is True


def test_patterns_are_offered_to_language_models(filled: Desk) -> None:
    call = {"name": "Job_of_type", "arguments": {"job_type": "report", "limit": 2}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "",
        "not JSON",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
    answers = [json.loads(line) for line in filled.run("mcp", input="\n".join(lines) + "\n").stdout.splitlines()]
    assert [answer.get("id") for answer in answers] == [1, None, 2]
    assert [item["priority"] for item in answers[2]["result"]["structuredContent"]["items"]] == [4, 3]


def test_a_prompt_has_the_store_and_the_entities_at_hand(filled: Desk) -> None:
    result = filled.run("shell", input='print("found", store.count(Job.of_type, job_type="report"))\n')
    assert "found 5" in result.stdout


def old_document(desk: Desk, **further: Any) -> None:
    item = {"pk": {"S": "r"}, "document_id": {"S": "d"}, "repository_id": {"S": "r"}} | further
    config = rag.VectorStoreConfig(repository_id="r", embedding_model_id="m", type="embedded")
    with desk.open() as store:
        # Its collection is the one of the repository's embedding model.
        store.put(rag.VectorStore(repository_id="r", config=config, status="CREATE_COMPLETE"))
        store.transport.call("PutItem", {"TableName": rag.documents.name, "Item": item})


def test_a_check_finds_wrong_counts_and_markers_and_corrects_them(filled: Desk) -> None:
    sound = filled.run("check")
    assert (sound.exit_code, sound.stdout.splitlines()[-1].split(", ")[1]) == (0, "0 wrong")
    with filled.open() as store:
        found = next(item for item in store.scan(mv.projects) if "sceneCount" in item)
        store.transport.call("PutItem", {"TableName": "MVProjects", "Item": found | {"sceneCount": {"N": "-1"}}})
        collection = next(store.export(rag.Collection))
        marker = {"collectionId": {"S": "~unique#Collection#one_name#r#docs"}, "repositoryId": {"S": "~unique"}}
        store.transport.call("DeleteItem", {"TableName": "LisaRagCollectionsTable", "Key": marker})
    wrong = filled.run("check")
    assert wrong.exit_code == 1
    assert "Project.scene_count of" in wrong.stdout
    assert "is -1, but there are 2" in wrong.stdout
    assert "is missing" in wrong.stdout
    report = filled.json("check")
    assert ([entry["counted"] for entry in report["counts"]], [entry["kind"] for entry in report["markers"]]) == ([2], ["missing"])
    mended = filled.run("check", "--fix")
    assert (mended.exit_code, mended.stdout.splitlines()[-1].split(", ")[1:]) == (0, ["0 wrong", "2 corrected"])
    with filled.open() as store:
        assert next(store.export(mv.Project)).scene_count == 2
        with pytest.raises(UniqueTaken):
            store.create(collection.model_copy(update={"collection_id": uuid4()}))


def test_a_backfill_moves_old_documents_and_then_has_nothing_to_do(filled: Desk, tmp_path: Path) -> None:
    old_document(filled, upload_date={"N": "1"})
    assert filled.run("backfill", "Document", "--dry-run").exit_code == 1
    done = filled.json("backfill", "Document", "--resume", str(tmp_path / "progress.json"))
    assert (done["seen"], done["moved"]) == (1, 1)
    assert not (tmp_path / "progress.json").exists()
    assert filled.run("backfill", "Document", "--dry-run").stdout == "1 item seen, 0 to be rewritten, 0 to be moved\n"


def test_a_backfill_that_was_cut_short_goes_on_and_one_that_has_ended_begins_anew(filled: Desk, tmp_path: Path) -> None:
    for number in range(3):
        old_document(filled, upload_date={"N": "1"}, document_id={"S": f"d{number}"})
    file = str(tmp_path / "progress.json")
    with filled.open() as store:
        first = store.transport.call("Scan", {"TableName": rag.documents.name, "Limit": 1})["LastEvaluatedKey"]
    (tmp_path / "progress.json").write_text(json.dumps({"entity": "Document", "segments": 1, "starts": {"0": first}}))
    assert filled.json("backfill", "Document", "--resume", file)["seen"] == 2
    assert filled.json("backfill", "Document", "--resume", file)["seen"] == 3


@pytest.mark.parametrize("kept", ["{", '{"starts": {}}', '{"entity": "Other", "segments": 1, "starts": {"0": null}}'])
def test_a_backfill_goes_on_with_nothing_but_its_own_progress(filled: Desk, tmp_path: Path, kept: str) -> None:
    file = tmp_path / "progress.json"
    file.write_text(kept)
    assert filled.run("backfill", "Document", "--resume", str(file)).exit_code == 2
    assert file.read_text() == kept


def test_a_dry_run_does_not_say_that_the_work_is_done(filled: Desk, tmp_path: Path) -> None:
    refused = filled.run("backfill", "Document", "--dry-run", "--resume", str(tmp_path / "progress.json"))
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr


def test_a_backfill_tells_what_it_cannot_read(filled: Desk) -> None:
    old_document(filled)
    result = filled.run("backfill", "Document")
    assert result.exit_code == 1
    assert "upload_date" in result.stderr


def test_a_backfill_of_an_unknown_entity_names_the_known_ones(desk: Desk) -> None:
    result = desk.run("backfill", "Paper")
    assert result.exit_code == 2
    assert "Document" in result.stderr


def test_a_cursor_of_another_question_is_refused(filled: Desk) -> None:
    first = filled.json("query", "Job.ready", "--arg", "queue=default", "--limit", "1")
    assert filled.run("query", "Job.ready", "--arg", "queue=else", "--cursor", first["cursor"]).exit_code == 1


def test_browsing_shows_each_entity_by_itself(filled: Desk) -> None:
    lines = [line.strip() for line in filled.run("browse", "MVProjects").stdout.splitlines()]
    assert lines.index("Project") < next(at for at, line in enumerate(lines) if "A storm" in line) < lines.index("Scene")
    assert [item["SK"] for item in filled.json("browse", "Scene")["items"]] == ["SCENE#001", "SCENE#002"]


def test_no_line_is_wider_than_the_terminal(filled: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    for arguments in (["browse", "MVProjects"], ["plan"], ["lint"]):
        assert max(len(line) for line in filled.run(*arguments).stdout.splitlines()) <= 60


def test_a_table_that_is_not_declared_can_be_browsed(filled: Desk) -> None:
    assert len(filled.json("browse", "DelphiJobQueue", seeds=())["items"]) == 5


@pytest.mark.parametrize("options", [[], ["--plain"]], ids=["dynamodb", "plain"])
def test_what_is_exported_can_be_imported(filled: Desk, options: list[str]) -> None:
    filled.run("apply", "--prefix", "copy-")
    for table in ("DelphiJobQueue", "MVProjects", "LisaRagCollectionsTable"):
        lines = filled.run("export", table, *options).stdout
        assert filled.run("import", table, "--prefix", "copy-", *options, input=lines).exit_code == 0
        again = filled.run("export", table, "--prefix", "copy-", *options).stdout
        assert sorted(again.splitlines()) == sorted(lines.splitlines())


def test_one_bad_line_and_nothing_is_imported(filled: Desk) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    refused = filled.run("import", "DelphiJobQueue", "--prefix", "copy-", input=good + '{"Item": {"job_id": {"S": "x"}}}\n')
    assert refused.exit_code == 1
    assert "line 6: " in refused.stderr
    assert "nothing was written" in refused.stderr
    assert filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout == ""


def test_checking_an_import_writes_nothing(filled: Desk) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    assert filled.run("import", "DelphiJobQueue", "--prefix", "copy-", "--check", input=good).stderr == "5 items, no faults\n"
    assert filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout == ""


def test_an_import_goes_on_from_a_line(filled: Desk) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    filled.run("import", "DelphiJobQueue", "--prefix", "copy-", "--from-line", "4", input=good)
    assert len(filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout.splitlines()) == 2


class Failing:
    """The embedded transport, until an operation has been called a number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, operation: str, times: int) -> None:
        original = EmbeddedTransport.call
        left = [times]

        def call(transport: EmbeddedTransport, name: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            if name == operation:
                left[0] -= 1
                if left[0] < 0:
                    raise ServiceError("InternalServerError", "out of order", status=500)
            return original(transport, name, request, timeout=timeout)

        monkeypatch.setattr(EmbeddedTransport, "call", call)


@pytest.fixture
def home(tmp_path: Path) -> Desk:
    """A desk on a folder with five jobs."""
    desk = Desk(f"embedded:{tmp_path / 'data'}")
    desk.run("apply", seeds=("jobs",))
    with desk.open() as store:
        for priority in range(5):
            store.create(jobs.Job(job_type="report", conversation_id="c", priority=priority))
    return desk


def test_an_import_that_fails_says_what_is_loaded_and_how_to_go_on(home: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = home.run("export", "DelphiJobQueue").stdout
    monkeypatch.setattr("gateleg.ops.transfer.CHUNK", 2)
    with monkeypatch.context() as broken:
        Failing(broken, "BatchWriteItem", 2)
        failed = home.run("import", "DelphiJobQueue", input=lines)
    assert failed.exit_code == 1
    assert "lines up to 4 are loaded" in failed.stderr
    assert "--from-line 5" in failed.stderr
    assert home.run("import", "DelphiJobQueue", "--from-line", "5", input=lines).exit_code == 0


def exporting(folder: Path, **more: Any) -> subprocess.Popen[bytes]:
    """An export of a table with many items of many scripts, in a process of its own."""
    table = Table("scripts", hash="id")
    with Store.connect(f"embedded:{folder}") as store:
        store.create_tables(table)
        for number in range(0, 3000, 25):
            puts = [{"PutRequest": {"Item": {"id": {"S": f"日本é {number + one}"}}}} for one in range(25)]
            store.transport.call("BatchWriteItem", {"RequestItems": {"scripts": puts}})
    command = [sys.executable, "-m", "gateleg", "tables", "export", "scripts", "--store", f"embedded:{folder}"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    start: Any = subprocess.Popen
    process: subprocess.Popen[bytes] = start(command, stderr=subprocess.PIPE, env=environment, cwd=folder, **more)
    return process


def test_an_export_is_utf8_whatever_the_terminal_takes(tmp_path: Path) -> None:
    lines, _ = exporting(tmp_path, stdout=subprocess.PIPE).communicate()
    assert {json.loads(line)["Item"]["id"]["S"] for line in lines.splitlines()} == {f"日本é {number}" for number in range(3000)}


def test_an_export_whose_reader_has_enough_ends_without_a_word(tmp_path: Path) -> None:
    with exporting(tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_an_export_that_finds_no_room_says_that_it_is_not_whole(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        _, words = exporting(tmp_path, stdout=full).communicate()
    assert b"No space left" in words
    assert b"export again" in words


def test_an_export_that_fails_goes_on_with_its_cursor(home: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = home.run("export", "DelphiJobQueue").stdout.splitlines()
    # The service decides how long a page is: here, two items.
    original = EmbeddedTransport.call

    def short(transport: EmbeddedTransport, name: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        return original(transport, name, request | ({"Limit": 2} if name == "Scan" else {}), timeout=timeout)

    monkeypatch.setattr(EmbeddedTransport, "call", short)
    with monkeypatch.context() as broken:
        Failing(broken, "Scan", 1)
        failed = home.run("export", "DelphiJobQueue")
    assert failed.exit_code == 1
    assert failed.stdout.splitlines() == whole[:2]
    cursor = failed.stderr.split("--cursor ")[1].strip()
    assert home.run("export", "DelphiJobQueue", "--cursor", cursor).stdout.splitlines() == whole[2:]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["query", "Job.nothing"], "there is no pattern Job.nothing"),
        (["query", "Job.ready"], "--arg queue=..."),
        (["query", "Job.ready", "--arg", "queue"], "name=value"),
        (["query", "Job.of_type", "--arg", "job_type=x", "--arg", "priority=high"], "Job.priority cannot be 'high'"),
        (["plan", "--only", "Nothing"], "no table Nothing"),
        (["plan", "--billing", "cheap"], "--billing"),
        (["plan", "--tag", "x"], "--tag takes key=value"),
        (["browse", "MVProjects", "--entity", "Nothing"], "MVProjects has no entity Nothing"),
        (["lint", "--ignore", "nothing"], "no rule nothing"),
    ],
)
def test_a_wrong_argument_is_told_apart_from_a_failure(tmp_path: Path, arguments: list[str], words: str) -> None:
    desk = Desk(f"embedded:{tmp_path}")
    desk.run("apply")
    result = desk.run(*arguments)
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
    assert "cannot import missing: there is no such module" in run("missing").stderr
    assert "A has no key" in run("wrong").stderr


def test_drift_that_cannot_be_found_out_has_a_status_of_its_own() -> None:
    result = CliRunner().invoke(app, ["tables", "drift", "--store", "nowhere:", "--tables", "tests.model.seeds.mv"])
    assert result.exit_code == 2


def test_single_tables_have_names_of_their_own_in_lists_templates_and_explanations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELEG_TABLE_NAMES", "DelphiJobQueue=jobs-eu")
    place = f"embedded:{tmp_path / 'data'}"

    def out(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["tables", *arguments])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    CliRunner().invoke(app, ["tables", "apply", "--store", place, "--only", "DelphiJobQueue", "--only", "DelphiJobLedger"])
    only = ("--only", "DelphiJobQueue", "--only", "DelphiJobLedger", "--prefix", "")
    assert {row["table"]: row["state"] for row in out("list", "--store", place, *only, "--json")["items"]} == {
        "jobs-eu": "ACTIVE",
        "DelphiJobLedger": "ACTIVE",
    }
    assert [one["TableName"] for one in out("template", "requests", *only)] == ["jobs-eu", "DelphiJobLedger"]
    resources = out("template", "cloudformation", *only)["Resources"]
    assert [one["Properties"]["TableName"] for one in resources.values()] == ["jobs-eu", "DelphiJobLedger"]
    (table, _) = out("template", "terraform", *only)["resource"]["aws_dynamodb_table"].values()
    assert table["name"] == "jobs-eu"
    told = out("explain", "Job.in_status", "--json")
    assert (told["table"], told["requests"][0]["TableName"]) == ("jobs-eu", "jobs-eu")
