"""huey on SQLite, as it comes: a write-ahead log, synced at each commit. Its consumer runs threads.

A task is deleted when it is taken, and nothing is written at its end, unless it returns something: with `BENCH_RESULTS` it does.
"""

import importlib
import os
from typing import Any

from queues import audit

huey: Any = importlib.import_module("huey").SqliteHuey(filename=os.environ["BENCH_PLACE"] + "/huey.db")


@huey.task()  # type: ignore[untyped-decorator]
def noop(sent: int) -> int | None:
    audit.start(sent)
    return sent if "BENCH_RESULTS" in os.environ else None


def submit(sent: int) -> None:
    noop(sent)


def work(workers: int) -> None:
    huey.create_consumer(workers=workers, worker_type="thread").run()
