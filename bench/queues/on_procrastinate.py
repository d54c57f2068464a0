"""procrastinate on PostgreSQL, which syncs at each commit. Its worker is an event loop; its submissions are synchronous calls."""

import asyncio
import importlib
import os
from typing import Any

from queues import audit

_library: Any = importlib.import_module("procrastinate")
_place = os.environ["BENCH_POSTGRES"]
app: Any = _library.App(connector=_library.PsycopgConnector(conninfo=_place))
_submitter: Any = None


@app.task(name="noop")  # type: ignore[untyped-decorator]
async def noop(sent: int) -> None:
    audit.start(sent)


def _task() -> Any:
    """The task of an application with a synchronous connection, which is opened once."""
    global _submitter
    if _submitter is None:
        connector = _library.SyncPsycopgConnector(conninfo=_place)
        _submitter = _library.App(connector=connector)
        _submitter.open()
        if not _submitter.check_connection():
            _submitter.schema_manager.apply_schema()
    return _submitter.configure_task("noop")


def submit(sent: int) -> None:
    _task().defer(sent=sent)


def submit_many(sent: list[int]) -> None:
    _task().batch_defer(*({"sent": one} for one in sent))


def clear() -> None:
    """Drop what other measurements have left behind: they share a server."""
    _task()
    with importlib.import_module("psycopg").connect(_place, autocommit=True) as connection:
        connection.execute("TRUNCATE procrastinate_jobs CASCADE")


def work(workers: int) -> None:
    async def run() -> None:
        async with app.open_async():
            await app.run_worker_async(concurrency=workers)

    asyncio.run(run())
