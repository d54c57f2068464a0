"""Files of every form that was ever stored open, keep what is in them, and can be written, checked, compacted and repaired."""

import multiprocessing
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import apsw
import orjson
import pytest

from gateleg.engine import Engine, check_integrity, compact, file_format, files, has_checksums, repair
from gateleg.engine.file_format import FORMAT, UPGRADED_FORMAT, dump_table, is_former_definition, load_table
from gateleg.engine.schema import Index, KeyAttribute, KeySchema, Namespace, Table
from tests.engine.formats import history, scenario
from tests.engine.formats.history import COMMITS, HERE, REPOSITORY, form, run_scenario

NOW = scenario.START + 3600

TABLE = Table(
    id=7,
    uuid="u",
    namespace=Namespace("123456789012", "us-east-1"),
    name="Songs",
    created=1.5,
    definitions={"a": "S", "b": "N"},
    keys=KeySchema((KeyAttribute("a", "S"),), (KeyAttribute("b", "N"),)),
    indexes=(Index(8, "ByB", "GSI", KeySchema((KeyAttribute("b", "N"),)), "INCLUDE", ("c",), "CREATING", {"WarmThroughput": {}}),),
    status="CREATING",
    stream="KEYS_ONLY",
    stream_label="label",
    ttl="until",
    recovery_since=2.5,
    recovery_days=3,
    restoring=True,
    copies=("backup_1",),
    tags={"realm": "x"},
    settings={"BillingMode": "PAY_PER_REQUEST"},
)
STORED = {
    "id": 7,
    "uuid": "u",
    "namespace": ["123456789012", "us-east-1"],
    "name": "Songs",
    "created": 1.5,
    "definitions": {"a": "S", "b": "N"},
    "keys": {"hash": [{"name": "a", "type": "S"}], "range": [{"name": "b", "type": "N"}]},
    "indexes": [
        {
            "id": 8,
            "name": "ByB",
            "kind": "GSI",
            "keys": {"hash": [{"name": "b", "type": "N"}], "range": []},
            "projection": "INCLUDE",
            "include": ["c"],
            "status": "CREATING",
            "settings": {"WarmThroughput": {}},
        }
    ],
    "status": "CREATING",
    "stream": "KEYS_ONLY",
    "stream_label": "label",
    "ttl": "until",
    "recovery_since": 2.5,
    "recovery_days": 3,
    "restoring": True,
    "copies": ["backup_1"],
    "tags": {"realm": "x"},
    "settings": {"BillingMode": "PAY_PER_REQUEST"},
}

Golden = tuple[Path, dict[str, Any]]


def unpack(commit: str, folder: Path) -> Golden:
    """The file that a commit wrote, and what its own code said of it."""
    path, answer = history.unpack(HERE / f"{commit}.zip", folder)
    return path, answer["content"]


@pytest.fixture(params=COMMITS)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    """A file, and its content."""
    return unpack(request.param, tmp_path)


def opened(path: Path, now: float = NOW) -> Engine:
    return Engine(path, clock=lambda: now, background=False)


def number(path: Path) -> int:
    """The number of a file's format."""
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone() or (0,)
    connection.close()
    return int(found)


def differences(now: Any, before: Any, place: str = "") -> list[str]:
    """Where content is not what it was. An index that was not filled yet may be, and what an old version could not tell may be told."""
    if isinstance(now, dict) and isinstance(before, dict):
        return [fault for key in before for fault in differences(now.get(key), before[key], f"{place}/{key}")]
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before) and place.count("/") < 6:
        return [fault for i in range(len(now)) for fault in differences(now[i], before[i], f"{place}[{i}]")]
    return [] if now == before or (before is None and "/indexes/" in place) else [f"{place}: {now!r} was {before!r}"]


def test_what_is_in_a_file_is_read(golden: Golden) -> None:
    path, content = golden
    with opened(path) as engine:
        assert differences(scenario.content(engine), content) == []


def test_a_file_has_no_faults_before_it_is_opened_nor_after(golden: Golden) -> None:
    path, _ = golden
    original = path.read_bytes()
    assert check_integrity(path) == []
    assert path.read_bytes() == original
    opened(path).close()
    assert check_integrity(path) == []


def test_a_file_of_an_earlier_form_gets_another_number(golden: Golden) -> None:
    path, _ = golden
    before = number(path)
    former = any(is_former_definition(definition) for definition in definitions(path))
    opened(path).close()
    assert number(path) == (before + 2 if former else before)
    assert not any(is_former_definition(definition) for definition in definitions(path))


def definitions(path: Path) -> list[bytes]:
    """The stored definitions of tables and backups."""
    with apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE name IN ('catalog', 'backups')")}
        found = [definition for name in sorted(names) for (definition,) in connection.execute(f"SELECT definition FROM {name}")]
    connection.close()
    return found


def test_work_that_was_begun_is_finished(golden: Golden) -> None:
    path, content = golden
    with opened(path) as engine:
        engine.maintain()
        found = scenario.content(engine)
        rows = found["tables"]["Copied"]["items"]
        assert len(rows) == 8
        if "ByGroup" in found["tables"]["Filling"]["indexes"]:
            assert len(found["tables"]["Filling"]["indexes"]["ByGroup"][2]) == 8
        assert all(status == "AVAILABLE" for *_, status in found.get("backups", []))
        assert "Dropped" not in found["tables"]
        for backup in engine.call("ListBackups", {"BackupType": "ALL"})["BackupSummaries"]:
            target = f"{backup['TableName']}.{backup['BackupName'][:4]}"
            engine.call("RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": target})
        engine.maintain()
        restored = scenario.content(engine)["tables"]
        if "Copied.Begu" in restored:
            assert restored["Copied.Begu"]["items"] == rows
        if "Songs.Kept" in restored:
            late = {"artist": {"S": "late"}, "year": {"N": "1"}, "genre": {"S": "jazz"}}
            assert restored["Songs.Kept"]["items"] == [item for item in content["tables"]["Songs"]["items"] if item != late]
        if "Gone.Gone" in restored:
            assert restored["Gone.Gone"]["items"] == [{"id": {"S": "kept in a system backup"}}]
    assert check_integrity(path) == []


def test_items_of_a_file_are_changed_expired_and_restored(golden: Golden) -> None:
    path, content = golden
    items = content["tables"]["Songs"]["items"]
    with opened(path) as engine:
        for item in items[:3]:
            key = {name: item[name] for name in ("artist", "year")}
            change = {
                "UpdateExpression": "SET genre = :g, rating = :n",
                "ExpressionAttributeValues": {":g": {"S": "new"}, ":n": {"N": "9"}},
            }
            engine.call("UpdateItem", {"TableName": "Songs", "Key": key, **change})
        engine.call("DeleteItem", {"TableName": "Songs", "Key": {name: items[3][name] for name in ("artist", "year")}})
        found = engine.call("Scan", {"TableName": "Songs", "IndexName": "ByGenre"})["Items"]
        assert sum(item["genre"] == {"S": "new"} for item in found) == 3
        engine.call("CreateBackup", {"TableName": "Texts", "BackupName": "New"})
        engine.maintain()
        if content["tables"]["Songs"].get("recovery") == "ENABLED":
            asked = {"SourceTableName": "Songs", "TargetTableName": "Before", "RestoreDateTime": NOW - 1}
            engine.call("RestoreTableToPointInTime", asked)
            engine.maintain()
            assert scenario.content(engine)["tables"]["Before"]["items"] == items
    assert check_integrity(path) == []
    with opened(path, scenario.START + 20_000_000) as engine:
        engine.maintain()
        assert engine.call("Scan", {"TableName": "Expiring"})["Items"] == []
        assert not [item for item in engine.call("Scan", {"TableName": "Songs"})["Items"] if "until" in item]
    assert check_integrity(path) == []


def test_a_token_is_still_known(golden: Golden) -> None:
    path, content = golden
    used = [{"Put": {"TableName": "Texts", "Item": {"id": {"S": "in a transaction"}}}}]
    request = {"ClientRequestToken": "token-1", "TransactItems": used, "ReturnConsumedCapacity": "TOTAL"}
    with opened(path, scenario.START + 100) as engine:
        items = content["tables"]["Texts"]["items"]
        engine.call("DeleteItem", {"TableName": "Texts", "Key": {"id": {"S": "in a transaction"}}})
        engine.call("TransactWriteItems", request)
        left = engine.call("Scan", {"TableName": "Texts"})["Items"]
    assert len(left) == len(items) - 1  # the repeated transaction wrote nothing


def test_files_of_earlier_forms_are_compacted(golden: Golden) -> None:
    path, content = golden
    compact(path)
    assert has_checksums(path)
    assert number(path) % 2 == 0
    assert check_integrity(path) == []
    with opened(path) as engine:
        assert differences(scenario.content(engine)["tables"], content["tables"]) == []


def test_a_repair_of_a_file_of_an_earlier_form_brings_all_of_it(golden: Golden, tmp_path: Path) -> None:
    path, content = golden
    before = path.read_bytes()
    report = repair(path, tmp_path / "new.db")
    assert (report.lost, report.aside) == ([], {})
    assert all(missing == "The backup Begun of Copied was in progress and is incomplete: create it again." for missing in report.missing)
    assert path.read_bytes() == before
    assert check_integrity(tmp_path / "new.db") == []
    with opened(tmp_path / "new.db") as engine:
        found = scenario.content(engine)
    assert differences(found, {name: content[name] for name in content if name != "backups"}) == []
    complete = [backup for backup in content.get("backups", []) if backup[-1] == "AVAILABLE"]
    assert [backup for backup in found.get("backups", []) if backup[-1] == "AVAILABLE"] == complete


@pytest.mark.parametrize("commit", ["3bb955ec", "b79ef90a"])
def test_an_upgrade_that_is_killed_leaves_the_file_as_it_was(commit: str, tmp_path: Path) -> None:
    path, content = unpack(commit, tmp_path)
    before = number(path)
    process = multiprocessing.get_context("spawn").Process(target=_die_during_the_upgrade, args=(str(path),))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert number(path) == before
    with opened(path) as engine:
        assert differences(scenario.content(engine), content) == []
    assert number(path) == before + 2


def _die_during_the_upgrade(path: str) -> None:
    def die(_: apsw.Connection) -> None:
        os._exit(9)

    with patch.object(file_format, "record_upgrade", die):  # the last statement of the upgrade
        opened(Path(path))


def test_an_upgrade_waits_for_a_writer_and_happens_once(tmp_path: Path) -> None:
    path, content = unpack("b79ef90a", tmp_path)
    other = apsw.Connection(str(path), vfs=files.vfs())
    other.execute("BEGIN IMMEDIATE")
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[Any] = context.Queue()
    processes = [context.Process(target=_open_and_put, args=(str(path), number, answers)) for number in range(3)]
    for process in processes:
        process.start()
    other.execute("COMMIT")
    other.close()
    assert [answers.get(timeout=60) for _ in processes] == ["ok"] * 3
    for process in processes:
        process.join()
    assert number(path) == UPGRADED_FORMAT
    with opened(path) as engine:
        assert len(engine.call("Scan", {"TableName": "Texts"})["Items"]) == len(content["tables"]["Texts"]["items"]) + 3
    assert check_integrity(path) == []


def _open_and_put(path: str, number: int, answers: "multiprocessing.Queue[Any]") -> None:
    try:
        with opened(Path(path)) as engine:
            engine.call("PutItem", {"TableName": "Texts", "Item": {"id": {"S": f"process {number}"}}})
        answers.put("ok")
    except BaseException as error:
        answers.put(repr(error))
        raise


def test_what_is_stored_has_not_changed_without_a_new_format(tmp_path: Path) -> None:
    """If this fails, what the engine stores has changed. Then: give it the next numbers in `file_format.py`, write an upgrade in
    `catalog.py`, and after the commit add a golden file of it (`history.py`). A file of the last form is the last of COMMITS."""
    answer = run_scenario(REPOSITORY, tmp_path / "data.db")
    assert answer is not None
    assert answer["unknown"] == []
    path, content = unpack(list(COMMITS)[-1], tmp_path / "golden")
    assert answer["content"] == content
    assert form(tmp_path / "data.db") == form(path)
    assert number(tmp_path / "data.db") == FORMAT


def test_the_names_of_stored_fields_are_what_they_were() -> None:
    """The names are on people's disks: an attribute may be renamed in Python, a name here may not."""
    assert orjson.loads(dump_table(TABLE)) == STORED
    assert load_table(orjson.dumps(STORED)) == TABLE
