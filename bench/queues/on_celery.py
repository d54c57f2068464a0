"""Celery on Redis, which keeps everything in memory. Its worker forks processes."""

import importlib
import os
from typing import Any

from queues import audit

app: Any = importlib.import_module("celery").Celery("bench", broker=os.environ["BENCH_REDIS"])
app.conf.update(task_ignore_result=True, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


@app.task(name="noop")  # type: ignore[untyped-decorator]
def noop(sent: int) -> None:
    audit.start(sent)


def submit(sent: int) -> None:
    noop.delay(sent)


def clear() -> None:
    """Drop what other measurements have left behind: they share a server."""
    app.control.purge()


def work(workers: int) -> None:
    app.worker_main(["worker", "--concurrency", str(workers), "--loglevel", "error", "--without-gossip", "--without-mingle"])
