"""Check and backfill."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from gateleg.store import UniqueTaken
from tests.cli.tables.commands import TableCommands
from tests.model.seeds import mv, rag


def old_document(commands: TableCommands, **further: Any) -> None:
    item = {"pk": {"S": "r"}, "document_id": {"S": "d"}, "repository_id": {"S": "r"}} | further
    config = rag.VectorStoreConfig(repository_id="r", embedding_model_id="m", type="embedded")
    with commands.open() as store:
        # Its collection is the one of the repository's embedding model.
        store.put(rag.VectorStore(repository_id="r", config=config, status="CREATE_COMPLETE"))
        store.transport.call("PutItem", {"TableName": rag.documents.name, "Item": item})


def test_a_check_finds_wrong_counts_and_markers_and_corrects_them(filled: TableCommands) -> None:
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


def test_a_backfill_moves_old_documents_and_then_has_nothing_to_do(filled: TableCommands, tmp_path: Path) -> None:
    old_document(filled, upload_date={"N": "1"})
    assert filled.run("backfill", "Document", "--dry-run").exit_code == 1
    done = filled.json("backfill", "Document", "--resume", str(tmp_path / "progress.json"))
    assert (done["seen"], done["moved"]) == (1, 1)
    assert not (tmp_path / "progress.json").exists()
    assert filled.run("backfill", "Document", "--dry-run").stdout == "1 item seen, 0 to be rewritten, 0 to be moved\n"


def test_a_backfill_that_was_cut_short_goes_on_and_one_that_has_ended_begins_anew(filled: TableCommands, tmp_path: Path) -> None:
    for number in range(3):
        old_document(filled, upload_date={"N": "1"}, document_id={"S": f"d{number}"})
    file = str(tmp_path / "progress.json")
    with filled.open() as store:
        first = store.transport.call("Scan", {"TableName": rag.documents.name, "Limit": 1})["LastEvaluatedKey"]
    (tmp_path / "progress.json").write_text(json.dumps({"entity": "Document", "segments": 1, "starts": {"0": first}}))
    assert filled.json("backfill", "Document", "--resume", file)["seen"] == 2
    assert filled.json("backfill", "Document", "--resume", file)["seen"] == 3


@pytest.mark.parametrize("kept", ["{", '{"starts": {}}', '{"entity": "Other", "segments": 1, "starts": {"0": null}}'])
def test_a_backfill_goes_on_with_nothing_but_its_own_progress(filled: TableCommands, tmp_path: Path, kept: str) -> None:
    file = tmp_path / "progress.json"
    file.write_text(kept)
    assert filled.run("backfill", "Document", "--resume", str(file)).exit_code == 2
    assert file.read_text() == kept


def test_a_dry_run_does_not_say_that_the_work_is_done(filled: TableCommands, tmp_path: Path) -> None:
    refused = filled.run("backfill", "Document", "--dry-run", "--resume", str(tmp_path / "progress.json"))
    assert refused.exit_code == 2
    assert "--resume" in refused.stderr


def test_a_backfill_tells_what_it_cannot_read(filled: TableCommands) -> None:
    old_document(filled)
    result = filled.run("backfill", "Document")
    assert result.exit_code == 1
    assert "upload_date" in result.stderr


def test_a_backfill_of_an_unknown_entity_names_the_known_ones(commands: TableCommands) -> None:
    result = commands.run("backfill", "Paper")
    assert result.exit_code == 2
    assert "Document" in result.stderr
