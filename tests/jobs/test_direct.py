import threading
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs.direct import DirectTransport, direct
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import AsyncQueue
from gateleg.jobs.tables import Job
from gateleg.store import AsyncStore, NotFound
from gateleg.store.transports.embedded import AsyncEmbeddedTransport


class Threads:
    """An engine that notes on which thread it was called."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.seen = engine, dict[str, int]()

    def call(self, operation: str, request: dict[str, Any]) -> Any:
        self.seen[operation] = threading.get_ident()
        return self.engine.call(operation, request)


async def test_small_requests_stay_on_the_loop_and_large_ones_do_not(tmp_path: Path) -> None:
    async with AsyncStore.embedded(str(tmp_path)) as store:
        assert isinstance(store.transport, AsyncEmbeddedTransport)
        engine = store.transport.engine
        threads = Threads(engine)
        store.transport.engine = threads  # type: ignore[assignment]
        queue = direct(AsyncQueue(store, Jobs()))
        await queue.ensure_tables()
        job = await queue.store.create(Job(job_type="x"))
        await queue.store.patch(job, Job.tags.set(["t"]))
        assert [found async for found in queue.store.query(Job.in_status(status=job.status), limit=10)]
        here = threading.get_ident()
        assert {name for name, thread in threads.seen.items() if thread == here} >= {"PutItem", "UpdateItem", "Query"}
        assert [found async for found in queue.store.query(Job.in_status(status=job.status))]
        assert threads.seen["Query"] != here
        store.transport.engine = engine


async def test_refusals_come_as_those_of_the_store() -> None:
    async with AsyncStore.embedded() as store:
        queue = direct(AsyncQueue(store, Jobs()))
        await queue.ensure_tables()
        with pytest.raises(NotFound):
            await queue.store.patch(Job.key(job_id=Job(job_type="x").job_id), Job.tags.set(["t"]))


async def test_other_transports_are_left_alone() -> None:
    async with AsyncStore.embedded() as store:
        once = direct(AsyncQueue(store, Jobs()))
        assert isinstance(once.store.transport, DirectTransport)
        assert direct(once) is once
