import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from gateleg.engine import long_work, maintenance
from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index
from tests.engine.operations.test_streams import arn, records
from tests.engine.world import START, World, stream, text


def upkeep(engine: Engine) -> threading.Thread | None:
    return engine._maintenance._thread


def waited(done: Callable[[], bool]) -> bool:
    """Whether something became so; looked at again and again for at most a minute."""
    tries = threading.Event()
    return any(done() or tries.wait(0.01) for _ in range(6000))


def test_an_engine_with_nothing_to_do_has_no_thread() -> None:
    world = World(background=True)
    world.create("a")
    world.put(text(a="x"))
    assert upkeep(world.engine) is None
    world.engine.close()


@pytest.mark.parametrize("reason", ["ttl", "stream", "recovery"])
def test_a_table_that_needs_upkeep_starts_the_thread(reason: str) -> None:
    world = World(background=True)
    world.create("a", **(stream() if reason == "stream" else {}))
    if reason == "ttl":
        world.expire_by("t")
    if reason == "recovery":
        world.recoverable()
    thread = upkeep(world.engine)
    assert thread is not None
    assert thread.daemon
    world.engine.close()
    assert not thread.is_alive()


def test_opening_a_file_that_needs_upkeep_starts_the_thread(tmp_path: Path) -> None:
    world = World(tmp_path / "data.db")
    world.create("a")
    world.expire_by("t")
    world.engine.close()
    with Engine(str(tmp_path / "data.db")) as engine:
        assert upkeep(engine) is not None


@pytest.mark.parametrize("where", ["memory", "file"])
def test_the_thread_deletes_expired_items(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "BUSY_INTERVAL_SECONDS", 0.01)
    world = World(tmp_path / "data.db" if where == "file" else ":memory:", background=True)
    world.create("a")
    world.expire_by("t")
    world.put({"a": {"S": "x"}, "t": {"N": str(int(START - 1))}})
    assert waited(lambda: world.items() == [])
    world.engine.close()


@pytest.mark.parametrize("where", ["memory", "file"])
def test_the_thread_fills_indexes_while_others_write(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "BUSY_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(long_work, "SMALL_TABLE_ROWS", 10)
    world = World(tmp_path / "data.db" if where == "file" else ":memory:", background=True)
    world.create("a")
    for number in range(200):
        world.put(text(a=f"{number}", b="b"))
    world.call(
        "UpdateTable",
        TableName="Music",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}, {"AttributeName": "b", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index("by-b", "b")}],
    )
    for number in range(100):
        world.put(text(a=f"{number}", b="c"))

    def filled() -> bool:
        described: dict[str, Any] = world.call("DescribeTable", TableName="Music")["Table"]
        return bool(described["GlobalSecondaryIndexes"][0]["IndexStatus"] == "ACTIVE")

    assert waited(filled)
    assert world.items(IndexName="by-b") == world.items()
    world.engine.close()


def test_two_processes_delete_an_expired_item_once(tmp_path: Path) -> None:
    first, second = World(tmp_path / "data.db"), World(tmp_path / "data.db")
    first.create("a", **stream())
    first.expire_by("t")
    first.put({"a": {"S": "x"}, "t": {"N": str(int(START - 1))}})
    second.engine.maintain()
    first.engine.maintain()
    assert [r["eventName"] for r in records(first, arn(first))] == ["INSERT", "REMOVE"]
    first.engine.close()
    second.engine.close()


def test_a_failed_round_is_followed_by_another(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(maintenance, "BUSY_INTERVAL_SECONDS", 0.01)
    world = World(background=True)
    rounds: list[None] = []

    def fail() -> None:
        rounds.append(None)
        raise RuntimeError("for the test")

    monkeypatch.setattr(world.engine._maintenance, "run_once", fail)
    world.create("a")
    world.expire_by("t")
    assert waited(lambda: len(rounds) > 2)
    world.engine.close()
    assert "maintenance round failed" in caplog.text


def test_closing_twice_is_harmless() -> None:
    world = World(background=True)
    world.create("a", **stream())
    world.engine.close()
    world.engine.close()


def test_changes_for_recovery_are_kept_for_as_long_as_it_reaches(world: World) -> None:
    world.create("a")
    world.recoverable(RecoveryPeriodInDays=3)
    world.put(text(a="x"))
    world.now += 3 * 86400
    world.engine.maintain()
    assert world.engine.database.row("SELECT count(*) FROM changes") == (1,)
    world.now += 1
    world.engine.maintain()
    assert world.engine.database.row("SELECT count(*) FROM changes") == (0,)


def test_a_failure_that_lasts_is_logged_once_and_damage_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(maintenance, "BUSY_INTERVAL_SECONDS", 0.001)
    world = World(background=True)
    rounds: list[str] = []

    def fail() -> None:
        rounds.append("damaged" if len(rounds) < 5 else "whole" if len(rounds) < 7 else "damaged again")
        if rounds[-1] != "whole":
            raise apsw.CorruptError("for the test")

    monkeypatch.setattr(world.engine._maintenance, "run_once", fail)
    world.create("a")
    world.expire_by("t")
    assert waited(lambda: len(rounds) > 12)
    world.engine.close()
    told = [record for record in caplog.records if record.name == maintenance.__name__]
    # Once, and once more after it was well in between.
    assert [record.exc_info for record in told] == [None, None]
    assert all("gateleg engine check" in record.getMessage() for record in told)
