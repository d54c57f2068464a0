"""Bytes that change on the disk: they are noticed, named, and cost nothing but what they lie in."""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine, EngineError, check_integrity, compact, has_checksums, repair
from gateleg.engine.files import RESERVED_BYTES
from gateleg.engine.sqlite_pages import PAGE_SIZE, Pages
from tests.endpoint.fakes import Wire
from tests.engine.operations.requests import index

Items = dict[str, dict[str, Any]]

SONGS = {
    "TableName": "Songs",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "artist", "AttributeType": "S"},
        {"AttributeName": "year", "AttributeType": "N"},
        {"AttributeName": "genre", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "artist", "KeyType": "HASH"}, {"AttributeName": "year", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {**index("ByGenre", "genre"), "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}},
        index("All", "genre"),
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
PLAIN = {
    "TableName": "Plain",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
}


def songs() -> Iterator[dict[str, Any]]:
    for number in range(120):
        long = "text " * (700 if number % 10 == 0 else number % 60)
        yield {"artist": {"S": f"a{number % 7}"}, "year": {"N": str(number - 60)}, "genre": {"S": f"g{number % 3}"}, "note": {"S": long}}


def plain() -> Iterator[dict[str, Any]]:
    for number in range(150):
        yield {"id": {"B": f"{number:04d}"}, "data": {"S": "x" * (number * 7 % 300)}, "more": {"L": [{"N": str(number)}]}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with large and small items, indexes, a log, a backup and free pages; it is closed."""
    path = tmp_path_factory.mktemp("whole") / "data.db"
    with Engine(str(path), background=False) as engine:
        for definition, items in ((SONGS, songs()), (PLAIN, plain())):
            engine.call("CreateTable", definition)
            for item in items:
                engine.call("PutItem", {"TableName": definition["TableName"], "Item": item})
        engine.call("CreateBackup", {"TableName": "Plain", "BackupName": "Kept"})
        for number in range(0, 150, 4):
            engine.call("DeleteItem", {"TableName": "Plain", "Key": {"id": {"B": f"{number:04d}"}}})
    return path


def spelled(names: tuple[str, ...], item: dict[str, Any]) -> str:
    return orjson.dumps({name: item[name] for name in names}).decode()


KEYS = {"Songs": ("artist", "year"), "Plain": ("id",)}
EXPECTED: dict[str, Items] = {
    "Songs": {spelled(KEYS["Songs"], item): item for item in songs()},
    "Plain": {spelled(KEYS["Plain"], item): item for number, item in enumerate(plain()) if number % 4},
}
BACKED_UP = {spelled(KEYS["Plain"], item): item for item in plain()}


def damage(whole: Path, folder: Path, *places: int, bit: int = 1) -> Path:
    """A copy of the database in which bits are others."""
    path = folder / "data.db"
    content = bytearray(whole.read_bytes())
    for place in places:
        content[place] ^= bit
    folder.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def attempt(engine: Engine, operation: str, **request: Any) -> dict[str, Any] | None:
    """The answer; none if it is that the file is damaged."""
    try:
        return engine.call(operation, request)
    except EngineError as error:
        if not is_report(error) or "gateleg engine" not in str(error.message):
            raise
        return None


def is_report(error: EngineError) -> bool:
    """Whether an error says that the file is damaged."""
    return error.code == "InternalServerError" and "damaged" in str(error.message)


def read_everything(engine: Engine) -> bool:
    """Whether all could be read. What is read must be what was written."""
    whole = True
    for table, expected in EXPECTED.items():
        scanned = attempt(engine, "Scan", TableName=table)
        assert scanned is None or {spelled(KEYS[table], item): item for item in scanned["Items"]} == expected
        whole = whole and scanned is not None
        for item in expected.values():
            got = attempt(engine, "GetItem", TableName=table, Key={name: item[name] for name in KEYS[table]})
            assert got is None or got["Item"] == item
            whole = whole and got is not None
    for name in ("ByGenre", "All"):
        for genre in ("g0", "g1", "g2"):
            values = {":g": {"S": genre}}
            asked = {"KeyConditionExpression": "genre = :g", "ExpressionAttributeValues": values, "IndexName": name}
            found = attempt(engine, "Query", TableName="Songs", **asked)
            assert found is None or {spelled(KEYS["Songs"], item): item for item in found["Items"]} == {
                key: item for key, item in EXPECTED["Songs"].items() if item["genre"]["S"] == genre
            }
            whole = whole and found is not None
    return read_backup(engine) and read_stream(engine) and whole


def read_backup(engine: Engine) -> bool:
    listed = attempt(engine, "ListBackups")
    if listed is None:
        return False
    (backup,) = listed["BackupSummaries"]
    if attempt(engine, "RestoreTableFromBackup", BackupArn=backup["BackupArn"], TargetTableName="Restored") is None:
        return False
    scanned = attempt(engine, "Scan", TableName="Restored")
    assert scanned is None or {spelled(KEYS["Plain"], item): item for item in scanned["Items"]} == BACKED_UP
    return scanned is not None


def read_stream(engine: Engine) -> bool:
    described = attempt(engine, "ListStreams")
    if described is None:
        return False
    arn = described["Streams"][0]["StreamArn"]
    stream = attempt(engine, "DescribeStream", StreamArn=arn)
    if stream is None:
        return False
    shard = stream["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = attempt(engine, "GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records = None if iterator is None else attempt(engine, "GetRecords", ShardIterator=iterator["ShardIterator"])
    assert records is None or [record["dynamodb"]["NewImage"] for record in records["Records"]] == list(songs())
    return records is not None


def repaired(path: Path, *, unchanged: bool = True) -> tuple[dict[str, Items], set[str], Any]:
    """What a repair has saved of each table, the keys of what it says was lost, and its report."""
    target = path.parent / "new.db"
    before = path.read_bytes()
    report = repair(str(path), str(target))
    assert path.read_bytes() == before
    assert check_integrity(str(target)) == []
    with Engine(str(target), background=False) as engine:
        saved = {
            table: {spelled(KEYS[table], item): item for item in engine.call("Scan", {"TableName": table})["Items"]}
            for table in engine.call("ListTables", {})["TableNames"]
        }
        if unchanged and report.is_complete:
            assert read_everything(engine)
    return saved, {lost.key for lost in report.lost if not lost.table.startswith("backup")}, report


def survives(path: Path) -> bool:
    """Whether a damaged copy reads as if it were whole. Nothing wrong is read, all damage is reported, and the rest is saved."""
    original = path.read_bytes()
    faults = check_integrity(str(path))
    try:
        with Engine(str(path), background=False) as engine:
            harmless = read_everything(engine)
    except EngineError as error:
        if not is_report(error):
            raise
        harmless = False
    assert harmless or faults
    path.write_bytes(original)
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    saved, lost, report = repaired(path)
    for table, items in EXPECTED.items():
        kept = saved.get(table, {})
        assert all(items[key] == item for key, item in kept.items())
        assert items.keys() - kept.keys() <= lost or report.missing
    return harmless


@pytest.mark.parametrize("seed", range(24))
def test_a_byte_that_changes_is_harmless_or_reported_and_costs_no_other_item(whole: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    place = chance.randrange(whole.stat().st_size)
    survives(damage(whole, tmp_path, place, bit=1 << chance.randrange(8)))


@pytest.mark.parametrize("seed", range(24))
def test_a_stretch_of_bytes_that_changes_is_harmless_or_reported_too(whole: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    start = chance.randrange(PAGE_SIZE, whole.stat().st_size - 600)
    survives(damage(whole, tmp_path, *range(start, start + chance.choice((2, 30, 600))), bit=0x55))


@pytest.mark.parametrize("place", [0, 5, 16, 17, 18, 19, 20, 21, 24, 28, 31, 35, 39, 47, 56, 63, 71, 95, 100, 104, 108, 4000, 4090])
def test_the_beginning_of_the_file_may_be_damaged_too(whole: Path, tmp_path: Path, place: int) -> None:
    survives(damage(whole, tmp_path, place))


def root_of(whole: Path, name: str) -> int:
    connection = apsw.Connection(str(whole), flags=apsw.SQLITE_OPEN_READONLY)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone() or (0,)
    connection.close()
    return int(root)


@pytest.mark.parametrize("name", ["items_1", "sqlite_autoindex_items_1_1", "items_4", "index_2", "catalog", "changes", "meta", "backup_1"])
@pytest.mark.parametrize("within", [0, 3, 6, 10, 2000, 4086])
def test_the_root_of_a_table_may_be_damaged(whole: Path, tmp_path: Path, name: str, within: int) -> None:
    root = root_of(whole, name)
    assert root > 1
    place = (root - 1) * PAGE_SIZE + within
    assert not survives(damage(whole, tmp_path, place))
    shutil.rmtree(tmp_path)
    assert not survives(damage(whole, tmp_path, place, place + 1, bit=0x33))


def place_of(whole: Path, text: str) -> int:
    """Where a text lies in the rows of Plain, not in its backup or free pages."""
    with Engine(str(whole), background=False) as engine:
        wanted = f"items_{engine.catalog.layout(engine.namespace, 'Plain').table.id}"
    connection = apsw.Connection(str(whole), flags=apsw.SQLITE_OPEN_READONLY)
    numbers = [int(str(number)) for (number,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (wanted,))]
    connection.close()
    content = whole.read_bytes()
    (place,) = [  # one page holds it
        (number - 1) * PAGE_SIZE + at
        for number in numbers
        if (at := content[(number - 1) * PAGE_SIZE : number * PAGE_SIZE].find(text.encode())) >= 0
    ]
    return place


KEY = {"id": {"B": "0041"}}


@pytest.fixture
def hurt(whole: Path, tmp_path: Path) -> Path:
    """A database in which one item of Plain has another byte: still JSON, of the same size."""
    return damage(whole, tmp_path, place_of(whole, '{"id":{"B":"0041"}') + 40)


def test_a_damaged_item_is_an_error_that_names_it(hurt: Path) -> None:
    with Engine(str(hurt), background=False) as engine:
        requests: dict[str, dict[str, Any]] = {
            "GetItem": {"TableName": "Plain", "Key": KEY},
            "DeleteItem": {"TableName": "Plain", "Key": KEY},
            "BatchGetItem": {"RequestItems": {"Plain": {"Keys": [{"id": {"B": "0001"}}, KEY]}}},
            "TransactGetItems": {"TransactItems": [{"Get": {"TableName": "Plain", "Key": KEY}}]},
        }
        for operation, request in requests.items():
            with pytest.raises(EngineError) as caught:
                engine.call(operation, request)
            assert caught.value.code == "InternalServerError"
            assert str(caught.value.message).startswith('Table Plain: the item {"id":{"B":"0041"}} is damaged on the disk. ')
        with pytest.raises(EngineError, match="is damaged on the disk"):
            engine.call("GetItem", {"TableName": "Plain", "Key": KEY}).get("Item")


def test_a_scan_that_meets_a_damaged_item_fails_and_names_one_that_is(hurt: Path) -> None:
    with Engine(str(hurt), background=False) as engine:
        for extra in ({}, {"FilterExpression": "attribute_exists(id)"}):
            with pytest.raises(EngineError, match=r"^InternalServerError: Table Plain: the item \{.*\} is damaged on the disk") as caught:
                engine.call("Scan", {"TableName": "Plain", **extra})
            named = orjson.loads(str(caught.value.message).split("the item ")[1].split(" is damaged")[0])
            with pytest.raises(EngineError, match="is damaged on the disk"):
                engine.call("GetItem", {"TableName": "Plain", "Key": named})


def test_items_on_other_pages_stay_readable(hurt: Path) -> None:
    with Engine(str(hurt), background=False) as engine:
        got = [attempt(engine, "GetItem", TableName="Plain", Key={"id": item["id"]}) for item in EXPECTED["Plain"].values()]
        assert sum(answer is not None for answer in got) > len(got) * 3 // 4
        assert None in got
        assert attempt(engine, "Scan", TableName="Songs") is not None


def test_over_http_damage_is_an_error_and_never_broken_json(hurt: Path) -> None:
    with Engine(str(hurt), background=False) as engine, serve_in_thread(engine) as url, Wire(url) as wire:
        for operation, request in {"GetItem": {"TableName": "Plain", "Key": KEY}, "Scan": {"TableName": "Plain"}}.items():
            response = wire.ask(json.dumps(request).encode(), {"X-Amz-Target": f"DynamoDB_20120810.{operation}"})
            assert response.status == 500
            assert "is damaged on the disk" in json.loads(response.body)["message"]


def test_the_check_names_damaged_items(hurt: Path) -> None:
    faults = check_integrity(str(hurt))
    assert any(fault.startswith("page ") and fault.endswith("is corrupt") for fault in faults)
    assert 'Plain: the item {"id":{"B":"0041"}} cannot be read' in faults


def test_an_item_that_the_log_has_is_taken_from_there(whole: Path, tmp_path: Path) -> None:
    root = root_of(whole, "items_1")
    pages = Pages(whole)
    leaves = [cell.child for cell in pages.cells(root) if cell.child is not None]
    pages.close()
    path = damage(whole, tmp_path, *range((leaves[0] - 1) * PAGE_SIZE + 3000, (leaves[0] - 1) * PAGE_SIZE + 3010))
    saved, lost, report = repaired(path)
    assert saved["Songs"] == EXPECTED["Songs"]
    assert report.recovered["Songs"] > 0
    assert not lost


def test_a_single_wrong_bit_is_set_right(whole: Path, tmp_path: Path) -> None:
    saved, lost, report = repaired(damage(whole, tmp_path, root_of(whole, "catalog") * PAGE_SIZE - 200))
    assert saved == EXPECTED
    assert not lost
    assert report.notes == ["1 damaged pages had a single wrong bit, which was corrected."]


def old_format(whole: Path, folder: Path) -> Path:
    """The database as an earlier version would have written it: without checksums."""
    path = folder / "old.db"
    connection = apsw.Connection(str(whole), flags=apsw.SQLITE_OPEN_READONLY)
    new = apsw.Connection(str(path), vfs="unix")
    for kind in ("table", "index"):
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL", (kind,)):
            if not str(name).startswith("sqlite_"):
                new.execute(str(sql))
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        for row in connection.execute(f"SELECT * FROM {name}"):
            new.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    new.execute("PRAGMA application_id=0x476C6567; PRAGMA user_version=1; PRAGMA journal_mode=WAL").fetchall()
    connection.close()
    new.close()
    return path


def test_a_file_without_checksums_is_used_as_it_is_until_it_is_compacted(whole: Path, tmp_path: Path) -> None:
    path = old_format(whole, tmp_path)
    assert not has_checksums(str(path))
    assert check_integrity(str(path)) == []
    with Engine(str(path), background=False) as engine:
        assert read_everything(engine)
        engine.call("DeleteTable", {"TableName": "Restored"})
    assert not has_checksums(str(path))
    compact(str(path))
    assert has_checksums(str(path))
    assert check_integrity(str(path)) == []
    content = path.read_bytes()
    assert (content[20], int.from_bytes(content[60:64], "big"), content[18]) == (RESERVED_BYTES, 2, 2)
    with Engine(str(path), background=False) as engine:
        assert read_everything(engine)


def test_checksums_are_not_added_to_a_file_that_somebody_has_open(whole: Path, tmp_path: Path) -> None:
    path = old_format(whole, tmp_path)
    with Engine(str(path), background=False) as engine:
        assert engine.call("ListTables", {})
        with pytest.raises(EngineError, match="is in use"):
            compact(str(path))
        assert read_everything(engine)
    assert not has_checksums(str(path))


def test_without_checksums_broken_json_is_an_error_too(whole: Path, tmp_path: Path) -> None:
    path = old_format(whole, tmp_path)
    with Engine(str(path), background=False) as engine:
        layout = engine.catalog.layout(engine.namespace, "Plain")
        engine.database.connection.execute(f"UPDATE {layout.name} SET v = X'7B22' WHERE k = ?", (layout.key(KEY),))
        requests: dict[str, dict[str, Any]] = {"GetItem": {"TableName": "Plain", "Key": KEY}, "Scan": {"TableName": "Plain"}}
        for operation, request in requests.items():
            for call in (engine.call, lambda operation, request: engine.call_json(operation, orjson.dumps(request))):
                with pytest.raises(EngineError, match="damaged"):
                    call(operation, request)
    saved, lost, _ = repaired(path)
    assert lost == {orjson.dumps(KEY).decode()}
    assert saved["Plain"] == {key: item for key, item in EXPECTED["Plain"].items() if key not in lost}


def test_a_repair_takes_a_file_that_nobody_has_open_and_makes_a_new_one(hurt: Path, tmp_path: Path) -> None:
    with Engine(str(hurt), background=False), pytest.raises(EngineError, match="is in use"):
        repair(str(hurt), str(tmp_path / "new.db"))
    with pytest.raises(EngineError, match="exists already"):
        repair(str(hurt), str(hurt))
    with pytest.raises(EngineError, match="does not exist"):
        repair(str(tmp_path / "nothing.db"), str(tmp_path / "new.db"))
    assert not (tmp_path / "new.db").exists()


def test_a_repair_takes_what_is_only_in_the_log(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "live.db"
    shutil.copyfile(whole, path)
    with Engine(str(path), background=False) as engine:
        engine.call("PutItem", {"TableName": "Plain", "Item": {"id": {"B": "9999"}}})
        shutil.copyfile(f"{path}-wal", tmp_path / "data.db-wal")
        shutil.copyfile(path, tmp_path / "data.db")
    saved, lost, _ = repaired(tmp_path / "data.db", unchanged=False)
    assert not lost
    assert saved["Plain"] == {**EXPECTED["Plain"], '{"id":{"B":"9999"}}': {"id": {"B": "9999"}}}


@pytest.mark.parametrize("name", ["items_1", "items_4"])
def test_a_table_whose_root_is_gone_is_saved_whole_as_by_no_other_way(whole: Path, tmp_path: Path, name: str) -> None:
    start = (root_of(whole, name) - 1) * PAGE_SIZE
    path = damage(whole, tmp_path, *range(start, start + PAGE_SIZE), bit=0x55)
    table = "Songs" if name == "items_1" else "Plain"
    with Engine(str(path), background=False) as engine, pytest.raises(EngineError, match="damaged"):
        engine.call("Scan", {"TableName": table})
    with pytest.raises(EngineError, match="damaged"):
        compact(str(path))
    # Nor does SQLite read the table, even if it does not look at the checksums.
    copy = shutil.copyfile(path, tmp_path / "copy.db")
    connection = apsw.Connection(str(copy), vfs="unix")
    for statement in (f"SELECT * FROM {name}", f"SELECT * FROM {name} ORDER BY k", f"VACUUM INTO '{tmp_path}/vacuumed.db'", "VACUUM"):
        with pytest.raises(apsw.CorruptError):
            connection.execute(statement).fetchall()
    connection.close()
    saved, lost, report = repaired(path)
    assert saved == EXPECTED
    assert not lost
    assert report.is_complete
    assert report.recovered == {table: len(EXPECTED[table])}


@pytest.mark.parametrize("pages", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
def test_what_was_in_the_end_of_a_file_that_has_been_cut_is_named(whole: Path, tmp_path: Path, pages: int) -> None:
    path = tmp_path / "data.db"
    path.write_bytes(whole.read_bytes()[: pages * PAGE_SIZE])
    saved, lost, report = repaired(path)
    assert not report.is_complete
    named = " ".join((*report.missing, *report.aside))
    for number, (table, items) in {1: ("Songs", EXPECTED["Songs"]), 4: ("Plain", EXPECTED["Plain"])}.items():
        kept = saved.get(table, {})
        assert all(items[key] == item for key, item in kept.items())
        assert items.keys() - kept.keys() <= lost or f"Items of {table} " in named or f"table number {number} is not" in named


@pytest.mark.parametrize("size", [0, 20, PAGE_SIZE - 1])
def test_a_file_without_a_whole_page_has_nothing_to_save(whole: Path, tmp_path: Path, size: int) -> None:
    path = tmp_path / "data.db"
    path.write_bytes(whole.read_bytes()[:size])
    with pytest.raises(EngineError, match="no whole page"):
        repair(path, tmp_path / "new.db")
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.db"]


def damage_row(path: Path, rows: str, key: bytes) -> None:
    """Change the page that has the row of a key, in its content."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    numbers = [int(str(number)) for (number,) in connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (rows,))]
    connection.close()
    content = bytearray(path.read_bytes())
    (place,) = [
        (number - 1) * PAGE_SIZE + at for number in numbers if (at := content[(number - 1) * PAGE_SIZE : number * PAGE_SIZE].find(key)) >= 0
    ]
    for at in range(place + len(key) + 6, place + len(key) + 10):
        content[at] ^= 0x15
    path.write_bytes(content)


def test_a_lost_row_of_a_backup_is_not_replaced_by_what_the_table_has_since(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with Engine(str(path), background=False) as engine:
        engine.call("CreateTable", SONGS)
        old, new = ({"artist": {"S": "a"}, "year": {"N": "1"}, "note": {"S": note}} for note in ("as backed up", "changed since"))
        engine.call("PutItem", {"TableName": "Songs", "Item": old})
        engine.call("CreateBackup", {"TableName": "Songs", "BackupName": "Kept"})
        engine.call("PutItem", {"TableName": "Songs", "Item": new})
        key = engine.catalog.layout(engine.namespace, "Songs").key(old)
    damage_row(path, "backup_1", key)
    report = repair(path, tmp_path / "new.db")
    assert [lost.table for lost in report.lost] == ["backup Kept of Songs"]
    assert not report.is_complete
    with Engine(str(tmp_path / "new.db"), background=False) as engine:
        assert engine.call("Scan", {"TableName": "Songs"})["Items"] == [new]
        (backup,) = engine.call("ListBackups", {})["BackupSummaries"]
        engine.call("RestoreTableFromBackup", {"BackupArn": backup["BackupArn"], "TargetTableName": "Restored"})
        assert engine.call("Scan", {"TableName": "Restored"})["Items"] == []


def test_a_lost_item_is_not_replaced_by_one_that_was_logged_before_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    stream = SONGS["StreamSpecification"]
    with Engine(str(path), background=False) as engine:
        engine.call("CreateTable", {**PLAIN, "TableName": "Songs", "StreamSpecification": stream})
        item = {"id": {"B": "0001"}, "note": {"S": "logged"}}
        engine.call("PutItem", {"TableName": "Songs", "Item": item})
        engine.call("UpdateTable", {"TableName": "Songs", "StreamSpecification": {"StreamEnabled": False}})
        engine.call("PutItem", {"TableName": "Songs", "Item": {**item, "note": {"S": "not logged"}}})
        engine.call("UpdateTable", {"TableName": "Songs", "StreamSpecification": stream})
        key = engine.catalog.layout(engine.namespace, "Songs").key(item)
    damage_row(path, "items_1", key)
    report = repair(path, tmp_path / "new.db")
    assert [lost.table for lost in report.lost] == ["Songs"]
    with Engine(str(tmp_path / "new.db"), background=False) as engine:
        assert engine.call("Scan", {"TableName": "Songs"})["Items"] == []
