"""A repair keeps what it cannot read, and says what is and is not in its result. Bytes that change are in `test_damage.py`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest

from gateleg.engine import Engine, EngineError, check_integrity, repair
from gateleg.engine.file_repair import RepairReport, aside_path
from tests.engine.operations.requests import index, table
from tests.engine.world import text

ITEMS = [text(a=str(number), g="jazz") for number in range(5)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two tables with five items each; the first has an index, tags and a backup."""
    path = tmp_path / "data.db"
    with Engine(path, background=False) as engine:
        engine.call("CreateTable", {**table("a", defined=("a", "g"), GlobalSecondaryIndexes=[index("ByGenre", "g")]), "TableName": "Music"})
        engine.call("CreateTable", {**table("a"), "TableName": "Other"})
        for name in ("Music", "Other"):
            for item in ITEMS:
                engine.call("PutItem", {"TableName": name, "Item": item})
        engine.call("TagResource", {"ResourceArn": engine.namespace.arn("table/Music"), "Tags": [{"Key": "k", "Value": "v"}]})
        engine.call("CreateBackup", {"TableName": "Music", "BackupName": "Kept"})
    return path


def edit(path: Path, change: Callable[[dict[str, Any]], None], where: str = "catalog") -> None:
    """Change the stored definition of Music, as another version might write it."""
    with Engine(path, background=False) as engine:
        connection = engine.database.connection
        name = "name" if where == "catalog" else "table_name"
        (stored,) = connection.execute(f"SELECT definition FROM {where} WHERE {name} = 'Music'").fetchone() or (b"",)
        definition = orjson.loads(stored)
        change(definition)
        connection.execute(f"UPDATE {where} SET definition = ? WHERE {name} = 'Music'", (orjson.dumps(definition),))


def repaired(path: Path) -> tuple[RepairReport, dict[str, list[dict[str, Any]]]]:
    """The report of a repair, and the items of each table in its result."""
    target = path.parent / "new.db"
    before = path.read_bytes()
    report = repair(path, target)
    assert path.read_bytes() == before
    assert check_integrity(target) == []
    with Engine(target, background=False) as engine:
        names = engine.call("ListTables", {})["TableNames"]
        found = {name: sorted(engine.call("Scan", {"TableName": name})["Items"], key=str) for name in names}
    return report, found


def aside(path: Path) -> list[dict[str, Any]]:
    """The lines that were set aside."""
    return [json.loads(line) for line in aside_path(path.parent / "new.db").read_text().splitlines()]


def test_items_of_a_table_without_a_readable_definition_are_set_aside(path: Path) -> None:
    edit(path, lambda definition: definition.update(keys={"hash": "?"}))
    with pytest.raises(EngineError, match=r"cannot be read .* Nothing was changed.*keep the original"):
        Engine(path)
    report, found = repaired(path)
    assert found == {"Other": ITEMS}
    assert report.saved["Other"] == 5
    assert report.aside == {"Music": 5}
    assert not report.is_complete
    assert any(line.startswith("Music is not in the new database: ") for line in report.missing)
    first, *rows = aside(path)
    assert first["table"] == "Music"
    assert json.loads(first["definition"])["keys"] == {"hash": "?"}
    assert sorted((row["item"] for row in rows), key=str) == ITEMS
    assert aside_path(path.parent / "new.db").stat().st_mode & 0o777 == 0o600


def test_items_of_a_table_that_the_catalog_has_lost_are_set_aside(path: Path) -> None:
    with apsw.Connection(str(path), vfs="cksmvfs") as connection:
        connection.execute("DELETE FROM catalog WHERE name = 'Music'")
    connection.close()
    report, found = repaired(path)
    assert found == {"Other": ITEMS}
    assert list(report.aside.values()) == [5]
    assert sorted((row["item"] for row in aside(path)[1:]), key=str) == ITEMS


@pytest.mark.parametrize("name", ["namespace", "keys", "indexes"])
def test_a_definition_with_a_renamed_field_is_recovered_whole(path: Path, name: str) -> None:
    edit(path, lambda definition: definition.update({"another": definition.pop(name)}))
    with pytest.raises(EngineError, match=r"does not know \(another\): a later version wrote it. Nothing was changed"):
        Engine(path)
    report, found = repaired(path)
    assert found == {"Music": ITEMS, "Other": ITEMS}
    assert report.is_complete
    assert any("another" in note for note in report.notes)
    with Engine(path.parent / "new.db", background=False) as engine:
        assert engine.call("Scan", {"TableName": "Music", "IndexName": "ByGenre"})["Count"] == 5
        assert engine.call("ListTagsOfResource", {"ResourceArn": engine.namespace.arn("table/Music")})["Tags"]


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        (lambda definition: definition.update(colour="blue"), "the field 'colour'"),
        (lambda definition: definition.pop("tags"), "the field 'tags'"),
        (lambda definition: definition.pop("indexes"), "the field 'indexes'"),
        (lambda definition: definition["indexes"][0].update(colour="blue"), "the field 'colour' of the index ByGenre"),
    ],
)
def test_what_a_recovered_definition_lacks_is_said(path: Path, change: Callable[[dict[str, Any]], None], lacks: str) -> None:
    edit(path, change)
    report, found = repaired(path)
    assert found == {"Music": ITEMS, "Other": ITEMS}
    assert report.missing == [f"Music: its definition could not be read whole, and lacks {lacks}."]
    assert not report.is_complete


def test_a_definition_that_the_rows_contradict_is_not_believed(path: Path) -> None:
    edit(path, lambda definition: definition.update(colour="blue", keys={"hash": [{"name": "g", "type": "S"}], "range": []}))
    report, found = repaired(path)
    assert found == {"Other": ITEMS}
    assert report.aside == {"Music": 5}


def test_rows_of_a_backup_without_a_readable_definition_are_set_aside(path: Path) -> None:
    edit(path, lambda definition: definition.pop("keys"), "backups")
    report, found = repaired(path)
    assert found == {"Music": ITEMS, "Other": ITEMS}
    assert report.aside == {"backup Kept of Music": 5}
    assert not report.is_complete


def test_a_whole_file_is_repaired_without_a_word_of_loss(path: Path) -> None:
    report, found = repaired(path)
    assert found == {"Music": ITEMS, "Other": ITEMS}
    assert (report.is_complete, report.notes) == (True, [])
    assert not aside_path(path.parent / "new.db").exists()


def test_what_was_set_aside_is_not_overwritten(path: Path) -> None:
    aside_path(path.parent / "new.db").write_text("of an earlier repair")
    with pytest.raises(EngineError, match="exists already"):
        repair(path, path.parent / "new.db")
    assert not (path.parent / "new.db").exists()
