"""Consumers that are killed at random moments: every change is handled, in the order of each item's changes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from gateleg.jobs.table_streams import ShardLease, stream_table
from gateleg.store import Store
from tests.jobs.table_streams.counted import Counted, counted

pytestmark = pytest.mark.crash

ITEMS, CHANGES = 5, int(os.environ.get("GATELEG_CRASH_CHANGES", "80"))
LEASE = 1.0
#: Seconds without a handled change after which consumers are stuck, also on a machine that has much else to do.
PATIENCE = 120


def start(data: Path, audit: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.jobs.table_streams.killed_consumer", str(data), str(audit), str(LEASE)]
    return subprocess.Popen(command)


def lines(audit: Path) -> list[list[str]]:
    # The last line may be cut off by a kill.
    return [line.split() for line in audit.read_text().split("\n")[:-1]] if audit.exists() else []


def test_killed_consumers_lose_no_change_and_keep_the_order(tmp_path: Path) -> None:
    chance, data, audit = random.Random(4), tmp_path / "data", tmp_path / "audit"
    with Store.embedded(str(data)) as store:
        store.ensure_tables(counted, stream_table)
        processes = [start(data, audit) for _ in range(2)]
        try:
            for number in range(CHANGES):
                for item in range(ITEMS):
                    store.put(Counted(item=f"i{item}", number=number))
                if number % 20 == 19:
                    seen = len(lines(audit))
                    deadline = time.monotonic() + PATIENCE
                    # A kill hits consumers that are at work.
                    while len(lines(audit)) <= seen + chance.randrange(10) and time.monotonic() < deadline:
                        time.sleep(0.02)
                    victim = processes.pop(chance.randrange(len(processes)))
                    victim.send_signal(signal.SIGKILL)
                    victim.wait()
                    processes.append(start(data, audit))
            wanted = {(f"i{item}", str(number)) for item in range(ITEMS) for number in range(CHANGES)}
            deadline = time.monotonic() + PATIENCE
            while {(item, number) for _, item, number in lines(audit)} != wanted:
                assert time.monotonic() < deadline, "changes are missing"
                time.sleep(0.1)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        handled = lines(audit)
        # The same change has the same id each time, and another change another one.
        assert len({event for event, _, _ in handled}) == ITEMS * CHANGES
        for item in range(ITEMS):
            firsts = list(dict.fromkeys(int(number) for _, name, number in handled if name == f"i{item}"))
            assert firsts == sorted(firsts)
        # Repeated are at most the batches that were cut short.
        assert sum(Counter(event for event, _, _ in handled).values()) < ITEMS * CHANGES * 2
        assert all(not lease.done for lease in store.query(ShardLease.of_consumer, consumer="counted"))
