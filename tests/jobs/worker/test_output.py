"""What handlers print and log is in the log of their job, and still where it went before."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.jobs.handlers import Jobs, Runs
from gateleg.jobs.submission import Submission
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tasks import JobContext
from gateleg.jobs.worker import output
from gateleg.jobs.worker.output import PrintedLines
from gateleg.jobs.worker.worker import Worker
from tests.jobs.worker.test_worker import ONCE, done, ended, working

shop = logging.getLogger("shop")


async def speaks(job: JobContext, config: dict[str, Any]) -> None:
    print("printed", config.get("name", ""))
    print("to stderr", file=sys.stderr)
    shop.info("logged %d", 7)
    job.log("said")
    try:
        raise ValueError("not this time")
    except ValueError:
        shop.exception("went wrong")
    await asyncio.to_thread(print, "from a thread")
    await asyncio.create_task(speaks_in_a_task())
    print("without an end", end="")


async def speaks_in_a_task() -> None:
    print("from a task")


def speaks_plainly(job: JobContext, config: dict[str, Any]) -> str:
    print("printed by a plain function")
    shop.warning("logged by a plain function")
    return "done"


async def starts_a_command(job: JobContext, config: dict[str, Any]) -> None:
    subprocess.run([sys.executable, "-c", "print('from a command')"], check=True)


async def prints_much(job: JobContext, config: dict[str, Any]) -> None:
    for number in range(config["lines"]):
        print("line", number)


def speaking(runs: Runs = "inline") -> Jobs:
    jobs = Jobs()
    for handle in (speaks, starts_a_command, prints_much):
        jobs.handler(handle.__name__, retry=ONCE, runs=runs)(handle)
    jobs.handler("speaks_plainly", retry=ONCE)(speaks_plainly)
    return jobs


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    """Logging as `gateleg worker` has it."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.INFO)
    yield
    root.setLevel(before)


def messages(job: Job) -> list[tuple[str, str]]:
    return [(entry.level, entry.message) for entry in job.logs.entries]


@pytest.mark.parametrize("runs", ["inline", "thread", "process"])
async def test_what_a_handler_prints_and_logs_is_in_its_log_in_order(runs: Runs) -> None:
    async with working(speaking(runs)) as (queue, _):
        job = await done(queue, Submission("speaks", {"name": "x"}))
    told = messages(job)
    assert told[:5] == [("INFO", "printed x"), ("INFO", "to stderr"), ("INFO", "logged 7"), ("INFO", "said"), ("ERROR", "went wrong")]
    assert ("ERROR", "ValueError: not this time") in told
    assert told[-3:] == [("INFO", "from a thread"), ("INFO", "from a task"), ("INFO", "without an end")]


async def test_a_plain_function_is_run_in_a_thread_and_heard() -> None:
    async with working(speaking()) as (queue, _):
        job = await done(queue, Submission("speaks_plainly"))
    assert job.job_results is not None
    assert job.job_results.value == "done"
    assert messages(job) == [("INFO", "printed by a plain function"), ("WARNING", "logged by a plain function")]


async def test_what_a_command_of_a_process_prints_is_in_the_log() -> None:
    async with working(speaking("process")) as (queue, _):
        job = await done(queue, Submission("starts_a_command"))
    assert messages(job) == [("INFO", "from a command")]


async def test_output_still_goes_to_where_it_went_before(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    before = sys.stdout, sys.stderr, logging.getLogger().handlers[:]
    async with working(speaking()) as (queue, _):
        await done(queue, Submission("speaks"))
        print("from the application")
    out, err = capsys.readouterr()
    assert "printed" in out.splitlines()[0]
    assert "from the application" in out
    assert err == "to stderr\n"
    assert "logged 7" in caplog.messages
    assert (sys.stdout, sys.stderr, logging.getLogger().handlers) == before


async def test_jobs_that_run_at_once_have_logs_of_their_own() -> None:
    async with working(speaking("thread"), concurrency=8) as (queue, _):
        submitted = await queue.submit_many([Submission("speaks", {"name": str(number)}) for number in range(8)])
        for number, one in enumerate(submitted):
            told = messages(await ended(queue, one.job.job_id))
            assert [text for _, text in told if text.startswith("printed")] == [f"printed {number}"]


async def test_two_workers_of_a_process_do_not_hear_anything_twice() -> None:
    before = sys.stdout
    async with working(speaking()) as (queue, worker):
        other = Worker(worker.queue, idle=(0.01, 0.05))
        task = asyncio.ensure_future(other.run())
        job = await done(queue, Submission("speaks", {"name": "x"}))
        other.stop()
        await task
        again = await done(queue, Submission("speaks", {"name": "x"}))
    assert sys.stdout is before
    assert [text for _, text in messages(job)].count("printed x") == 1
    assert [text for _, text in messages(again)].count("printed x") == 1


async def test_the_loggers_of_the_queue_are_not_part_of_a_jobs_log() -> None:
    jobs = Jobs()

    @jobs.handler("job")
    async def handle(job: JobContext, config: dict[str, Any]) -> None:
        logging.getLogger("gateleg.jobs.worker.worker").warning("of the worker")
        logging.getLogger("gateleg.store").warning("of the store")

    async with working(jobs) as (queue, _):
        job = await done(queue, Submission("job"))
    assert messages(job) == [("WARNING", "of the store")]


async def test_a_store_that_logs_each_write_does_not_make_a_job_log_without_end() -> None:
    """The heartbeat that writes a line down is not part of the handler, although the handler has caused it."""
    writes = 0
    jobs = Jobs()
    written = asyncio.Event()

    @jobs.handler("job")
    async def handle(job: JobContext, config: dict[str, Any]) -> None:
        print("one line")
        await written.wait()

    async with working(jobs) as (queue, worker):
        renew = worker.queue.renew

        async def logged(*arguments: Any, **options: Any) -> Any:
            nonlocal writes
            writes += 1
            shop.warning("write %d", writes)
            found = await renew(*arguments, **options)
            written.set()
            return found

        worker.queue.renew = logged
        job = await done(queue, Submission("job"))
    assert writes > 0
    assert messages(job) == [("INFO", "one line")]


async def test_a_worker_can_leave_output_alone() -> None:
    before = sys.stdout
    jobs = Jobs()
    seen: list[object] = []

    @jobs.handler("job")
    async def handle(job: JobContext, config: dict[str, Any]) -> None:
        seen.append(sys.stdout)
        print("for the terminal")

    async with working(jobs, capture=False) as (queue, _):
        job = await done(queue, Submission("job"))
    assert seen == [before]
    assert messages(job) == []


@pytest.mark.parametrize("runs", ["inline", "process"])
async def test_a_handler_that_prints_without_end_does_not_fill_memory(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_CAPTURED_LINES", 50)
    async with working(speaking(runs)) as (queue, _):
        job = await done(queue, Submission("prints_much", {"lines": 20_000}))
        lines = [line.message for line in await queue.log(job.job_id)]
    kept = [line for line in lines if line.startswith("line ")]
    left_out = [int(line.split()[0].replace(",", "")) for line in lines if "were dropped here" in line]
    assert kept[0] == "line 0"
    assert left_out
    assert len(kept) + sum(left_out) == 20_000


def test_pieces_become_lines_of_each_stream_apart() -> None:
    lines: list[str] = []
    printed = PrintedLines(lines.append)
    printed.write("stdout", "a")
    printed.write("stderr", "x\ny")
    printed.write("stdout", "b\n\nc")
    printed.end()
    assert lines == ["x", "ab", "", "c", "y"]


def test_a_line_without_end_is_cut() -> None:
    lines: list[str] = []
    printed = PrintedLines(lines.append)
    for _ in range(3):
        printed.write("stdout", "x" * 40_000)
    assert [len(line) for line in lines] == [80_000]
