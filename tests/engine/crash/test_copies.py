"""Processes that back tables up and restore them are killed: what is there afterwards as available holds a state that there was."""

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


def test_a_half_made_copy_is_finished_and_never_taken_for_a_whole_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(settings.SEED)
    path = str(tmp_path / "data.db")
    with Engine(path, background=False) as engine:
        banker.create(engine.call)
    for number in range(settings.ROUNDS):
        with started("-m", "tests.engine.crash.banker", path, f"{settings.SEED}-{number}") as process:
            assert process.stdout is not None
            copies, moves = chance.randint(1, 6), chance.randint(1, 60)
            while copies or moves:
                line = process.stdout.readline()
                assert line, process.communicate()[1].decode()
                if line.strip() == b"moved":
                    moves -= bool(moves) and not copies
                else:
                    copies -= bool(copies)
            process.kill()
            process.wait()
        with Engine(path, background=False) as engine:
            half = [arn for arn, status in _statuses(engine).items() if status == "CREATING"]
            half += [n for n in _restored(engine) if engine.call("DescribeTable", {"TableName": n})["Table"]["TableStatus"] == "CREATING"]
            engine.maintain()
            assert set(_statuses(engine).values()) <= {"AVAILABLE"}
            totals = _totals(engine)
            assert set(totals.values()) == {_WHOLE}, f"seed {settings.SEED}, round {number}"
        assert check_integrity(path) == [], f"seed {settings.SEED}, round {number}"
        with capsys.disabled():
            print(f"\n  copies: round {number}, {len(totals)} whole ones, {len(half)} of them half made when killed", end="")
        with Engine(path, background=False) as engine:
            _forget(engine)
