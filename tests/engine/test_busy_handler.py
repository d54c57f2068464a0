import time
from pathlib import Path

import apsw
import pytest

from gateleg.engine.locking import MAX_WAIT_SECONDS, BusyHandler, next_pause


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
