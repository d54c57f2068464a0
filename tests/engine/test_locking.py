"""How writers wait for each other and announce it, and when the log is checkpointed."""

import itertools
import os
import threading
import time
from pathlib import Path

import apsw
import pytest

from gateleg.engine import Engine, locking
from gateleg.engine.database import Database, DatabaseConnection
from gateleg.engine.locking import MAX_WAIT_SECONDS, BusyHandler, WriterQueue, next_pause
from tests.engine.operations.requests import table
from tests.engine.test_maintenance import waited


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data.db")


def test_another_process_is_seen_from_its_announcement_to_its_withdrawal(path: str) -> None:
    one, other = WriterQueue(path), WriterQueue(path)
    assert not other.has_waiters()
    one.announce()
    one.announce()
    assert other.has_waiters()
    assert one.has_waiters()
    one.withdraw()
    assert not other.has_waiters()
    one.close()
    other.close()


def test_several_wait_at_once(path: str) -> None:
    first, second, third = WriterQueue(path), WriterQueue(path), WriterQueue(path)
    first.announce()
    second.announce()
    first.withdraw()
    assert third.has_waiters()
    second.close()  # as the system does for a process that dies
    assert not third.has_waiters()
    for one in (first, third):
        one.close()


def test_a_thread_is_seen_while_it_waits_for_the_lock(path: str) -> None:
    waiters, lock = WriterQueue(path), threading.Lock()
    waiters.acquire(lock)
    assert not waiters.has_waiters()
    thread = threading.Thread(target=waiters.acquire, args=(lock,))
    thread.start()
    assert waited(waiters.has_waiters)
    lock.release()
    thread.join()
    assert not waiters.has_waiters()
    waiters.close()


def test_a_folder_that_cannot_be_opened_counts_as_somebody_waiting(tmp_path: Path) -> None:
    waiters = WriterQueue(str(tmp_path / "missing" / "data.db"))
    waiters.announce()
    assert waiters.has_waiters()
    assert not WriterQueue(":memory:").has_waiters()


def test_closing_gives_the_descriptors_back(path: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    waiters = WriterQueue(path)
    waiters.announce()
    waiters.has_waiters()
    assert len(set(os.listdir("/proc/self/fd")) - before) == 2
    waiters.close()
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_writer_is_seen_while_it_waits_for_one_of_another_process(path: str) -> None:
    holder, waiter, watcher = Database(path, "relaxed"), Database(path, "relaxed"), WriterQueue(path)

    def write() -> None:
        with waiter.write():
            pass

    with holder.write():
        thread = threading.Thread(target=write)
        thread.start()
        assert waited(watcher.has_waiters)
    thread.join()
    assert not watcher.has_waiters()
    for one in (holder, waiter, watcher):
        one.close()


def test_pauses_grow_with_the_wait() -> None:
    pauses = [next_pause(waited) for waited in (0.0, 0.019, 0.02, 0.3, 59.9)]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]


def test_a_wait_is_counted_from_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 100.0 + MAX_WAIT_SECONDS, 500.0])
    slept: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "sleep", slept.append)
    wait = BusyHandler()
    assert [wait(0), wait(1), wait(0)] == [True, False, True]
    assert len(slept) == 2


def test_sqlite_waits_by_it_for_another_connection(tmp_path: Path) -> None:
    holder, waiter = (apsw.Connection(str(tmp_path / "data.db")) for _ in range(2))
    holder.execute("PRAGMA journal_mode=WAL").fetchall()
    holder.execute("CREATE TABLE t(x); BEGIN IMMEDIATE")
    calls: list[int] = []
    wait = BusyHandler()

    def until_it_is_free(number: int) -> bool:
        calls.append(number)
        if number == 3:
            holder.execute("COMMIT")
        return wait(number)

    waiter.set_busy_handler(until_it_is_free)
    waiter.execute("BEGIN IMMEDIATE; COMMIT")
    assert calls == [0, 1, 2, 3]
    holder.close()
    waiter.close()


_PAGE = 4096
_LIMIT = 40


@pytest.fixture(autouse=True)
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "CHECKPOINT_FRAMES", _LIMIT)


def opened(path: Path) -> Engine:
    return Engine(str(path / "data.db"), durability="relaxed", background=False)


def put(engine: Engine, number: int) -> None:
    engine.call("PutItem", {"TableName": "Music", "Item": {"a": {"S": f"song {number}"}, "text": {"S": "la " * 300}}})


def frames(path: Path) -> int:
    """How long the log has been at most: its file does not shrink while it is in use."""
    return (path / "data.db-wal").stat().st_size // _PAGE


def salt(path: Path) -> bytes:
    """What tells the frames of this log from those before it began anew."""
    with (path / "data.db-wal").open("rb") as file:
        return file.read(24)[16:]


def count(engine: Engine) -> int:
    return int(engine.call("Scan", {"TableName": "Music", "Select": "COUNT"})["Count"])


def test_a_long_log_is_folded_and_begins_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.call("CreateTable", table("a"))
        for number in range(300):
            put(engine, number)
        assert frames(tmp_path) < 2 * _LIMIT
        assert count(engine) == 300


def test_a_log_that_begins_anew_with_a_long_commit_is_folded_no_later(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.call("CreateTable", table("a"))
        for first in range(0, 500, 25):
            # Each commit is longer than the log may be, so the log is folded after each.
            puts = [{"PutRequest": {"Item": {"a": {"S": f"{n}"}, "text": {"S": "la " * 3000}}}} for n in range(first, first + 25)]
            engine.call("BatchWriteItem", {"RequestItems": {"Music": puts}})
            if first == 0:
                length = frames(tmp_path)
        assert length > _LIMIT
        assert frames(tmp_path) < 3 * length


def test_a_log_that_a_reader_needs_grows_until_it_is_done(tmp_path: Path) -> None:
    with opened(tmp_path) as engine, opened(tmp_path) as other:
        engine.call("CreateTable", table("a"))
        put(engine, 0)
        with other.database.snapshot() as reading:
            assert reading.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            for number in range(1, 60):
                put(engine, number)
        grown = frames(tmp_path)
        assert grown > 2 * _LIMIT
        for number in range(60, 600):
            put(engine, number)
        assert frames(tmp_path) < grown + 2 * _LIMIT
        assert count(other) == 600


def test_a_log_begins_anew_while_others_write_without_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "CHECKPOINT_FRAMES", 10**9)
    with opened(tmp_path) as first, opened(tmp_path) as second:
        first.call("CreateTable", table("a"))
        enough = threading.Event()

        def write() -> None:
            number = 0
            while not enough.is_set():
                put(second, number := number + 1)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            numbers = itertools.count(-1, -1)
            while frames(tmp_path) < 10 * _LIMIT:
                put(first, next(numbers))
            before = salt(tmp_path)
            monkeypatch.setattr(locking, "CHECKPOINT_FRAMES", _LIMIT)
            connection = first.database.connection
            for _ in range(50):
                connection.log = locking.WriteAheadLog(connection, connection.busy_handler)
                put(first, next(numbers))
                if salt(tmp_path) != before:
                    break
        finally:
            enough.set()
            writer.join()
        assert salt(tmp_path) != before


def test_a_log_that_another_has_folded_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    fold = DatabaseConnection.wal_checkpoint

    def noted(connection: DatabaseConnection, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        modes.append(mode)
        return fold(connection, dbname, mode)

    with opened(tmp_path) as engine, opened(tmp_path) as other, opened(tmp_path) as reader:
        engine.call("CreateTable", table("a"))
        other.database.connection.log._next_checkpoint = 10**9
        for number in range(60):
            put(other, number)
        with reader.database.snapshot() as reading:
            assert reading.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the log cannot begin anew
            other.database.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            monkeypatch.setattr(DatabaseConnection, "wal_checkpoint", noted)
            put(engine, 60)
            assert modes == [apsw.SQLITE_CHECKPOINT_NOOP]
            for number in range(61, 61 + _LIMIT):
                put(engine, number)
            assert apsw.SQLITE_CHECKPOINT_PASSIVE in modes


def test_the_file_is_synced_by_a_descriptor_of_sqlite_and_none_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(os, "fdatasync", lambda number: synced.append(os.readlink(f"/proc/self/fd/{number}")))
    with opened(tmp_path) as engine:
        before = set(os.listdir("/proc/self/fd"))
        locking.sync_file(engine.database.connection.filename)
        locking.sync_file(str(tmp_path / "missing.db"))
        assert synced == [str(tmp_path / "data.db")]
        assert set(os.listdir("/proc/self/fd")) == before
