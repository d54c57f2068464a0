import os
import threading
from pathlib import Path

import pytest

from gateleg.engine.database import Database
from gateleg.engine.locking import WriterQueue
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
