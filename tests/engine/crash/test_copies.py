"""Processes that back tables up, restore and delete them are killed.

What is there afterwards as available holds a state that there was, and what was deleted takes no room.
"""

import random
from pathlib import Path

import pytest

from gateleg.engine import Engine, check_integrity
from tests.engine.crash import banker, settings
from tests.engine.crash.test_kill import started

pytestmark = pytest.mark.crash

_WHOLE = banker.ACCOUNTS * banker.MONEY


def _statuses(engine: Engine) -> dict[str, str]:
    """Each backup by its ARN, and whether it is available."""
    return {backup["BackupArn"]: backup["BackupStatus"] for backup in engine.call("ListBackups", {})["BackupSummaries"]}


def _restored(engine: Engine) -> list[str]:
    return [name for name in engine.call("ListTables", {})["TableNames"] if name != banker.NAME]


def _totals(engine: Engine) -> dict[str, int]:
    """The money in each table that can be used, and in each backup that is available."""
    found = {}
    for name in (banker.NAME, *_restored(engine)):
        if engine.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"] == "ACTIVE":
            found[name] = banker.total(engine.call, name)
    for number, (arn, status) in enumerate(_statuses(engine).items()):
        if status == "AVAILABLE":
            name = f"Check{number}"
            engine.call("RestoreTableFromBackup", {"BackupArn": arn, "TargetTableName": name})
            engine.maintain()
            found[arn] = banker.total(engine.call, name)
            engine.call("DeleteTable", {"TableName": name})
    return found


def _forget(engine: Engine) -> None:
    for arn in _statuses(engine):
        engine.call("DeleteBackup", {"BackupArn": arn})
    for name in _restored(engine):
        engine.call("DeleteTable", {"TableName": name})
    engine.maintain()


def _kept(engine: Engine, *kinds: str) -> list[str]:
    """The SQLite tables of these kinds. A sound file has no page that is neither free nor part of a table."""
    names = [name for (name,) in engine.database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return [name for name in names if name.startswith(kinds)]


def test_a_half_made_copy_is_finished_and_never_taken_for_a_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(settings.SEED)
    path = str(tmp_path / "data.db")
    with Engine(path, background=False) as engine:
        banker.create(engine.call)
    for number in range(settings.ROUNDS):
        with started("-m", "tests.engine.crash.banker", path, f"{settings.SEED}-{number}") as process:
            assert process.stdout is not None
            copies, moves, deletes = chance.randint(1, 6), chance.randint(1, 60), number % 2
            while copies or moves or deletes:
                line = process.stdout.readline()
                assert line, process.communicate()[1].decode()
                if line.strip() == b"moved":
                    moves -= bool(moves) and not copies
                else:
                    copies -= bool(copies)
                    deletes -= bool(deletes) and not copies and line.startswith(b"Delete")
            process.kill()
            process.wait()
        with Engine(path, background=False) as engine:
            half = [arn for arn, status in _statuses(engine).items() if status == "CREATING"]
            half += [n for n in _restored(engine) if engine.call("DescribeTable", {"TableName": n})["Table"]["TableStatus"] == "CREATING"]
            dropping = len(_kept(engine, "dropped_"))
            engine.maintain()
            assert set(_statuses(engine).values()) <= {"AVAILABLE"}
            assert _kept(engine, "dropped_") == []
            totals = _totals(engine)
            assert set(totals.values()) == {_WHOLE}, f"seed {settings.SEED}, round {number}"
        assert check_integrity(path) == [], f"seed {settings.SEED}, round {number}"
        with capsys.disabled():
            print(
                f"\n  copies: round {number}, {len(totals)} whole ones, {len(half)} of them half made when killed, {dropping} half removed",
                end="",
            )
        with Engine(path, background=False) as engine:
            _forget(engine)
            assert len(_kept(engine, "items_", "backup_", "dropped_")) == 1
