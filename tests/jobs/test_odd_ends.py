"""Ends that cannot be written as they are, and words that nobody expected: each is told, and none costs a job its lease."""

import asyncio
import random
import string
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus
from gateleg.jobs.tasks import JobContext, Snooze
from gateleg.jobs.worker.worker import Worker
from tests.jobs.worker.test_worker import done, is_alive, working

ONCE = Retry(times=0)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("says nothing")


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def raising(error: BaseException) -> Callable[[JobContext], Any]:
    def raises(job: JobContext) -> None:
        raise error

    return raises


async def ran(work: Callable[[JobContext], Any], **options: Any) -> Job:
    """A job that does this once, as it is when it has ended."""
    jobs = Jobs()

    @jobs.handler("odd", retry=ONCE, **options)
    async def odd(job: JobContext, config: dict[str, Any]) -> Any:
        return work(job)

    async with working(jobs) as (queue, _):
        return await done(queue, Submission("odd"))


def failure(job: Job) -> tuple[str, str]:
    error = job.attempts[-1].error
    assert error is not None
    return error.kind, error.message


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (float("nan"), "number-refused"),
        ({"score": float("inf")}, "number-refused"),
        ([1e300], "number-refused"),
        (datetime(2026, 1, 1), "naive-time"),
        (nested(100), "refused"),
    ],
)
async def test_a_result_that_cannot_be_stored_is_a_failure_that_says_so(result: Any, kind: str) -> None:
    job = await ran(lambda job: result)
    assert job.status == JobStatus.FAILED
    assert failure(job)[0] == kind
    assert "handler returned" in failure(job)[1]


async def test_a_metric_that_cannot_be_stored_is_a_failure_that_says_so() -> None:
    assert failure(await ran(lambda job: job.metric("loss", float("nan"))))[0] == "number-refused"


async def test_an_output_that_is_no_text_is_a_failure_that_says_so() -> None:
    assert "takes a kind and keys as text, and was given 5" in failure(await ran(lambda job: job.output("tables", 5)))[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300])
async def test_progress_that_is_no_number_is_refused_where_it_is_told(number: float) -> None:
    assert "cannot be stored" in failure(await ran(lambda job: job.progress(1, number)))[1]


async def test_what_is_no_text_is_escaped_in_the_log_and_in_progress() -> None:
    def speaks(job: JobContext) -> None:
        job.log("file \udcff", "IN\udcffFO")
        job.progress(1, 2, "\ud800 half" * 1000)

    job = await ran(speaks)
    assert job.status == JobStatus.COMPLETED
    assert [(line.message, line.level) for line in job.logs.entries] == [("file \\udcff", "IN\\udcffFO")]
    assert job.progress is not None
    assert len(job.progress.message) <= 500


async def test_an_exception_that_says_what_is_no_text_is_told() -> None:
    assert failure(await ran(raising(ValueError("file \udcff")))) == ("ValueError", "file \\udcff")


async def test_an_exception_that_cannot_speak_is_told_by_its_class() -> None:
    assert failure(await ran(raising(Mute())))[1] == "Mute"


@pytest.mark.parametrize("letters", [string.ascii_letters + string.digits, "".join(map(chr, range(0x4E00, 0x5000)))])
async def test_a_log_of_long_lines_that_do_not_shrink_is_whole(letters: str) -> None:
    chance = random.Random(7)
    lines = ["".join(chance.choices(letters, k=2000)) for _ in range(450)]
    jobs = Jobs()

    @jobs.handler("odd", retry=ONCE)
    async def odd(job: JobContext, config: dict[str, Any]) -> str:
        for line in lines:
            job.log(line)
        return "x" * 90_000

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("odd", {"text": "y" * 190_000}))
        assert job.status == JobStatus.COMPLETED
        assert [line.message for line in await queue.log(job.job_id)] == lines


async def test_errors_that_tell_much_do_not_fill_the_job() -> None:
    jobs = Jobs()

    @jobs.handler("odd", retry=Retry(times=25, first=0))
    async def odd(job: JobContext, config: dict[str, Any]) -> None:
        raise ValueError("\u4e00" * 3000)

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("odd", {"text": "y" * 190_000}))
    assert (job.status, job.tries) == (JobStatus.FAILED, 26)
    assert {error.kind for attempt in job.attempts if (error := attempt.error) is not None} == {"ValueError"}
    assert job.attempts[-1].error is not None
    assert job.attempts[-1].error.trace is not None


async def test_a_job_without_room_for_its_last_words_is_completed_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.jobs.monitor.listing.KEPT_BYTES", 10**9)

    def speaks(job: JobContext) -> str:
        for _ in range(20):
            job.log("\u4e00" * 2000)
        return "kept"

    jobs = Jobs()

    @jobs.handler("odd", retry=ONCE)
    async def odd(job: JobContext, config: dict[str, Any]) -> str:
        return speaks(job)

    async with working(jobs) as (queue, _):
        queue.context.settings.__dict__["config_limit"] = 390_000
        job = await done(queue, Submission("odd", {"text": "y" * 380_000}))
    assert job.job_results is not None
    assert (job.status, job.job_results.value) == (JobStatus.COMPLETED, "kept")
    assert "could not be stored" in job.logs.entries[0].message


async def test_a_lease_is_renewed_also_when_there_is_no_room_for_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.jobs.monitor.listing.KEPT_BYTES", 10**9)
    jobs = Jobs()
    async with working(jobs) as (queue, _):

        @jobs.handler("odd", retry=ONCE)
        async def odd(job: JobContext, config: dict[str, Any]) -> str:
            for _ in range(20):
                job.log("\u4e00" * 2000)
            while (await queue.get(job.job_id)).lease_until == job.job.lease_until:
                await asyncio.sleep(0.01)
            return "kept"

        queue.context.settings.__dict__["config_limit"] = 390_000
        job = await done(queue, Submission("odd", {"text": "y" * 380_000}))
    assert (job.status, job.tries) == (JobStatus.COMPLETED, 1)
    assert "could not be stored" in job.logs.entries[0].message


async def test_a_handler_that_exits_ends_itself_and_not_the_worker() -> None:
    jobs = Jobs()

    @jobs.handler("exits", retry=ONCE)
    async def exits(job: JobContext, config: dict[str, Any]) -> None:
        sys.exit(3)

    @jobs.handler("works", priority=0)
    async def works(job: JobContext, config: dict[str, Any]) -> None: ...

    async with working(jobs) as (queue, _):
        assert "sys.exit(3)" in failure(await done(queue, Submission("exits")))[1]
        assert (await done(queue, Submission("works"))).status == JobStatus.COMPLETED


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e15])
def test_a_job_cannot_be_snoozed_for_ever(seconds: float) -> None:
    with pytest.raises(ValueError, match="Snooze needs"):
        Snooze(seconds)


async def test_a_thread_that_speaks_without_end_does_not_keep_its_job_from_ending() -> None:
    jobs, over = Jobs(), [False]

    @jobs.handler("odd", retry=ONCE, runs="thread", timeout=1)
    async def odd(job: JobContext, config: dict[str, Any]) -> None:
        while not over[0]:
            job.log("again")

    async with working(jobs) as (queue, worker):
        worker.execution = _impatient(worker)  # type: ignore[method-assign]
        try:
            job = await done(queue, Submission("odd"))
        finally:
            over[0] = True
    assert failure(job)[0] == "timed-out"


def _impatient(worker: Worker) -> Callable[..., Any]:
    from gateleg.jobs.worker.attempt import Execution

    return lambda job, handler: Execution(worker.queue, job, handler, worker.resources, grace=0.1)


async def prints_a_long_line(job: JobContext, config: dict[str, Any]) -> str:
    for _ in range(3):
        print("é" * 100_000, flush=True)
    return "printed"


async def leaves_a_daemon(job: JobContext, config: dict[str, Any]) -> int:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True).pid


async def returns_far_too_much(job: JobContext, config: dict[str, Any]) -> str:
    return "x" * 20_000_000


async def speaks_oddly_and_raises(job: JobContext, config: dict[str, Any]) -> None:
    job.log("file \udcff")
    raise ValueError("no file \udcff")


class TestProcesses:
    async def run(self, handle: Callable[..., Any]) -> Job:
        jobs = Jobs()
        jobs.handler("odd", retry=ONCE, runs="process", timeout=50)(handle)
        async with working(jobs) as (queue, _):
            return await done(queue, Submission("odd"))

    async def test_may_print_lines_of_any_length(self) -> None:
        job = await self.run(prints_a_long_line)
        assert job.job_results is not None
        assert job.job_results.value == "printed"
        assert {letter for line in job.logs.entries for letter in line.message} == {"é"}

    async def test_leave_nothing_behind_even_if_it_has_a_session_of_its_own(self) -> None:
        job = await self.run(leaves_a_daemon)
        assert job.status == JobStatus.COMPLETED
        assert job.job_results is not None
        assert not is_alive(job.job_results.value)

    async def test_that_return_far_too_much_are_told_so(self) -> None:
        assert failure(await self.run(returns_far_too_much))[0] == "too-much-at-once"

    async def test_may_say_what_is_no_text(self) -> None:
        job = await self.run(speaks_oddly_and_raises)
        assert failure(job) == ("ValueError", "no file \\udcff")
        assert job.logs.entries[0].message == "file \\udcff"
