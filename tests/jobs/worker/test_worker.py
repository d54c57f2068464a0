"""Workers: they run jobs, end them in time, and collect garbage less often."""

import asyncio
import gc
import os
import subprocess
import sys
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, Jobs, JobStatus, Submission
from gateleg.jobs.handlers import Handler
from gateleg.jobs.queue_context import QueueSettings
from gateleg.jobs.rules import Retry
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import GiveUp, JobContext, Snooze
from gateleg.jobs.worker.attempt import Execution
from gateleg.jobs.worker.worker import Worker, collecting_less_often
from gateleg.store import AsyncStore

ONCE = Retry(times=0)


class Numbers(BaseModel):
    numbers: list[int]


class Sum(BaseModel):
    total: int


async def adds(job: JobContext, config: Numbers) -> Sum:
    job.log("adding")
    for number, _ in enumerate(config.numbers):
        job.progress(number + 1, len(config.numbers))
    job.output("dynamodb_tables", "Sums")
    job.metric("numbers", len(config.numbers))
    return Sum(total=sum(config.numbers))


async def raises(job: JobContext, config: dict[str, Any]) -> None:
    raise ValueError("no such number")


async def gives_up(job: JobContext, config: dict[str, Any]) -> None:
    raise GiveUp("never")


async def snoozes(job: JobContext, config: dict[str, Any]) -> str:
    if job.attempt == 1:
        raise Snooze(0)
    return "awake"


async def remembers(job: JobContext, config: dict[str, Any]) -> float:
    if job.job.progress is None:
        job.progress(1, 4, "asked")
        raise Snooze(0)
    return job.job.progress.fraction


async def waits(job: JobContext, config: dict[str, Any]) -> None:
    await asyncio.sleep(3600)


async def blocks(job: JobContext, config: dict[str, Any]) -> None:
    while True:
        job.check()
        time.sleep(0.005)


async def has_children(job: JobContext, config: dict[str, Any]) -> str:
    child = await job.submit(Submission("adds", {"numbers": [1, 2]}, stage="part"))
    return str(child.job.job_id)


async def prints_and_writes_its_pid(job: JobContext, config: dict[str, Any]) -> None:
    print("printed by the child")
    script = "import time, os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(3600)"
    await asyncio.create_subprocess_exec(sys.executable, "-c", script, config["file"])
    while not Path(config["file"]).exists() or not Path(config["file"]).read_text():
        await asyncio.sleep(0.01)
    job.progress(1)
    while True:
        time.sleep(0.01)


async def logs_much(job: JobContext, config: dict[str, Any]) -> None:
    for number in range(config["lines"]):
        job.log(f"line {number}")


async def returns_too_much(job: JobContext, config: dict[str, Any]) -> str:
    return "x" * 200_000


def make_jobs(runs: Any = "inline") -> Jobs:
    jobs = Jobs()
    jobs.handler("adds", config=Numbers, result=Sum, runs=runs)(adds)
    for handle in (raises, gives_up, waits, blocks, has_children, prints_and_writes_its_pid, logs_much, returns_too_much):
        jobs.handler(handle.__name__, retry=ONCE, runs=runs)(handle)
    jobs.handler("snoozes", runs=runs)(snoozes)
    jobs.handler("remembers", runs=runs)(remembers)
    return jobs


@asynccontextmanager
async def working(jobs: Jobs, **options: Any) -> AsyncIterator[tuple[AsyncQueue, Worker]]:
    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs, options.pop("settings", QueueSettings(lease_seconds=2)))
        await queue.ensure_tables()
        worker = Worker(queue, idle=(0.01, 0.05), **options)
        task = asyncio.ensure_future(worker.run())
        try:
            yield queue, worker
        finally:
            worker.stop()
            await task


async def reaches(queue: AsyncQueue, job_id: UUID, good: Callable[[Job], bool]) -> Job:
    """The job, once it is as wanted; the test's timeout is the bound."""
    news = asyncio.Event()
    loop = asyncio.get_running_loop()
    quiet = queue.context.jobs.updates.listen(lambda name: loop.call_soon_threadsafe(news.set))
    try:
        async with asyncio.timeout(60):
            while not good(job := await queue.get(job_id)):
                try:
                    await asyncio.wait_for(news.wait(), 0.2)
                except TimeoutError:
                    continue
                news.clear()
        return job
    finally:
        quiet()


async def ended(queue: AsyncQueue, job_id: UUID) -> Job:
    return await reaches(queue, job_id, lambda job: job.finished)


async def done(queue: AsyncQueue, submission: Submission) -> Job:
    return await ended(queue, (await queue.submit(submission)).job.job_id)


@pytest.mark.parametrize("runs", ["inline", "thread", "process"])
class TestEverywhere:
    async def test_a_result_is_kept_with_its_outputs_and_metrics(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("adds", Numbers(numbers=[1, 2, 3])))
        assert job.status == JobStatus.COMPLETED
        assert job.job_results is not None
        assert job.job_results.value == {"total": 6}
        assert job.job_results.output_location == {"dynamodb_tables": ["Sums"]}
        assert job.job_results.summary_metrics["numbers"] == 3
        assert job.job_results.summary_metrics["processing_time_seconds"] >= 0
        assert [entry.message for entry in job.logs.entries] == ["adding"]
        assert job.progress is not None
        assert job.progress.fraction == 1

    async def test_an_exception_fails_the_job_and_is_in_its_log(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("raises"))
        assert job.status == JobStatus.FAILED
        error = job.attempts[-1].error
        assert error is not None
        assert (error.kind, error.message) == ("ValueError", "no such number")
        assert "raises" in (error.trace or "")
        assert job.logs.entries[-1].message == "ValueError: no such number"

    async def test_giving_up_is_not_tried_again(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("gives_up", max_retries=5))
        assert (job.status, job.attempt) == (JobStatus.FAILED, 1)

    async def test_a_snoozed_job_keeps_its_progress(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("remembers"))
        assert job.job_results is not None
        assert job.job_results.value == 0.25

    async def test_a_snoozed_job_runs_again(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("snoozes"))
        assert (job.status, job.attempt, job.tries, job.retry_count) == (JobStatus.COMPLETED, 2, 1, 0)
        assert [(one.number, one.outcome, one.times) for one in job.attempts] == [(1, "completed", 1)]
        assert job.attempts[0].started_at == job.started_at

    async def test_a_handler_submits_children(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("has_children", subject="s"))
            assert job.job_results is not None
            child = await ended(queue, UUID(job.job_results.value))
        assert (child.parent_job_id, child.root_job_id, child.job_stage, child.subject) == (job.job_id, job.job_id, "part", "s")

    async def test_cancelling_ends_a_running_job(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = (await queue.submit(Submission("blocks" if runs == "thread" else "waits"))).job
            await reaches(queue, job.job_id, lambda one: one.status == JobStatus.PROCESSING)
            await queue.cancel(job.job_id, reason="enough")
            ended_job = await ended(queue, job.job_id)
        assert (ended_job.status, ended_job.cancel_reason) == (JobStatus.CANCELLED, "enough")

    @pytest.mark.parametrize("lease", [2, 60], ids=["after the first heartbeat", "before it"])
    async def test_a_job_that_takes_too_long_is_stopped(self, runs: str, lease: float) -> None:
        async with working(make_jobs(runs), settings=QueueSettings(lease_seconds=lease)) as (queue, _):
            job = await done(queue, Submission("blocks" if runs == "thread" else "waits", timeout_seconds=1))
        assert job.attempts[-1].error is not None
        assert job.attempts[-1].error.kind == "timed-out"

    async def test_a_job_is_given_back_when_its_worker_stops(self, runs: str) -> None:
        async with working(make_jobs(runs), drain_seconds=0.01) as (queue, worker):
            job = (await queue.submit(Submission("blocks" if runs == "thread" else "waits"))).job
            await reaches(queue, job.job_id, lambda one: one.status == JobStatus.PROCESSING)
            worker.stop()
            back = await reaches(queue, job.job_id, lambda one: one.status == JobStatus.PENDING)
        assert (back.retry_count, back.attempts[-1].outcome) == (0, "released")

    async def test_a_long_log_is_whole_and_in_order(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("logs_much", {"lines": 950}))
            lines = await queue.log(job.job_id)
            assert [line.message for line in lines] == [f"line {number}" for number in range(950)]
            assert [line.message for line in await queue.log(job.job_id, after=940)] == [f"line {number}" for number in range(940, 950)]
            assert len(job.logs.entries) == 20

    async def test_a_result_that_is_too_large_fails_the_job(self, runs: str) -> None:
        async with working(make_jobs(runs)) as (queue, _):
            job = await done(queue, Submission("returns_too_much", max_retries=3))
        assert (job.status, job.attempt) == (JobStatus.FAILED, 1)
        assert job.attempts[-1].error is not None
        assert job.attempts[-1].error.kind == "result-too-large"


async def test_a_process_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    async with working(make_jobs("process")) as (queue, _):
        job = (await queue.submit(Submission("prints_and_writes_its_pid", {"file": str(file)}))).job
        await reaches(queue, job.job_id, lambda one: one.progress is not None)
        await queue.cancel(job.job_id)
        ended_job = await ended(queue, job.job_id)
    assert ended_job.status == JobStatus.CANCELLED
    assert "printed by the child" in [line.message for line in ended_job.logs.entries]
    assert not is_alive(int(file.read_text()))


def is_alive(pid: int) -> bool:
    """Whether a process is there; one that is dead and only waits to be collected is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_lease_is_renewed_for_as_long_as_the_job_runs() -> None:
    jobs = make_jobs()
    async with working(jobs, settings=QueueSettings(lease_seconds=2)) as (queue, _):
        job = (await queue.submit(Submission("waits"))).job
        first = await reaches(queue, job.job_id, lambda one: one.status == JobStatus.PROCESSING)
        later = await reaches(queue, job.job_id, lambda one: one.lease_until != first.lease_until and one.lease_until is not None)
        assert later.attempt == 1
        await queue.cancel(job.job_id)
        await ended(queue, job.job_id)


async def test_a_worker_that_loses_its_lease_stops_the_handler() -> None:
    stopped = asyncio.Event()
    jobs = Jobs()

    @jobs.handler("sleeps")
    async def sleeps(job: JobContext, config: dict[str, Any]) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()

    async with working(jobs, settings=QueueSettings(lease_seconds=0.2)) as (queue, _):
        job = (await queue.submit(Submission("sleeps"))).job
        await reaches(queue, job.job_id, lambda one: one.status == JobStatus.PROCESSING)
        await queue.cancel(job.job_id, force=True)
        async with asyncio.timeout(30):
            await stopped.wait()


async def test_no_more_jobs_run_at_once_than_the_worker_has_room_for() -> None:
    jobs, most, running = Jobs(), 0, 0

    @jobs.handler("counts")
    async def counts(job: JobContext, config: dict[str, Any]) -> None:
        nonlocal most, running
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        running -= 1

    async with working(jobs, concurrency=3) as (queue, _):
        submitted = await queue.submit_many([Submission("counts") for _ in range(12)])
        for one in submitted:
            assert (await ended(queue, one.job.job_id)).status == JobStatus.COMPLETED
    assert most == 3


async def test_a_job_of_an_unknown_type_is_left_to_a_worker_that_knows_it(caplog: pytest.LogCaptureFixture) -> None:
    """A program and a host may share the tables: a worker without the handler once failed the jobs of the other."""
    one, other = make_jobs(), Jobs()
    other.handler("elsewhere", retry=ONCE)(logs_much)
    async with working(one) as (queue, _):
        elsewhere = AsyncQueue(queue.store, other)
        submitted = (await elsewhere.submit(Submission("elsewhere", {"lines": 1}, priority=90))).job
        # Its own jobs behind it are run.
        assert (await done(queue, Submission("snoozes"))).status == JobStatus.COMPLETED
        assert (await queue.get(submitted.job_id)).attempt == 0
        worker = Worker(elsewhere, idle=(0.01, 0.05))
        task = asyncio.ensure_future(worker.run())
        assert (await ended(queue, submitted.job_id)).status == JobStatus.COMPLETED
        worker.stop()
        await task
    assert [record.getMessage() for record in caplog.records if "jobs of type elsewhere wait in queue default" in record.getMessage()]


async def test_dependents_of_a_failed_job_are_cancelled_by_the_worker() -> None:
    async with working(make_jobs()) as (queue, _):
        first = (await queue.submit(Submission("raises", delay=0.5))).job
        second = (await queue.submit(Submission("adds", {"numbers": []}, dependencies=[first.job_id]))).job
        job = await ended(queue, second.job_id)
    assert (job.status, job.cancelled_by) == (JobStatus.CANCELLED, first.job_id)


async def test_a_submission_of_another_process_wakes_a_worker_that_waits(tmp_path: Path) -> None:
    """Nothing but the file is shared: neither handlers nor engine, so nobody is notified."""
    async with AsyncStore.embedded(str(tmp_path)) as near, AsyncStore.embedded(str(tmp_path)) as elsewhere:
        queue, other = AsyncQueue(near, make_jobs()), AsyncQueue(elsewhere, make_jobs())
        await queue.ensure_tables()
        worker = Worker(queue, idle=(600, 600), maintenance=False)
        task = asyncio.ensure_future(worker.run())
        await until(lambda: other.workers())
        try:
            assert (await done(other, Submission("adds", {"numbers": [1]}))).status == JobStatus.COMPLETED
            assert (await done(other, Submission("adds", {"numbers": [2]}))).status == JobStatus.COMPLETED
        finally:
            worker.stop()
            await task


async def test_a_worker_says_what_it_runs() -> None:
    async with working(make_jobs(), app_version="1.2") as (queue, worker):
        (record,) = await until(lambda: queue.workers())
        assert (record.worker_id, record.app_version, record.queues, record.pid) == (worker.worker_id, "1.2", ["default"], os.getpid())
        assert record.weights == {"default": 1}
        assert record.memory_bytes > 0


async def until(ask: Callable[[], Awaitable[list[Any]]]) -> list[Any]:
    async with asyncio.timeout(30):
        while not (found := await ask()):
            await asyncio.sleep(0.01)
    return found


def test_loaded_modules_are_excluded_from_collection() -> None:
    # In its own process: this changes the whole process.
    program = "import gc, gateleg.jobs.worker.worker as t; t.exclude_loaded_modules(); print(gc.get_freeze_count())"
    frozen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(frozen) > 1000


@pytest.fixture
def default_threshold() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


async def test_a_running_worker_collects_less_often_and_restores_the_threshold(default_threshold: tuple[int, int, int]) -> None:
    jobs, seen = Jobs(), asyncio.get_running_loop().create_future()

    @jobs.handler("looks")
    async def looks(job: JobContext, config: dict[str, Any]) -> None:
        seen.set_result(gc.get_threshold())

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        await queue.submit(Submission("looks"))
        worker = Worker(queue)
        task = asyncio.create_task(worker.run())
        during = await asyncio.wait_for(seen, 30)
        worker.stop()
        await task
    assert during[0] > default_threshold[0]
    assert gc.get_threshold() == default_threshold


def test_the_last_worker_restores_the_threshold(default_threshold: tuple[int, int, int]) -> None:
    with collecting_less_often():
        with collecting_less_often():
            raised = gc.get_threshold()
        assert gc.get_threshold() == raised != default_threshold
    assert gc.get_threshold() == default_threshold


@pytest.mark.parametrize("own", [(0, 10, 10), (50_000, 5, 5)])
def test_a_threshold_of_the_program_stays(default_threshold: tuple[int, int, int], own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with collecting_less_often():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_a_threshold_that_the_program_sets_meanwhile_stays(default_threshold: tuple[int, int, int]) -> None:
    with collecting_less_often():
        gc.set_threshold(1234, 5, 5)
    assert gc.get_threshold() == (1234, 5, 5)


async def test_an_ended_attempt_is_freed_without_the_garbage_collector() -> None:
    jobs = Jobs()

    @jobs.handler("quiet")
    async def quiet(job: JobContext, config: dict[str, Any]) -> int:
        return 1

    @jobs.handler("talks")
    async def talks(job: JobContext, config: dict[str, Any]) -> int:
        job.log("one moment")
        await asyncio.sleep(0.01)  # so that its heartbeat starts
        return 1

    attempts: list[weakref.ref[Execution]] = []

    class Watched(Worker):
        def execution(self, job: Job, handler: Handler) -> Execution:
            execution = super().execution(job, handler)
            attempts.append(weakref.ref(execution))
            return execution

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        for number in range(20):
            await queue.submit(Submission("talks" if number % 2 else "quiet"))
        worker = Watched(queue, idle=(0.01, 0.05))
        gc.collect()
        gc.disable()
        try:
            task = asyncio.create_task(worker.run())
            while len(attempts) < 20 or worker.running:
                await asyncio.sleep(0.01)
            worker.stop()
            await task
            assert [attempt() for attempt in attempts] == [None] * 20
        finally:
            gc.enable()
