import asyncio
from typing import Any

from gateleg.jobs import AsyncQueue, JobContext, Jobs, Queue, Submission, Worker, follow, follow_async
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.monitor.listing import entries_of, extended
from gateleg.jobs.tables.job import JobStatus, Progress
from gateleg.store import AsyncStore
from tests.jobs.sample import DONE, claimed, submitted


def test_following_tells_every_change_once(queue: Queue, selector: CandidateSelector) -> None:
    job = submitted(queue)
    steps: list[Any] = []

    def happen(seconds: float) -> None:
        """What goes on between two looks."""
        if not steps:
            steps.append(claimed(queue, selector))
        elif len(steps) == 1:
            logs, _ = extended(job.job_id, steps[0].logs, entries_of("one\ntwo", "INFO", queue.context.now()))
            queue.renew(steps[0], logs=logs, progress=Progress(done=1, total=2))
            steps.append(logs)
        elif len(steps) == 2:
            steps.append(None)
        else:
            logs, _ = extended(job.job_id, steps[1], entries_of("three", "INFO", queue.context.now()))
            queue.finish(steps[0], DONE, logs=logs)

    updates = list(follow(queue, job.job_id, pause=happen))
    assert [update.job.status for update in updates] == [
        JobStatus.PENDING,
        JobStatus.PROCESSING,
        JobStatus.PROCESSING,
        JobStatus.COMPLETED,
    ]
    assert [[line.message for line in update.lines] for update in updates] == [[], [], ["one", "two"], ["three"]]
    assert [update.last for update in updates] == [False, False, False, True]


async def test_a_submission_wakes_a_worker_and_its_news_reach_followers() -> None:
    """Nobody polls here: workers and followers would wait for an hour."""
    jobs = Jobs()

    @jobs.handler("speaks")
    async def speaks(job: JobContext, config: dict[str, Any]) -> None:
        job.log("hello")

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        worker = Worker(queue, idle=(3600, 3600))
        working = asyncio.ensure_future(worker.run())
        while not await queue.workers():
            await asyncio.sleep(0.01)
        job = (await queue.submit(Submission("speaks"))).job
        async with asyncio.timeout(60):
            lines = [line.message async for update in follow_async(queue, job.job_id, every=3600) for line in update.lines]
        assert lines == ["hello"]
        worker.stop()
        await working
