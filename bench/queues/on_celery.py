"""Celery on Redis, which keeps everything in memory. Its worker forks processes. With `BENCH_RESULTS`, results are kept in Redis too."""

import importlib
import os
from typing import Any

from queues import audit

_server, _results = os.environ["BENCH_REDIS"], "BENCH_RESULTS" in os.environ
app: Any = importlib.import_module("celery").Celery("bench", broker=_server, backend=_server if _results else None)
app.conf.update(task_ignore_result=not _results, worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


@app.task(name="noop")  # type: ignore[untyped-decorator]
def noop(sent: int) -> int:
    audit.start(sent)
    return sent


def submit(sent: int) -> None:
    noop.delay(sent)


def clear() -> None:
    """Drop what other measurements have left behind: they share a server."""
    app.control.purge()


def work(workers: int) -> None:
    app.worker_main(["worker", "--concurrency", str(workers), "--loglevel", "error", "--without-gossip", "--without-mingle"])
