"""Handlers that block the event loop of their worker are seen, and their time is up all the same."""

import asyncio
import importlib
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs.handlers import Jobs
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import JobStatus
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker.attempt import Watchdog, blocker, watching_loop
from tests.jobs.worker.test_worker import ONCE, done, working


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
