"""Run one verb of one queue in a process of its own; `BENCH_PLACE` and `BENCH_AUDIT` say where. Prints microseconds for each job."""

import importlib
import os
import sys
import time
from pathlib import Path
from types import ModuleType

from queues.audit import lines


def submit(queue: ModuleType, count: int) -> None:
    """One after another, each by a call of its own."""
    queue.submit(time.time_ns())
    began = time.perf_counter()
    for _ in range(count - 1):
        queue.submit(time.time_ns())
    print((time.perf_counter() - began) / (count - 1) * 1e6)


def submit_many(queue: ModuleType, count: int) -> None:
    """All by one call, as far as the queue has one."""
    queue.submit(time.time_ns())
    began = time.perf_counter()
    queue.submit_many([time.time_ns()] * (count - 1))
    print((time.perf_counter() - began) / (count - 1) * 1e6)


def trickle(queue: ModuleType, count: int) -> None:
    """One by one: each a moment after the one before has been started. The first few are for warming up."""
    audit = Path(os.environ["BENCH_AUDIT"])
    for number in range(count):
        queue.submit(time.time_ns())
        deadline = time.monotonic() + 10
        while lines(audit) <= number and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(0.02 + number % 7 * 0.02)


def main(name: str, verb: str, number: int) -> None:
    """Do it."""
    queue = importlib.import_module(f"queues.{name}")
    if verb == "work":
        queue.work(number)
    elif verb == "clear":
        getattr(queue, "clear", lambda: None)()
    else:
        {"submit": submit, "submit_many": submit_many, "trickle": trickle}[verb](queue, number)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
