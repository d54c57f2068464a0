import asyncio
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from gateleg.cli.demo.application import application
from gateleg.cli.worker_process import WorkerTask, worker_process
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus, Submission, follow_async


def settings_in(folder: Path) -> Settings:
    return Settings(store=f"embedded:{folder}", objects=f"dir:{folder}/objects", data=folder)


async def done(host: Host) -> JobStatus:
    """The state in which a job ends that a worker elsewhere runs."""
    job = (await host.queue.submit(Submission("demo.decades", {}))).job
    async for update in follow_async(host.queue, job.job_id, every=0.05):
        if update.last:
            return update.job.status
    raise AssertionError


async def test_a_companion_works_until_nobody_holds_its_input(tmp_path: Path) -> None:
    task = WorkerTask.of(settings_in(tmp_path), demo=True, concurrency=1, drain_seconds=1)
    async with Host.open(settings_in(tmp_path), [application]) as host:
        with subprocess.Popen([sys.executable, "-m", "gateleg.cli.worker_process"], stdin=subprocess.PIPE) as process:
            try:
                assert process.stdin is not None
                process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
                process.stdin.flush()
                assert await asyncio.wait_for(done(host), 120) == JobStatus.COMPLETED
                process.stdin.close()
                assert await asyncio.to_thread(process.wait, 60) == 0
            finally:
                process.kill()


async def test_a_companion_is_there_for_the_block_and_gone_after_it(tmp_path: Path) -> None:
    task = WorkerTask.of(settings_in(tmp_path), demo=True, concurrency=1, drain_seconds=1)
    async with Host.open(settings_in(tmp_path), [application]) as host:
        async with worker_process(task, asyncio.Event()):
            assert await asyncio.wait_for(done(host), 120) == JobStatus.COMPLETED
            assert len({worker.pid for worker in await host.queue.workers()}) == 1
        assert await host.queue.workers() == []


async def test_a_companion_leaves_when_told_while_its_host_still_serves(tmp_path: Path) -> None:
    task, stop = WorkerTask.of(settings_in(tmp_path), demo=True, concurrency=1, drain_seconds=1), asyncio.Event()
    async with Host.open(settings_in(tmp_path), [application]) as host, worker_process(task, stop):
        assert await asyncio.wait_for(done(host), 120) == JobStatus.COMPLETED
        stop.set()
        async with asyncio.timeout(60):
            while await host.queue.workers():
                await asyncio.sleep(0.05)


def test_a_companion_without_a_task_ends_at_once() -> None:
    assert subprocess.run([sys.executable, "-m", "gateleg.cli.worker_process"], stdin=subprocess.DEVNULL, timeout=60).returncode == 0


def test_a_task_carries_the_secret_that_its_host_was_given() -> None:
    secret = "0123456789abcdef"
    task = WorkerTask.of(Settings.model_validate({"secret": secret}), demo=False, concurrency=1, drain_seconds=1)
    again = Settings.unpack(json.loads(json.dumps(asdict(task)))["settings"])
    assert again.load_secret().value == secret.encode()
