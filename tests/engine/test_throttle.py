import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.engine import long_work
from gateleg.engine.database import Database, DatabaseConnection
from gateleg.engine.long_work import STEP_SECONDS, Throttle, adapt_work_fraction
from tests.engine.test_maintenance import waited


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(str(tmp_path / "data.db"), "relaxed")
    with database.write() as connection:
        connection.execute("CREATE TABLE t(x)")
    yield database
    database.close()


def moved_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless it is moved; sleeping moves it."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    return clock


def test_a_step_takes_chunks_until_its_time_is_up(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, chunks = moved_clock(monkeypatch), list[bool]()

    def chunk(connection: DatabaseConnection) -> bool:
        assert connection.in_transaction
        chunks.append(True)
        clock[0] += STEP_SECONDS / 20
        return True

    assert Throttle(database).step(chunk)
    assert 2 < len(chunks) < 20
    assert not database.connection.in_transaction


def test_a_step_ends_with_the_work(database: Database) -> None:
    left = [True, True, False]
    assert not Throttle(database).step(lambda _: left.pop(0))
    assert left == []


def test_a_chunk_that_takes_too_long_is_the_only_one_of_its_step(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, chunks = moved_clock(monkeypatch), list[bool]()

    def chunk(_: DatabaseConnection) -> bool:
        chunks.append(True)
        clock[0] += 10 * STEP_SECONDS
        return True

    assert Throttle(database).step(chunk)
    assert len(chunks) == 1


def test_steps_that_took_too_long_are_followed_by_shorter_ones_and_those_by_longer_ones() -> None:
    part = 0.5
    assert adapt_work_fraction(part, 2 * STEP_SECONDS) < part < adapt_work_fraction(part, STEP_SECONDS / 2)
    for _ in range(100):
        part = adapt_work_fraction(part, 100 * STEP_SECONDS)
    assert part > 0
    for _ in range(100):
        part = adapt_work_fraction(part, 0)
    assert part < 1


def test_there_is_no_pause_where_nobody_waits(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a pause"))
    assert not Throttle(database).step(lambda _: False)


def test_a_thread_that_waits_gets_its_turn_between_two_steps(database: Database) -> None:
    pace, written = Throttle(database), list[int]()

    def write() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        written.append(1)

    writer = threading.Thread(target=write)

    def chunk(_: DatabaseConnection) -> bool:
        if writer.ident is None:
            writer.start()
            assert waited(database.writers.has_waiters)
        return False

    pace.step(chunk)
    assert waited(lambda: bool(written))
    writer.join()
    assert not database.writers.has_waiters()


def test_those_who_wait_do_not_stop_long_work_for_ever(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = moved_clock(monkeypatch)
    monkeypatch.setattr("gateleg.engine.locking.WriterQueue.has_waiters", lambda _: True)
    assert not Throttle(database).step(lambda _: False)
    assert long_work.MAX_PAUSE_SECONDS <= clock[0] < 2 * long_work.MAX_PAUSE_SECONDS
