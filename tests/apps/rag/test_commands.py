import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.apps.rag.commands import app
from gateleg.store import Store
from tests.apps.rag.ingesting.second_model import second_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents."""
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "ships.md").write_text("# Ships\n\nThe Vasa was a Swedish warship that sank in 1628 on its first voyage.\n")
    (tmp_path / "docs" / "deep" / "tides.txt").write_text("High water comes twice a day, about fifty minutes later each day.\n")
    (tmp_path / "docs" / ".hidden").write_text("not this one")
    (tmp_path / "docs" / "blob.bin").write_bytes(b"\x00\x01\x02" * 50)
    return tmp_path


def run(folder: Path, *words: str) -> tuple[int, str]:
    (folder / "gateleg.toml").write_text(
        f'store = "embedded:{folder}/data?durability=relaxed"\ndata = "{folder}/data"\nobjects = "dir:{folder}/objects"\n'
    )
    done = CliRunner().invoke(app, [*words, "--config", str(folder / "gateleg.toml")])
    return done.exit_code, done.output


def test_files_are_added_found_and_asked(folder: Path) -> None:
    status, told = run(folder, "add", str(folder / "docs"))
    assert status == 1
    assert "blob.bin: Files of the type application/octet-stream are not supported." in told
    assert "documents/docs: 2 added, 0 unchanged, 1 refused" in told
    (folder / "docs" / "blob.bin").unlink()
    assert run(folder, "add", str(folder / "docs"))[1].endswith("documents/docs: 0 added, 2 unchanged, 0 refused\n")
    status, told = run(folder, "search", "when did the warship sink", "--json", "-k", "1")
    (hit,) = json.loads(told)
    assert (status, hit["documentName"], hit["heading"]) == (0, "ships.md", "Ships")
    status, told = run(folder, "ask", "When did the Vasa sink?", "-r", "documents", "--collection", "docs")
    assert status == 0
    assert "1628" in told
    assert "ships.md, Ships" in told


def test_a_collection_is_embedded_by_another_model(folder: Path) -> None:
    (folder / "docs" / "blob.bin").unlink()
    run(folder, "add", str(folder / "docs"))
    assert run(folder, "reembed", "docs", "local:minilm")[1].endswith("documents/docs: already embedded with local:minilm\n")
    with second_model() as other:
        status, told = run(folder, "reembed", "docs", other.address)
        assert (status, told.splitlines()[-1]) == (0, "documents/docs: 2 chunks of 2 documents, 2 embedded")
        (hit,) = json.loads(run(folder, "search", "High water comes twice a day", "--mode", "vector", "--json", "-k", "1")[1])
        assert hit["documentName"] == "deep/tides.txt"
        other.before = lambda: 400
        assert "the collection was not changed" in run(folder, "reembed", "docs", f"{other.address}/other")[1]
    assert "is not available on this host" in run(folder, "reembed", "docs", "local:unknown")[1]


def test_files_that_only_keywords_find_are_named_and_added_again(folder: Path) -> None:
    (folder / "docs" / "blob.bin").unlink()
    with second_model() as other:
        run(folder, "add", str(folder / "docs" / "ships.md"))
        run(folder, "reembed", "docs", other.address)
        other.before = lambda: 400
        status, told = run(folder, "add", str(folder / "docs"), "--collection", "docs")
        assert (status, "documents/docs: 1 added, 1 unchanged, 0 refused" in told) == (0, True)
        assert "1 of the files, such as deep/tides.txt: Found by keywords only" in told
        other.before = lambda: 200
        told = run(folder, "add", str(folder / "docs"), "--collection", "docs")[1]
        assert told.endswith("documents/docs: 1 added, 1 unchanged, 0 refused\n")
        (hit,) = json.loads(run(folder, "search", "High water comes twice a day", "--mode", "vector", "--json", "-k", "1")[1])
        assert hit["documentName"] == "deep/tides.txt"


def test_what_is_wrong_is_said(folder: Path) -> None:
    assert "there is no store" in run(folder, "search", "anything")[1]
    Store.connect(f"embedded:{folder}/data?durability=relaxed").close()
    assert "there are no repositories" in run(folder, "search", "anything")[1]
    assert "needs --repository" in run(folder, "search", "anything", "--collection", "x")[1]
    assert "searchMode" in run(folder, "search", "anything", "--mode", "magic")[1]
    empty = folder / "empty"
    empty.mkdir()
    assert "there are no files" in run(folder, "add", str(empty))[1]
