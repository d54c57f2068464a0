"""Backups and restores of tables that are too large for one transaction, while writers go on."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import long_work
from gateleg.engine.engine import Engine
from gateleg.engine.file_repair import repair
from gateleg.engine.integrity import check_integrity, compact
from tests.engine.operations.requests import index
from tests.engine.world import World, text


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((long_work, "SMALL_TABLE_ROWS"), (long_work, "TABLE_CHUNK_ROWS")):
        monkeypatch.setattr(module, name, 3)
    monkeypatch.setattr(long_work, "STEP_SECONDS", 0)


@pytest.fixture
def music(world: World) -> World:
    """A table of ten items."""
    world.create("a")
    for number in range(10):
        world.put(text(a=str(number), b="as it was"))
    return world


def backup(world: World) -> str:
    arn: str = world.call("CreateBackup", TableName="Music", BackupName="first")["BackupDetails"]["BackupArn"]
    return arn


def details(world: World, arn: str) -> dict[str, Any]:
    found: dict[str, Any] = world.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
    return found


def restored(world: World, arn: str, name: str = "Restored") -> list[Any]:
    world.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=name)
    world.engine.maintain()
    return world.items(name)


def step(world: World) -> None:
    """One transaction of each copy that is under way."""
    for target in long_work.copy_targets(world.engine.database.connection):
        copy = world.engine._maintenance._find_copy(target)
        assert copy is not None
        world.engine._maintenance._advance_copy(copy)


def status(world: World, name: str = "Restored") -> str:
    found: str = world.call("DescribeTable", TableName=name)["Table"]["TableStatus"]
    return found


_KEYS = [str(number) for number in range(14)]
_writes = st.lists(st.tuples(st.sampled_from(["put", "delete", "update", "batch", "step"]), st.sampled_from(_KEYS)), max_size=40)


def write(world: World, kind: str, key: str) -> None:
    """Change one row in one of the ways in which rows are changed."""
    if kind == "put":
        world.put(text(a=key, b="put"))
    elif kind == "delete":
        world.delete(text(a=key))
    elif kind == "batch":
        world.call("BatchWriteItem", RequestItems={"Music": [{"PutRequest": {"Item": text(a=key, b="batch")}}]})
    elif kind == "update":
        change = {"UpdateExpression": "SET b = :b", "ExpressionAttributeValues": text(**{":b": "updated"})}
        world.call("UpdateItem", TableName="Music", Key=text(a=key), **change)
    else:
        step(world)


@given(before=_writes, during=_writes)
def test_a_backup_holds_what_the_table_held_when_it_was_begun(before: list[tuple[str, str]], during: list[tuple[str, str]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_work, "SMALL_TABLE_ROWS", 2)
        patch.setattr(long_work, "TABLE_CHUNK_ROWS", 2)
        world = World()
        world.create("a")
        for number in range(6):
            world.put(text(a=str(number), b="as it was"))
        for kind, key in before:
            write(world, kind, key)
        held = world.items()
        arn = backup(world)
        for kind, key in during:
            write(world, kind, key)
        after = world.items()
        world.engine.maintain()
        assert restored(world, arn) == held
        assert world.items() == after
        found = details(world, arn)
        assert found["BackupStatus"] == "AVAILABLE"
        assert found["BackupSizeBytes"] == sum(len(item["a"]["S"]) + len(item["b"]["S"]) + 2 for item in held)
        world.engine.close()


@given(before=_writes, since=_writes, during=_writes)
def test_a_table_is_restored_to_a_moment_while_it_is_written_to(
    before: list[tuple[str, str]], since: list[tuple[str, str]], during: list[tuple[str, str]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_work, "TABLE_CHUNK_ROWS", 2)
        world = World()
        world.create("a")
        world.recoverable()
        for kind, key in before:
            write(world, kind, key)
        held, moment = world.items(), world.now
        world.now += 10
        for kind, key in since:
            write(world, kind, key)
        world.call("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=moment)
        world.now += 10
        for kind, key in during:
            write(world, kind, key)
        world.engine.maintain()
        assert world.items("Restored") == held
        world.engine.close()


def test_a_new_row_in_the_place_of_one_that_is_gone_is_not_taken_for_it(music: World) -> None:
    music.delete(text(a="8"))
    held = music.items()
    arn = backup(music)
    music.delete(text(a="9"))  # the last row: the next one gets the number after 7, which was free when the backup was begun
    music.put(text(a="new", b="later"))
    music.engine.maintain()
    assert restored(music, arn) == held


def test_a_backup_is_being_created_until_all_rows_are_there(music: World) -> None:
    arn = backup(music)
    assert details(music, arn)["BackupStatus"] == "CREATING"
    assert music.call("ListBackups")["BackupSummaries"][0]["BackupStatus"] == "CREATING"
    music.engine.maintain()
    assert details(music, arn)["BackupStatus"] == "AVAILABLE"


def test_a_backup_that_is_being_created_cannot_be_used(music: World) -> None:
    arn = backup(music)
    for operation, request in (
        ("DeleteBackup", {"BackupArn": arn}),
        ("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": "Restored"}),
        ("CreateBackup", {"TableName": "Music", "BackupName": "second"}),
    ):
        assert music.refusal(operation, **request).code == "BackupInUseException"


def test_a_table_that_is_backed_up_cannot_be_deleted(music: World) -> None:
    backup(music)
    error = music.refusal("DeleteTable", TableName="Music")
    assert error.code == "ResourceInUseException"
    assert "is being backed up" in str(error.message)
    music.engine.maintain()
    music.call("DeleteTable", TableName="Music")


def test_a_backup_that_is_restored_cannot_be_deleted(music: World) -> None:
    arn = backup(music)
    music.engine.maintain()
    music.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    assert music.refusal("DeleteBackup", BackupArn=arn).code == "BackupInUseException"
    music.engine.maintain()
    music.call("DeleteBackup", BackupArn=arn)


def test_a_table_that_is_restored_is_not_there_for_items(music: World) -> None:
    arn = backup(music)
    music.engine.maintain()
    music.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    assert status(music) == "CREATING"
    for operation, request in (
        ("GetItem", {"Key": text(a="1")}),
        ("PutItem", {"Item": text(a="1")}),
        ("UpdateItem", {"Key": text(a="1")}),
        ("Scan", {}),
    ):
        assert music.refusal(operation, TableName="Restored", **request).code == "ResourceNotFoundException"
    assert music.refusal("DeleteTable", TableName="Restored").code == "ResourceInUseException"
    assert music.refusal("CreateBackup", TableName="Restored", BackupName="second").code == "TableInUseException"
    music.engine.maintain()
    assert music.items("Restored") == music.items()


def test_the_indexes_of_a_restored_table_are_filled_once_its_rows_are_there(world: World) -> None:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    for number in range(10):
        world.put(text(a=str(number), b=f"b{number % 3}"))
    arn = backup(world)
    world.engine.maintain()
    assert restored(world, arn) == world.items()
    assert world.items("Restored", IndexName="by-b") == world.items()


def test_changes_that_a_restore_will_undo_are_not_forgotten(music: World) -> None:
    music.recoverable(RecoveryPeriodInDays=1)
    held, moment = music.items(), music.now
    music.now += 1
    for number in range(10):
        music.put(text(a=str(number), b="changed"))
    music.call("RestoreTableToPointInTime", SourceTableName="Music", TargetTableName="Restored", RestoreDateTime=moment)
    music.recoverable(False)
    music.now += 2 * 86400
    music.engine._maintenance._trim_history()
    music.engine.maintain()
    assert music.items("Restored") == held


def test_an_update_that_was_worked_out_before_a_backup_keeps_the_row(music: World) -> None:
    change = {"UpdateExpression": "SET b = :b", "ExpressionAttributeValues": text(**{":b": "updated"})}
    request = {"TableName": "Music", "Key": text(a="9"), **change}
    music.call("UpdateItem", **request)
    held = music.items()
    later = music.engine.prepare_call("UpdateItem", {**request, "ExpressionAttributeValues": text(**{":b": "again"})})
    arn = backup(music)
    later()
    music.engine.maintain()
    assert restored(music, arn) == held


def test_a_writer_in_another_process_keeps_rows_for_a_backup(tmp_path: Path) -> None:
    first, second = World(tmp_path / "music.db"), World(tmp_path / "music.db")
    first.create("a")
    for number in range(10):
        first.put(text(a=str(number), b="as it was"))
    held = second.items()
    arn = backup(first)
    for number in range(10):
        second.put(text(a=str(number), b="changed"))
    second.engine.maintain()
    assert restored(first, arn) == held
    first.engine.close()
    second.engine.close()


def test_a_backup_goes_on_in_the_next_process(tmp_path: Path) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    for number in range(10):
        world.put(text(a=str(number), b="as it was"))
    held = world.items()
    arn = backup(world)
    world.engine.close()
    again = World(tmp_path / "music.db")
    again.put(text(a="9", b="changed"))
    again.engine.maintain()
    assert restored(again, arn) == held
    assert check_integrity(again.engine.path) == []
    again.engine.close()


@pytest.mark.parametrize("kind", ["backup", "restore"])
def test_compacting_finishes_what_is_half_done(tmp_path: Path, kind: str) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    chance = random.Random(1)
    for number in range(40):
        world.put(text(a=str(number), b="as it was"))
    for number in chance.sample(range(40), 20):
        world.delete(text(a=str(number)))
    held = world.items()
    arn = backup(world)
    if kind == "restore":
        world.engine.maintain()
        world.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    step(world)
    world.engine.close()
    compact(world.engine.path)
    again = World(tmp_path / "music.db")
    again.put(text(a="9", b="changed"))
    again.engine.maintain()
    assert (restored(again, arn) if kind == "backup" else again.items("Restored")) == held
    again.engine.close()


def test_repairing_leaves_out_what_is_half_done(tmp_path: Path) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    for number in range(10):
        world.put(text(a=str(number), b="as it was"))
    arn = backup(world)
    world.engine.maintain()
    world.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    world.call("CreateBackup", TableName="Music", BackupName="second")
    world.call("CreateTable", **_like_music("Gone"))
    for number in range(10):
        world.put(text(a=str(number)), "Gone")
    world.call("DeleteTable", TableName="Gone")
    held = world.items()
    world.engine.close()
    report = repair(str(tmp_path / "music.db"), str(tmp_path / "repaired.db"))
    assert [note for note in report.missing if "was lost" in note] == []
    assert "Restored was being restored, and is not complete: restore it again." in report.missing
    assert "The backup second of Music was in progress and is incomplete: create it again." in report.missing
    again = World(tmp_path / "repaired.db")
    assert again.items() == held
    assert [summary["BackupName"] for summary in again.call("ListBackups")["BackupSummaries"]] == ["first"]
    assert restored(again, arn) == held
    again.engine.close()


def _like_music(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
    }


def test_backups_of_earlier_versions_can_be_restored(music: World) -> None:
    held = music.items()
    arn = backup(music)
    music.engine.maintain()
    connection = music.engine.database.connection
    connection.execute("ALTER TABLE backup_1 RENAME TO later")
    connection.execute("CREATE TABLE backup_1(k BLOB PRIMARY KEY, size INTEGER NOT NULL, v BLOB NOT NULL) WITHOUT ROWID")
    connection.execute("INSERT INTO backup_1 SELECT k, size, v FROM later")
    assert restored(music, arn) == held
    music.call("DeleteBackup", BackupArn=arn)
    music.engine.maintain()
    assert music.engine.database.rows("SELECT name FROM sqlite_schema WHERE name = 'backup_1'") == []


def test_files_of_earlier_versions_are_opened(tmp_path: Path) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    world.put(text(a="x"))
    world.engine.database.connection.execute("DROP TABLE copies; DROP TABLE drops; DELETE FROM meta WHERE name = 'upkeep'")
    world.engine.close()
    again = World(tmp_path / "music.db")
    again.call("CreateBackup", TableName="Music", BackupName="first")
    assert again.items() == [text(a="x")]
    again.engine.close()


@pytest.mark.parametrize("what", ["table", "index", "backup"])
def test_large_tables_are_removed_bit_by_bit(world: World, what: str) -> None:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    for number in range(10):
        world.put(text(a=str(number), b=f"b{number % 3}"))
    before = {name for (name,) in world.engine.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if what == "backup":
        arn = backup(world)
        world.engine.maintain()
        world.call("DeleteBackup", BackupArn=arn)
    elif what == "index":
        world.call("UpdateTable", TableName="Music", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-b"}}])
    else:
        world.call("DeleteTable", TableName="Music")
    assert world.engine.database.row("SELECT count(*) > 0 FROM drops") == (1,)
    world.engine.maintain()
    assert world.engine.database.row("SELECT count(*) FROM drops") == (0,)
    after = {name for (name,) in world.engine.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    gone = {name.rpartition("_")[0] for name in before - after}
    assert gone == {"table": {"items", "index"}, "index": {"index"}, "backup": set()}[what]


def test_a_table_can_be_made_anew_while_the_old_one_is_being_removed(music: World) -> None:
    music.call("DeleteTable", TableName="Music")
    music.create("a")
    music.put(text(a="new"))
    music.engine.maintain()
    assert music.items() == [text(a="new")]


def test_another_process_does_not_find_what_was_dropped(tmp_path: Path) -> None:
    first, second = World(tmp_path / "music.db"), World(tmp_path / "music.db")
    first.create("a")
    for number in range(10):
        first.put(text(a=str(number)))
    assert second.call("GetItem", TableName="Music", Key=text(a="1")) == {"Item": text(a="1")}
    first.call("DeleteTable", TableName="Music")
    assert second.refusal("GetItem", TableName="Music", Key=text(a="1")).code == "ResourceNotFoundException"
    assert second.refusal("Scan", TableName="Music").code == "ResourceNotFoundException"
    first.engine.close()
    second.engine.close()


def test_another_process_finds_what_has_been_restored(tmp_path: Path) -> None:
    first, second = World(tmp_path / "music.db"), World(tmp_path / "music.db")
    first.create("a")
    for number in range(10):
        first.put(text(a=str(number)))
    arn = backup(first)
    first.engine.maintain()
    first.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="Restored")
    assert second.refusal("Scan", TableName="Restored").code == "ResourceNotFoundException"
    first.engine.maintain()
    assert second.items("Restored") == first.items()
    first.engine.close()
    second.engine.close()


def test_one_process_at_a_time_takes_the_steps(tmp_path: Path) -> None:
    first, second = World(tmp_path / "music.db"), World(tmp_path / "music.db")
    for world in (first, second):
        world.engine._maintenance._thread = threading.current_thread()
    connection = first.engine.database.connection
    assert first.engine._maintenance._take_lease(connection)
    assert not second.engine._maintenance._take_lease(second.engine.database.connection)
    second.now += 6
    assert second.engine._maintenance._take_lease(second.engine.database.connection)
    for world in (first, second):
        world.engine._maintenance._thread = None
        world.engine.close()


def test_an_engine_that_is_opened_goes_on_by_itself(tmp_path: Path) -> None:
    world = World(tmp_path / "music.db")
    world.create("a")
    for number in range(10):
        world.put(text(a=str(number), b="as it was"))
    arn = backup(world)
    world.engine.close()
    with Engine(str(tmp_path / "music.db")) as engine:
        thread = engine._maintenance._thread
        assert thread is not None
        while engine.call("DescribeBackup", {"BackupArn": arn})["BackupDescription"]["BackupDetails"]["BackupStatus"] == "CREATING":
            thread.join(0.01)
