import os
import threading
from pathlib import Path

import pytest

from gateleg.engine.database import Database
from gateleg.engine.locking import Waiters
from tests.engine.test_maintenance import waited


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "data.db")


def test_another_process_is_seen_from_its_announcement_to_its_withdrawal(path: str) -> None:
    one, other = Waiters(path), Waiters(path)
    assert not other.any()
    one.announce()
    one.announce()
    assert other.any()
    assert one.any()
    one.withdraw()
    assert not other.any()
    one.close()
    other.close()


def test_several_wait_at_once(path: str) -> None:
    first, second, third = Waiters(path), Waiters(path), Waiters(path)
    first.announce()
    second.announce()
    first.withdraw()
    assert third.any()
    second.close()  # as the system does for a process that dies
    assert not third.any()
    for one in (first, third):
        one.close()


def test_a_thread_is_seen_while_it_waits_for_the_lock(path: str) -> None:
    waiters, lock = Waiters(path), threading.Lock()
    waiters.acquire(lock)
    assert not waiters.any()
    thread = threading.Thread(target=waiters.acquire, args=(lock,))
    thread.start()
    assert waited(waiters.any)
    lock.release()
    thread.join()
    assert not waiters.any()
    waiters.close()


def test_a_folder_that_cannot_be_opened_counts_as_somebody_waiting(tmp_path: Path) -> None:
    waiters = Waiters(str(tmp_path / "missing" / "data.db"))
    waiters.announce()
    assert waiters.any()
    assert not Waiters(":memory:").any()


def test_closing_gives_the_descriptors_back(path: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    waiters = Waiters(path)
    waiters.announce()
    waiters.any()
    assert len(set(os.listdir("/proc/self/fd")) - before) == 2
    waiters.close()
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_writer_is_seen_while_it_waits_for_one_of_another_process(path: str) -> None:
    holder, waiter, watcher = Database(path, "relaxed"), Database(path, "relaxed"), Waiters(path)

    def write() -> None:
        with waiter.write():
            pass

    with holder.write():
        thread = threading.Thread(target=write)
        thread.start()
        assert waited(watcher.any)
    thread.join()
    assert not watcher.any()
    for one in (holder, waiter, watcher):
        one.close()
