"""Attempts: handlers that block their worker's event loop, and jobs that were lost with their workers."""

import asyncio
import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs.handlers import Handler, Jobs
from gateleg.jobs.rules import Retry
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job, JobStatus, Readiness
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.attempt import Watchdog, blocker, in_own_process, watching_loop
from tests.jobs.worker.test_worker import ONCE, Numbers, adds, done, ended, reaches, working


class Told(logging.Handler):
    """Sets an event once somebody is told that the loop is blocked."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.heard = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "event loop" in record.getMessage():
            self.records.append(record)
            self.heard.set()


@pytest.fixture
def told() -> Iterator[Told]:
    handler, logger = Told(), logging.getLogger("gateleg.jobs")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def blocks_until(told: Told) -> None:
    assert told.heard.wait(30)
    told.heard.clear()


async def test_a_handler_that_blocks_is_told_with_its_job_and_its_stack_once_each_time(told: Told) -> None:
    jobs = Jobs()

    @jobs.handler("blocks", retry=ONCE)
    async def blocks(job: JobContext, config: dict[str, Any]) -> None:
        blocks_until(told)
        # Not again while it goes on: this waits for three more looks of the watchdog.
        assert not told.heard.wait(0.75)
        beats = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.5, beats.set_result, None)
        await beats
        blocks_until(told)

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("blocks"))
    assert job.status == JobStatus.COMPLETED
    assert len(told.records) == 2
    message = told.records[0].getMessage()
    assert f"blocks {job.job_id} has blocked the worker's event loop" in message
    assert "in blocks_until" in message
    assert "runners.py" not in message
    assert told.records[0].job_id == str(job.job_id)  # type: ignore[attr-defined]
    warned = [entry.message for entry in job.logs.entries if entry.level == "WARNING"]
    assert len([line for line in warned if line.startswith("The handler has blocked the worker's event loop")]) == 2


async def test_what_blocks_beside_handlers_is_told_with_its_stack(told: Told) -> None:
    with watching_loop(0.05):
        blocks_until(told)
    assert "but not by a handler" in told.records[0].getMessage()
    assert "in blocks_until" in told.records[0].getMessage()


async def test_a_loop_that_turns_is_not_told(told: Told) -> None:
    with watching_loop(0.05):
        for _ in range(10):
            await asyncio.sleep(0.02)
    assert told.records == []


async def test_workers_that_share_a_loop_tell_it_once(told: Told) -> None:
    before = threading.active_count()
    with watching_loop(0.05):
        with watching_loop(0.05):
            assert threading.active_count() == before + 1
        blocks_until(told)
        assert not told.heard.wait(0.2)
    assert len(told.records) == 1
    assert threading.active_count() == before


async def test_the_watchdog_ends_with_its_block() -> None:
    before = threading.active_count()
    watchdog = Watchdog(asyncio.get_running_loop(), 10)
    watchdog.start()
    assert threading.active_count() == before + 1
    watchdog.end()
    assert threading.active_count() == before


def test_a_stack_without_a_handler_belongs_to_nobody() -> None:
    run, stack = blocker(sys._getframe())
    assert run is None
    assert stack.splitlines()[-2].endswith("in test_a_stack_without_a_handler_belongs_to_nobody")
    assert blocker(None) == (None, "")


def test_a_long_stack_is_shown_without_its_middle() -> None:
    def even(left: int) -> str:
        return odd(left - 1) if left else blocker(sys._getframe())[1]

    def odd(left: int) -> str:
        return even(left - 1)

    shown = even(40)
    assert "more ..." in shown
    assert len(shown.splitlines()) < 30
    assert shown.splitlines()[-1].strip().startswith("return odd(left - 1)")


async def test_an_inline_handler_that_comes_back_after_its_timeout_has_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, loop = Jobs(), asyncio.get_running_loop()
    usual = loop.time

    @jobs.handler("late", retry=ONCE, timeout=10)
    async def late(job: JobContext, config: dict[str, Any]) -> str:
        # Eleven seconds pass, in which the loop does not turn.
        monkeypatch.setattr(loop, "time", lambda: usual() + 11)
        return "too late"

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("late"))
    assert job.status == JobStatus.FAILED
    assert job.attempts[-1].error is not None
    assert job.attempts[-1].error.kind == "timed-out"
    assert job.job_results is not None
    assert job.job_results.value is None


async def test_an_inline_handler_that_comes_back_in_time_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, loop = Jobs(), asyncio.get_running_loop()
    usual = loop.time

    @jobs.handler("late", retry=ONCE, timeout=10)
    async def late(job: JobContext, config: dict[str, Any]) -> str:
        monkeypatch.setattr(loop, "time", lambda: usual() + 9)
        return "in time"

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("late"))
    assert job.status == JobStatus.COMPLETED


def test_the_frames_of_an_import_are_those_of_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imports_slowly.py").write_text(
        "import sys\nfrom gateleg.jobs.worker.attempt import blocker\nstack = blocker(sys._getframe())[1]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    stack = importlib.import_module("imports_slowly").stack
    assert "imports_slowly.py" in stack
    assert "frozen importlib" not in stack


running: set[str] = set()
beside: dict[str, set[str]] = {}


async def tells_its_process(job: JobContext, config: dict[str, Any]) -> int:
    return os.getpid()


async def ends_its_process(job: JobContext, config: dict[str, Any]) -> None:
    os._exit(3)


def plain(job: JobContext, config: dict[str, Any]) -> int:
    return os.getpid()


async def waits_a_moment(job: JobContext, config: dict[str, Any]) -> None:
    await asyncio.sleep(0.05)


def test_what_a_process_can_import_runs_in_one() -> None:
    async def inner(job: JobContext, config: Any) -> None: ...

    assert in_own_process(Handler("x", tells_its_process)).runs == "process"
    assert in_own_process(Handler("x", plain, runs="thread")).runs == "process"
    assert in_own_process(Handler("x", adds, config=Numbers)).runs == "process"
    assert in_own_process(Handler("x", inner)).runs == "inline"


async def lost(queue: Any, job_type: str, times: int, **options: Any) -> Job:
    """A job that was lost with its worker some times already."""
    job: Job = (await queue.submit(Submission(job_type, delay=3600, **options))).job
    return await queue.store.patch(job, Job.losses.set(times), Job.readiness.set(Readiness.READY))  # type: ignore[no-any-return]


async def test_a_job_that_was_lost_twice_runs_in_a_process_and_one_that_was_lost_once_does_not() -> None:
    jobs = Jobs()
    jobs.handler("tells")(tells_its_process)
    async with working(jobs) as (queue, _):
        once = await ended(queue, (await lost(queue, "tells", 1)).job_id)
        twice = await ended(queue, (await lost(queue, "tells", 2)).job_id)
    assert once.job_results is not None
    assert twice.job_results is not None
    assert once.job_results.value == os.getpid()
    assert twice.job_results.value != os.getpid()


async def test_what_ends_its_process_fails_there_and_leaves_the_worker_alive() -> None:
    jobs = Jobs()
    jobs.handler("ends", retry=Retry(times=0))(ends_its_process)
    jobs.handler("waits")(waits_a_moment)
    async with working(jobs) as (queue, _):
        poison = await ended(queue, (await lost(queue, "ends", 2)).job_id)
        sound = await ended(queue, (await lost(queue, "waits", 0)).job_id)
    assert (poison.status, sound.status) == (JobStatus.FAILED, JobStatus.COMPLETED)
    error = poison.attempts[-1].error
    assert error is not None
    assert error.kind == "process-died"


@pytest.mark.parametrize("losses", [0, 2])
async def test_a_job_that_was_lost_twice_has_nothing_beside_it(losses: int) -> None:
    running.clear()
    beside.clear()
    jobs = Jobs()

    @jobs.handler("looks")
    async def looks(job: JobContext, config: dict[str, Any]) -> None:
        running.add(str(job.job_id))
        for _ in range(10):
            beside.setdefault(str(job.job_id), set()).update(running - {str(job.job_id)})
            await asyncio.sleep(0.005)
        running.discard(str(job.job_id))

    async with working(jobs, concurrency=3) as (queue, _):
        await queue.pause("default")
        names = [(await lost(queue, "looks", losses if number % 2 else 0)).job_id for number in range(8)]
        await queue.resume("default")
        for name in names:
            assert (await ended(queue, name)).status == JobStatus.COMPLETED
    alone = [not beside[str(name)] for name in names[1::2]]
    assert all(alone) is (losses == 2)


async def test_a_job_that_waits_for_its_turn_is_given_back_when_the_worker_stops() -> None:
    jobs, go = Jobs(), asyncio.Event()

    @jobs.handler("holds")
    async def holds(job: JobContext, config: dict[str, Any]) -> None:
        await go.wait()

    async with working(jobs, drain_seconds=0.1) as (queue, worker):
        first = (await queue.submit(Submission("holds"))).job
        await reaches(queue, first.job_id, lambda job: job.status == JobStatus.PROCESSING)
        second = await lost(queue, "holds", 2)
        await reaches(queue, second.job_id, lambda job: job.status == JobStatus.PROCESSING)
        worker.stop()
        given_back = await reaches(queue, second.job_id, lambda job: job.status == JobStatus.PENDING)
        assert given_back.attempts[-1].outcome == "released"
