"""Handlers in processes: with resources of their own, a folder for their files, and nothing left behind."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateleg.jobs import AsyncQueue, Job, JobContext, Jobs, JobStatus, QueueSettings, Submission, Worker
from gateleg.jobs.errors import BadHandler, UseAwait
from gateleg.jobs.worker import runs
from gateleg.jobs.worker.attempt import in_own_process
from gateleg.jobs.worker.output import ScratchFolders
from gateleg.processes.supervisor import descendants
from gateleg.store import AsyncStore
from tests.jobs.process_app import registered
from tests.jobs.worker.test_worker import done, ended, is_alive, reaches, working


@asynccontextmanager
async def beside(folder: Path, **options: Any) -> AsyncIterator[tuple[AsyncQueue, Worker]]:
    """A worker on a file, whose handlers open it a second time in their processes."""
    place = f"embedded:{folder}/data"
    async with AsyncStore.connect(place) as store:
        queue = AsyncQueue(store, registered(place), QueueSettings(lease_seconds=5))
        await queue.ensure_tables()
        worker = Worker(queue, scratch=folder / "scratch", **options)
        task = asyncio.ensure_future(worker.run())
        try:
            yield queue, worker
        finally:
            worker.stop()
            await task


async def gone(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not check():
            await asyncio.sleep(0.01)


def value_of(job: Job) -> Any:
    assert job.job_results is not None, job.attempts
    return job.job_results.value


async def test_a_handler_within_a_function_is_made_again_with_resources_of_its_own(tmp_path: Path) -> None:
    async with beside(tmp_path) as (queue, _):
        found = value_of(await done(queue, Submission("counts", {"word": "you"})))
    assert (found["seen"], found["said"]) == ("PROCESSING", "Hello you")
    assert found["pid"] != os.getpid()


async def test_a_plain_function_waits_for_what_must_be_awaited_and_submits_children(tmp_path: Path) -> None:
    async with beside(tmp_path) as (queue, _):
        job = await done(queue, Submission("plain", {"word": "here"}))
        found = value_of(job)
        child = await ended(queue, found["child"])
    assert (found["seen"], found["inside"]) == ("PROCESSING", True)
    assert child.parent_job_id == job.job_id
    assert not Path(found["scratch"]).exists()


async def test_a_scratch_folder_is_the_attempts_own_and_goes_with_it(tmp_path: Path) -> None:
    async with beside(tmp_path) as (queue, _):
        first, second = [value_of(await done(queue, Submission("echo", {"word": "x"}))) for _ in range(2)]
        assert first != second
        assert not Path(first).exists()
    assert list((tmp_path / "scratch").iterdir()) == []


async def test_domain_errors_end_a_job_as_they_do_inline(tmp_path: Path) -> None:
    async with beside(tmp_path) as (queue, _):
        gave_up = await done(queue, Submission("refuses", {"word": "give up"}))
        never = await done(queue, Submission("refuses"))
    assert (gave_up.status, gave_up.attempt, gave_up.attempts[-1].error.kind if gave_up.attempts[-1].error else None) == (
        JobStatus.FAILED,
        1,
        "give-up",
    )
    assert (never.status, never.attempt, never.attempts[-1].error.kind if never.attempts[-1].error else None) == (
        JobStatus.FAILED,
        1,
        "KeyError",
    )


@pytest.mark.parametrize("how", ["cancelled", "timed-out", "lease-lost"])
async def test_a_handler_that_listens_to_nobody_is_killed_with_all_it_has_started(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "KILL_AFTER_SECONDS", 0.1)
    file = tmp_path / "pids"
    async with beside(tmp_path) as (queue, worker):
        job = (await queue.submit(Submission("hangs", {"file": str(file)}))).job
        await reaches(queue, job.job_id, lambda one: one.progress is not None)
        *pids, scratch = file.read_text().split()
        if how == "timed-out":
            worker.running[job.job_id].stop("timed-out")
        else:
            await queue.cancel(job.job_id, force=how == "lease-lost")
        await ended(queue, job.job_id)
        await gone(lambda: not any(is_alive(int(pid)) for pid in pids) and not Path(scratch).exists())


async def test_kill_9_of_a_worker_leaves_no_process_and_no_folder_of_the_attempt(tmp_path: Path) -> None:
    file, place = tmp_path / "pids", f"embedded:{tmp_path}/data"
    worker = subprocess.Popen([sys.executable, "-m", "tests.jobs.process_app", str(tmp_path)])
    try:
        async with AsyncStore.connect(place) as store:
            queue = AsyncQueue(store, registered(place), QueueSettings(lease_seconds=5))
            await queue.ensure_tables()
            job = (await queue.submit(Submission("hangs", {"file": str(file)}))).job
            await reaches(queue, job.job_id, lambda one: one.progress is not None)
            *pids, scratch = file.read_text().split()
            worker.send_signal(signal.SIGKILL)
            worker.wait()
            await gone(lambda: not any(is_alive(int(pid)) for pid in pids) and not Path(scratch).exists())
            await queue.cancel(job.job_id, force=True)
        async with beside(tmp_path):
            await gone(lambda: list((tmp_path / "scratch").iterdir()) == [])
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()


def test_folders_of_a_worker_that_lives_are_not_swept(tmp_path: Path) -> None:
    one, other = ScratchFolders(tmp_path, "host:1"), ScratchFolders(tmp_path, "host:2")
    job = Job(job_type="x")
    folder = one.make(job)
    assert other.sweep() == 0
    assert folder.exists()
    one.remove(folder)
    one.make(job)
    one.close()
    assert list(tmp_path.iterdir()) == []


def test_what_an_attempt_could_not_remove_is_swept_later(tmp_path: Path) -> None:
    folders = ScratchFolders(tmp_path, "w")
    left = folders.make(Job(job_type="x")).parent / "left"
    left.mkdir()
    assert folders.sweep() == 1
    assert not left.exists()
    folders.close()


async def test_a_worker_does_not_start_with_a_handler_that_its_processes_cannot_get() -> None:
    jobs = Jobs()

    @jobs.handler("inner", runs="process")
    def inner(job: JobContext, config: Any) -> None: ...

    async with AsyncStore.connect("embedded::memory:") as store:
        queue = AsyncQueue(store, jobs)
        await queue.ensure_tables()
        with pytest.raises(BadHandler, match="cannot import"):
            await Worker(queue).run()


async def test_waiting_in_an_event_loop_is_refused() -> None:
    jobs, refused = Jobs(), []

    @jobs.handler("waits")
    async def waits(job: JobContext, config: Any) -> None:
        try:
            job.wait(asyncio.sleep(0))
        except UseAwait as error:
            refused.append(error.code)

    async with working(jobs) as (queue, _):
        await done(queue, Submission("waits"))
    assert refused == ["use-await"]


def test_a_suspect_job_of_an_application_can_be_confined() -> None:
    assert in_own_process(registered("embedded::memory:").of("echo")).runs == "process"


async def test_the_next_process_is_started_before_it_is_needed_and_ends_with_the_worker(tmp_path: Path) -> None:
    async with beside(tmp_path) as (queue, worker):
        await done(queue, Submission("counts"))
        spare = worker.resources.children._spare
        assert spare is not None
        waiting = await spare
        supervisor = waiting.pid
        assert supervisor is not None
        await gone(lambda: bool(descendants(supervisor)))
        (handler,) = descendants(supervisor)
        assert value_of(await done(queue, Submission("counts")))["pid"] == handler
        later = worker.resources.children._spare
        assert later is not None
        last = await later
        assert last.alive
    assert (waiting.alive, last.alive) == (False, False)
