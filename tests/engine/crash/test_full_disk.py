"""The disk is full, or fails, at some write: the caller is told so, nothing is damaged, and work goes on once there is room."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine, EngineError, check_integrity
from tests.engine.crash import ledger, settings
from tests.engine.crash.caller import Caller
from tests.engine.crash.disk import recorded
from tests.engine.crash.ledger import History, Step
from tests.engine.crash.starvation import Room, limited_room

pytestmark = pytest.mark.crash

_FULL = "The disk is full and nothing was written. Free some space and try again"
_STEPS = (Step("put", 1, "a" * 900), Step("move", 5, "t", 0, 1), Step("put", 2, "b"), Step("count", 0), Step("delete", 1))


@pytest.fixture
def room() -> Iterator[Room]:
    with limited_room() as room:
        yield room


@pytest.fixture
def engine(room: Room, tmp_path: Path) -> Iterator[Engine]:
    with Engine(str(tmp_path / "data.db"), background=False) as engine:
        ledger.create(engine.call)
        # Checkpoints come often, and a small page cache makes writes go out before the commit.
        for connection in (engine.database.connection, engine.database.group_connection()):
            connection.execute("PRAGMA wal_autocheckpoint=30").fetchall()
            connection.execute("PRAGMA cache_size=10")
        yield engine
        room.left = None


def test_every_write_may_be_the_one_that_finds_no_room(room: Room, engine: Engine) -> None:
    def fail_after(writes: int | None) -> None:
        room.left = writes

    assert _fail_everywhere(engine, fail_after) > len(_STEPS)


def test_every_sync_may_be_the_one_that_fails(tmp_path: Path) -> None:
    with recorded() as disk:

        def fail_after(syncs: int | None) -> None:
            disk.syncs = syncs

        with Engine(str(tmp_path / "data.db"), background=False, vfs=disk.vfs) as engine:
            engine.database.connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()
            ledger.create(engine.call)
            # The order that is to be deleted was never put, so that this step has nothing to write.
            assert _fail_everywhere(engine, fail_after) == len(_STEPS) - 1


def _fail_everywhere(engine: Engine, fail_after: Callable[[int | None], None]) -> int:
    """Take each step with so many writes that succeed, for more and more of them; how often a step was refused."""
    done: list[Step] = []
    refused = 0
    for allowed in range(40):
        for number, step in enumerate(_STEPS):
            step = Step(step.kind, step.number, f"{step.note}{allowed}-{number}", step.source, step.target)
            fail_after(allowed)
            try:
                engine.call(*ledger.requests("w", step))
                done.append(step)
            except EngineError as error:
                refused += 1
                _require_internal(error)
            fail_after(None)
            # The next write succeeds.
            again = Step("put", 11, f"{allowed}-{number}")
            engine.call(*ledger.requests("w", again))
            done.append(again)
        assert ledger.faults(engine.call, [History("w", tuple(done))]) == []
    assert check_integrity(engine.path) == []
    return refused


def _require_internal(error: EngineError) -> None:
    if error.code != "InternalServerError" or not error.message:
        raise error


def test_a_full_disk_is_called_one(room: Room, engine: Engine) -> None:
    room.left = 0
    with pytest.raises(EngineError) as caught:
        engine.call(*ledger.requests("w", _STEPS[0]))
    assert (caught.value.code, caught.value.message) == ("InternalServerError", _FULL)


def test_a_table_is_created_or_not(room: Room, engine: Engine) -> None:
    writes = 0
    for writes in range(200):
        room.left = writes
        request = {
            "TableName": "More",
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        }
        try:
            engine.call("CreateTable", request)
        except EngineError as error:
            _require_internal(error)
            room.left = None
            assert "More" not in engine.call("ListTables", {})["TableNames"]
            continue
        room.left = None
        engine.call("PutItem", {"TableName": "More", "Item": {"a": {"S": "x"}}})
        break
    assert writes > 5
    assert check_integrity(engine.path) == []


def test_a_group_is_written_whole_or_not_at_all(room: Room, engine: Engine) -> None:
    chance = random.Random(settings.SEED)
    done: list[Step] = []
    failed = 0
    for allowed in range(120):
        steps = [ledger.plan(chance, allowed * 100 + n) for n in range(6)]
        taken: list[Step] = []
        room.left = allowed // 2
        try:
            group = engine.begin_group()
            for step in steps:
                try:
                    engine.call(*ledger.requests("w", step))
                    taken.append(step)
                except EngineError as error:
                    if error.code != "TransactionCanceledException":
                        _require_internal(error)
            group.commit()
            done += taken
        except EngineError as error:
            _require_internal(error)
            failed += 1
        room.left = None
        assert ledger.faults(engine.call, [History("w", tuple(done))]) == []
    assert check_integrity(engine.path) == []
    assert 0 < failed < 120


def test_the_endpoint_acknowledges_nothing_that_is_not_there(room: Room, engine: Engine) -> None:
    done: list[Step] = []
    refused = 0
    with serve_in_thread(engine) as url:
        caller = Caller(url)
        for writes in range(30):
            for number in range(3):
                step = Step("put", number, f"{writes}" * 300)
                room.left = writes
                try:
                    caller.call(*ledger.requests("w", step))
                    done.append(step)
                except EngineError as error:
                    _require_internal(error)
                    refused += 1
                room.left = None
        caller.close()
    assert ledger.faults(engine.call, [History("w", tuple(done))]) == []
    assert check_integrity(engine.path) == []
    assert done
    assert refused
