from typing import Any

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.queue import Queue
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.tasks import JobContext, Snooze
from gateleg.jobs.testing import ManualClock, TestWorker
from gateleg.store import Store


def rehearsed(store: Store, jobs: Jobs) -> Queue:
    queue = Queue(store, jobs)
    queue.ensure_tables()
    return queue


def test_delays_retries_and_snoozes_run_without_waiting(store: Store, clock: ManualClock) -> None:
    jobs = Jobs()

    @jobs.handler("flaky", retry=Retry(times=3, first=3600, jitter=0), runs="thread", queue="far")
    async def flaky(job: JobContext, config: dict[str, Any]) -> str:
        job.log(f"attempt {job.attempt}")
        if job.attempt == 1:
            raise ConnectionError("away")
        if job.attempt == 2:
            raise Snooze(86400)
        return "done"

    queue = rehearsed(store, jobs)
    start = clock.now
    job = queue.submit(Submission("flaky", delay=60)).job
    attempts = TestWorker(queue, clock).run()
    assert [one.attempts[-1].outcome for one in attempts] == ["retried", "snoozed", "completed"]
    assert (clock.now - start).total_seconds() == 60 + 3600 + 86400
    assert [line.message for line in queue.log(job.job_id) if line.level == "INFO"] == ["attempt 1", "attempt 2", "attempt 3"]


def test_a_pipeline_with_children_and_dependents_runs_to_its_end(store: Store, clock: ManualClock) -> None:
    jobs, order = Jobs(), list[str]()

    @jobs.handler("part")
    async def part(job: JobContext, config: dict[str, Any]) -> None:
        order.append(str(job.job.job_stage))

    @jobs.handler("whole")
    async def whole(job: JobContext, config: dict[str, Any]) -> None:
        parts = [await job.submit(Submission("part", stage=f"part {number}")) for number in range(3)]
        await job.submit(Submission("part", stage="join", dependencies=[one.job.job_id for one in parts]))
        job.log("\n".join(f"line {number}" for number in range(1000)))

    queue = rehearsed(store, jobs)
    root = queue.submit(Submission("whole")).job
    TestWorker(queue, clock).run()
    assert sorted(order[:3]) == ["part 0", "part 1", "part 2"]
    assert order[3:] == ["join"]
    assert queue.tree(root.job_id).fraction == 1
    assert len(queue.log(root.job_id)) == 1000


def test_a_failure_takes_its_dependents_along(store: Store, clock: ManualClock) -> None:
    jobs = Jobs()

    @jobs.handler("fails", retry=Retry(times=1))
    async def fails(job: JobContext, config: dict[str, Any]) -> None:
        raise ValueError("no")

    queue = rehearsed(store, jobs)
    first = queue.submit(Submission("fails")).job
    second = queue.submit(Submission("fails", dependencies=[first.job_id])).job
    TestWorker(queue, clock).run()
    assert (queue.get(first.job_id).status, queue.get(first.job_id).attempt) == (JobStatus.FAILED, 2)
    assert queue.get(second.job_id).status == JobStatus.CANCELLED


def test_without_a_clock_delayed_jobs_stay(store: Store) -> None:
    jobs = Jobs()

    @jobs.handler("later")
    async def later(job: JobContext, config: dict[str, Any]) -> None: ...

    queue = rehearsed(store, jobs)
    queue.submit(Submission("later", delay=60))
    assert TestWorker(queue).run() == []
