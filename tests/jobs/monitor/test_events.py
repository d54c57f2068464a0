"""What handlers emit: numbered, written together, and there for whoever comes later."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, JobContext, Jobs, ManualClock, Queue, QueueSettings, Submission, TestWorker, Worker, follow_async
from gateleg.jobs.errors import BadEvent
from gateleg.jobs.tables.records import EventChunk
from gateleg.jobs.worker.output import MAX_EVENT_BYTES, AttemptRecorder
from gateleg.store import AsyncStore, Store
from tests.jobs.worker.test_worker import done, working


class Token(BaseModel):
    text: str


async def speaks(job: JobContext, config: dict[str, Any]) -> None:
    for number in range(config["tokens"]):
        job.emit(Token(text=f"t{number}"))


def speaking(runs: Any = "inline") -> Jobs:
    jobs = Jobs()
    jobs.handler("speaks", runs=runs)(speaks)
    return jobs


@pytest.mark.parametrize("runs", ["inline", "thread", "process"])
async def test_events_are_kept_in_order_and_written_together(runs: str) -> None:
    async with working(speaking(runs)) as (queue, _):
        job = await done(queue, Submission("speaks", {"tokens": 500}))
        assert job.emitted == 500
        chunks = [chunk async for chunk in queue.store.query(EventChunk.of_job, job_id=job.job_id)]
        update = await queue.read_update(job.job_id, emitted=450)
    assert [one["text"] for chunk in chunks for one in chunk.events] == [f"t{number}" for number in range(500)]
    assert len(chunks) < 50
    assert (update.events[0], len(update.events), update.emitted) == ({"text": "t450"}, 50, 500)


def test_events_are_read_from_any_number_on(store: Store, clock: ManualClock) -> None:
    jobs = speaking()
    queue = Queue(store, jobs)
    queue.ensure_tables()
    job_id = queue.submit(Submission("speaks", {"tokens": 2})).job.job_id
    TestWorker(queue, clock).run()
    update = queue.read_update(job_id)
    assert ([one["text"] for one in update.events], update.emitted) == (["t0", "t1"], 2)
    assert queue.read_update(job_id, emitted=1).events == [{"text": "t1"}]
    assert queue.read_update(job_id, emitted=2).events == []


def test_what_cannot_be_an_event_is_refused_where_it_is_emitted() -> None:
    notes = AttemptRecorder(lambda: datetime.now(UTC))
    with pytest.raises(BadEvent, match="not a JSON value"):
        notes.emit({1, 2})
    with pytest.raises(BadEvent, match="the maximum is"):
        notes.emit("x" * MAX_EVENT_BYTES)


async def test_events_of_another_process_come_without_a_poll(tmp_path: Path) -> None:
    """Nothing but the file is shared: no notification reaches the follower, and it would poll once in ten minutes."""
    go = asyncio.Event()
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks_and_waits(job: JobContext, config: Any) -> None:
        job.emit({"text": "first"})
        await go.wait()
        job.emit({"text": "last"})

    async with AsyncStore.embedded(str(tmp_path)) as near, AsyncStore.embedded(str(tmp_path)) as elsewhere:
        queue, other = AsyncQueue(near, jobs), AsyncQueue(elsewhere, speaking())
        await queue.ensure_tables()
        worker = Worker(queue, maintenance=False)
        running = asyncio.ensure_future(worker.run())
        try:
            job_id = (await other.submit(Submission("speaks"))).job.job_id
            found = []
            async with asyncio.timeout(30):
                async for update in follow_async(other, job_id, every=600):
                    found += [one["text"] for one in update.events]
                    if found == ["first"]:
                        go.set()
        finally:
            go.set()
            worker.stop()
            await running
    assert found == ["first", "last"]


class Patient(Worker):
    """Collects what handlers say for an hour."""

    def _flush_seconds(self) -> float:
        return 3600.0


async def test_the_first_events_are_written_at_once() -> None:
    heard = [asyncio.Event() for _ in range(2)]
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks_and_waits(job: JobContext, config: Any) -> None:
        for number, event in enumerate(heard):
            job.emit(number)
            await event.wait()

    async with AsyncStore.embedded() as store:
        queue = AsyncQueue(store, jobs, QueueSettings(lease_seconds=36_000))
        await queue.ensure_tables()
        worker = Patient(queue, maintenance=False)
        running = asyncio.ensure_future(worker.run())
        try:
            job_id = (await queue.submit(Submission("speaks"))).job.job_id
            async with asyncio.timeout(30):
                async for update in follow_async(queue, job_id, every=600):
                    for number in update.events:
                        heard[number].set()
            assert update.emitted == 2
        finally:
            worker.stop()
            await running
