import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.worker import _limits, _opened, _warn_of_unserved
from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine
from gateleg.host.settings import Settings
from gateleg.jobs import Queue, Submission, follow
from gateleg.jobs import QueueSettings as JobSettings
from gateleg.jobs import TestWorker as InlineWorker
from gateleg.jobs.retention import log_key
from gateleg.objects import DirectoryObjects
from gateleg.store import Store
from tests.cli import stubborn
from tests.jobs import chores

COMMAND = [sys.executable, "-m", "gateleg"]
DEMO = "gateleg.cli.demo.application:application"


def test_a_worker_runs_the_jobs_of_an_application_with_its_store_and_objects(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONUNBUFFERED": "1"}
    (tmp_path / "gateleg.toml").write_text('objects = "dir:./d/objects"\nstore = "embedded:./d"\n')
    process = subprocess.Popen([*COMMAND, "worker", "--app", DEMO], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environ)
    with process:
        try:
            assert process.stdout is not None
            assert "works on default of embedded:./d" in process.stdout.readline()
            submit = [*COMMAND, "jobs", "submit", "demo.decades", "--app", DEMO, "--store", "embedded:./d", "--follow"]
            told = subprocess.run(submit, cwd=tmp_path, capture_output=True, text=True, check=True, env=environ, timeout=120).stdout
            assert "demo/charts/decades.svg written" in told
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert DirectoryObjects(tmp_path / "d" / "objects").get("demo/charts/decades.svg").startswith(b"<svg")


@pytest.mark.parametrize("queues", ["a b", "ä", "a,", "a=0", "a=²"])
def test_queues_that_cannot_be_are_refused(queues: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["worker", "--app", "tests.jobs.chores", "--queues", queues, "--store", f"embedded:{tmp_path}"])
    assert result.exit_code == 2


def test_a_worker_without_handlers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "idle.py").write_text("from gateleg.jobs import Jobs\njobs = Jobs()\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = CliRunner().invoke(app, ["worker", "--app", "idle:jobs", "--store", f"embedded:{tmp_path}/data"])
    assert result.exit_code == 2
    assert result.stderr.startswith("gateleg: idle:jobs has no job handlers.")


@pytest.mark.parametrize("limit", ["a", "a=0", "a=-1", "a=cores+1", "a b=1"])
def test_limits_that_cannot_be_are_refused(limit: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["worker", "--app", "tests.jobs.chores", "--limit", limit, "--store", f"embedded:{tmp_path}"])
    assert result.exit_code == 2
    assert "--limit expects queues with numbers" in result.output


def test_a_limit_of_a_queue_that_is_not_served_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _warn_of_unserved({"renders"}, {"renders", "default"})
    assert capsys.readouterr().err == ""
    _warn_of_unserved({"render"}, {"renders", "default"})
    assert capsys.readouterr().err == "gateleg: --limit has no effect on render: this worker serves default, renders\n"


def test_limits_may_be_told_in_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert _limits("renders=cores-1,reports=2,films=cores,last=cores-9") == {"renders": 3, "reports": 2, "films": 4, "last": 1}


def worker_on(tmp_path: Path, *options: str, app: str = "tests.cli.stubborn", store: str | None = None) -> subprocess.Popen[str]:
    """A worker, of the stubborn jobs unless others are given, in a process of its own."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONUNBUFFERED": "1"}
    command = [*COMMAND, "worker", "--app", app, "--store", store or f"embedded:{tmp_path}/d", "--lease", "60", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ)


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_handler_that_ignores_its_end_does_not_keep_its_worker(tmp_path: Path, signals: list[signal.Signals]) -> None:
    # Longer than the test may take, where a second Ctrl-C is to end it.
    with worker_on(tmp_path, "--drain", "0.1" if len(signals) == 1 else "600") as process:
        try:
            assert process.stdout is not None
            assert "works on" in process.stdout.readline()
            with Store.connect(f"embedded:{tmp_path}/d") as store:
                job = Queue(store, stubborn.jobs).submit(Submission("stubborn")).job
            assert f"stubborn {job.job_id} started, attempt 1" in process.stdout.readline()
            told = ""
            for number in signals:
                process.send_signal(number)
                told += process.stdout.readline() + process.stdout.readline()
            told += process.stdout.read()
            assert process.wait(60) == (0 if len(signals) == 1 else 130)
        finally:
            process.kill()
    assert re.search(f"shutting down: waiting up to .* s for stubborn {job.job_id}", told)
    assert ("did not stop when asked to" in told) if len(signals) == 1 else ("Stopped at once" in told)


def test_a_worker_of_mere_handlers_moves_long_logs_to_the_objects_that_it_is_given(tmp_path: Path) -> None:
    month = 31 * 86400
    with Store.connect(f"embedded:{tmp_path}/d", clock=lambda: time.time() - month) as store:
        queue = Queue(store, chores.jobs)
        queue.ensure_tables()
        job = queue.submit(Submission("echo", {"words": [f"word {number}" for number in range(60)]}, subject="s")).job
        InlineWorker(queue).run()
    with worker_on(tmp_path, "--objects", f"dir:{tmp_path}/objects", app="tests.jobs.chores") as process:
        try:
            assert process.stdout is not None
            assert "works on" in process.stdout.readline()
            with Store.connect(f"embedded:{tmp_path}/d") as store:
                while not Queue(store, chores.jobs).archive_page(subject="s").items:
                    assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert len(DirectoryObjects(tmp_path / "objects").get(log_key(job.job_id)).splitlines()) == 60


async def test_a_worker_of_mere_handlers_writes_their_schedules(tmp_path: Path) -> None:
    settings = Settings(store=f"embedded:{tmp_path}/d")
    for _ in range(2):
        async with _opened("tests.cli.nightly", settings, JobSettings()) as (queue, *_):
            (found,) = await queue.schedules()
            assert (found.name, found.declared_by, found.active, found.version) == ("nightly", "tests.cli.nightly", True, 1)


def test_a_handler_that_blocks_the_loop_does_not_keep_its_worker_on_a_second_ctrl_c(tmp_path: Path) -> None:
    with worker_on(tmp_path, "--drain", "600") as process:
        try:
            assert process.stdout is not None
            assert "works on" in process.stdout.readline()
            with Store.connect(f"embedded:{tmp_path}/d") as store:
                job = Queue(store, stubborn.jobs).submit(Submission("blocks")).job
            assert f"blocks {job.job_id} started, attempt 1" in process.stdout.readline()
            # Told by the watchdog: the handler blocks.
            assert "has blocked the worker's event loop" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert any(line.startswith("Stopping: running jobs have up to 600 s to finish") for line in process.stdout)
            process.send_signal(signal.SIGINT)
            assert "Stopped at once" in process.stdout.read()
            assert process.wait(60) == 130
        finally:
            process.kill()


def test_a_worker_that_drains_says_again_what_it_waits_for(tmp_path: Path) -> None:
    with worker_on(tmp_path, "--drain", "600") as process:
        try:
            assert process.stdout is not None
            assert "works on" in process.stdout.readline()
            with Store.connect(f"embedded:{tmp_path}/d") as store:
                job = Queue(store, stubborn.jobs).submit(Submission("stubborn")).job
            assert f"stubborn {job.job_id} started, attempt 1" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.stdout.readline().startswith("Stopping: running jobs have up to 600 s to finish")
            assert f"shutting down: waiting up to 600 s for stubborn {job.job_id}" in process.stdout.readline()
            assert re.search(rf"still waiting, 59\S* s left, for stubborn {job.job_id}", process.stdout.readline())
        finally:
            process.kill()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port: int = taken.getsockname()[1]
    return port


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_a_store_that_is_away_at_the_start_is_waited_for(tmp_path: Path, command: str) -> None:
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONUNBUFFERED": "1"}
    options = ["--app", "tests.jobs.chores"] if command == "worker" else ["--port", "0"]
    run = [*COMMAND, command, *options, "--store", f"http://127.0.0.1:{port}"]
    environ |= {"PYTHONPATH": os.getcwd()}
    with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert f"The store http://127.0.0.1:{port} is not available" in first, first
            with Engine(":memory:") as engine, serve_in_thread(engine, EndpointOptions(port=port)):
                assert "is available after" in process.stdout.readline()
                assert ("works on default" if command == "worker" else "Serving") in process.stdout.readline()
                process.send_signal(signal.SIGTERM)
                process.stdout.read()
                assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_waiting_for_a_store_ends_with_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with worker_on(tmp_path, store=f"http://127.0.0.1:{free_port()}") as process:
        try:
            assert process.stdout is not None
            assert "is not available" in process.stdout.readline()
            process.send_signal(number)
            assert process.stdout.read().endswith("\nStopped before the store was available.\n")
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_attempts_are_logged_as_json_and_what_handlers_print_and_log_is_in_the_logs_of_their_jobs(tmp_path: Path) -> None:
    with worker_on(tmp_path, "--log", "json", app="tests.jobs.chores") as process:
        try:
            assert process.stdout is not None
            assert "works on" in process.stdout.readline()
            with Store.connect(f"embedded:{tmp_path}/d") as store:
                queue = Queue(store, chores.jobs)
                job = queue.submit(Submission("speaks")).job
                fails = queue.submit(Submission("fails")).job
                for one in (job, fails):
                    list(follow(queue, one.job_id, every=0.05))
                log = [entry.message for entry in queue.log(job.job_id)]
            process.send_signal(signal.SIGTERM)
            lines = process.stdout.read().splitlines()
        finally:
            process.kill()
    assert log == ["printed", "logged"]
    assert "printed" in lines
    told = [json.loads(line) for line in lines if line.startswith("{")]
    assert not [line for line in told if line["logger"] == "shop"]
    started, ended = [line for line in told if line.get("job_id") == str(job.job_id)]
    common = {"job_type": "speaks", "queue": "default", "attempt": 1}
    assert common.items() <= started.items()
    assert common.items() <= ended.items()
    assert started["worker"] == ended["worker"]
    assert (ended["outcome"], ended["level"]) == ("completed", "info")
    assert ended["seconds"] >= 0
    (failed,) = [line for line in told if line.get("job_id") == str(fails.job_id) and "outcome" in line]
    assert (failed["outcome"], failed["error"], failed["level"]) == ("failed", "ValueError", "warning")
