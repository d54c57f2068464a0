"""Whatever other programs put into the table, ordinary jobs complete, no worker ends, and nothing is hidden."""

import asyncio
import contextlib
import random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.engine import boto3_session
from gateleg.jobs.errors import JobError
from gateleg.jobs.foreign_jobs import Sweep
from gateleg.jobs.handlers import Jobs
from gateleg.jobs.leases import LeaseObserver
from gateleg.jobs.queue import Queue
from gateleg.jobs.queue_context import UnreadableJob, read_job
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.testing import ManualClock, TestWorker
from gateleg.model import spec_of
from gateleg.store import Store
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from tests.jobs.foreign.seed_items import boto3_table, odd_item, put_odd
from tests.jobs.sample import make_jobs
from tests.jobs.worker.test_worker import ended, working


def check_nothing_is_hidden(queue: Queue) -> None:
    """Every item of the table is in a list, or is named with what is wrong with it."""
    sweep = Sweep()
    while not queue.survey(sweep):
        continue
    named = {bad.job_id for bad in queue.set_aside()}
    listed = set()
    for status in JobStatus:
        cursor: str | None = None
        while True:
            page = queue.jobs_page(status=status, cursor=cursor, internal=True)
            listed |= {str(job.job_id) for job in page} | {UnreadableJob.of(bad).job_id for bad in page.unreadable}
            cursor = page.next
            if cursor is None:
                break
    kind = spec_of(queue.tables.job)
    for item in queue.store.scan(kind.table):
        job_id = item["job_id"]["S"]
        assert job_id in listed | named, item
        assert job_id in named or not isinstance(read_job(queue.tables.job, item), UnreadableJob), item


def operate(queue: Queue, job_id: str) -> None:
    """What operators do. An error says what is wrong."""
    try:
        known = UUID(job_id)
    except ValueError:
        return
    for act in (queue.get, queue.tree, queue.log, queue.cancel, queue.retry, queue.cancel_tree):
        with contextlib.suppress(JobError):
            act(known)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), operated=st.booleans())
def test_odd_items_beside_ordinary_jobs(seed: int, operated: bool) -> None:
    chance, clock = random.Random(seed), ManualClock()
    with Store.embedded(clock=clock, ticks=clock, random=random.Random(1)) as store:
        queue = Queue(store, make_jobs())
        queue.ensure_tables()
        table = boto3_table(queue)
        odd = [item for item in (odd_item(chance) for _ in range(8)) if put_odd(table, item)]
        ordinary = [queue.submit(Submission("PCA", {}, priority=chance.randrange(101))).job.job_id for _ in range(3)]
        for item in odd if operated else ():
            operate(queue, item["job_id"])
        leases = LeaseObserver[UUID]()
        for _ in range(3):
            TestWorker(queue, clock).run(limit=100)
            for name in ("default", "math"):
                queue.reap(name, leases)
                queue.correct_delays(name)
                queue.stats(name)
                queue.record_history(name)
            for status in queue.context.settings.retention:
                queue.overdue(status)
            clock.advance(seconds=4000)
        assert [queue.get(job_id).status for job_id in ordinary] == ["COMPLETED"] * 3
        check_nothing_is_hidden(queue)


async def test_a_worker_outlives_whatever_is_put_into_its_table(caplog: pytest.LogCaptureFixture) -> None:
    chance, jobs = random.Random(7), Jobs()

    @jobs.handler("PCA", queue="math")
    async def pca(job: Any, config: Any) -> None: ...

    async with working(jobs) as (queue, worker):
        assert isinstance(queue.store.transport, AsyncEmbeddedTransport)
        table = boto3_session(queue.store.transport.engine).resource("dynamodb").Table("JobQueue")
        ordinary = []
        for _ in range(10):
            put = [put_odd(table, odd_item(chance)) for _ in range(12)]
            assert any(put)
            ordinary.append((await queue.submit(Submission("PCA", {}))).job.job_id)
        table.put_item(Item={"job_id": "no job at all"})
        for job_id in ordinary:
            assert (await ended(queue, job_id)).status == "COMPLETED"
        async with asyncio.timeout(60):
            while "no job at all" not in {bad.job_id for bad in await queue.set_aside()}:
                await asyncio.sleep(0.05)
        assert not worker.stopping
    unexpected = [record for record in caplog.records if record.exc_info is not None]
    assert unexpected == []
    logged = [record.getMessage().split(" of the job table")[0] for record in caplog.records if "set aside the item" in record.getMessage()]
    assert len(logged) == len(set(logged)) > 0
