"""A process whose event loop is held says why, and ends or starts again."""

import os
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from gateleg.cli.shutdown import SILENT
from gateleg.jobs import Queue, Submission
from gateleg.store import Store
from tests.cli.deaf import jobs
from tests.cli.test_up import COMMAND, running

#: Seconds; a loaded machine may take one for a single step of the loop.
SHORT = "3"


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> None:
    lines = ('applications = ["tests.cli.deaf:application"]', f"watchdog_seconds = {SHORT}", "console = false")
    (tmp_path / "gateleg.toml").write_text("\n".join(lines))


def ask_and_be_left(client: httpx.Client, path: str) -> None:
    """The connection ends without a response."""
    with pytest.raises(httpx.TransportError):
        client.get(path)


@pytest.mark.parametrize(
    ("how", "where"), [("match", "re.fullmatch("), ("wait", "threading.Event().wait()"), ("loop", 'while how == "loop"')]
)
def test_a_host_that_is_held_says_by_what_and_ends(tmp_path: Path, how: str, where: str) -> None:
    with running(tmp_path, "serve", "--config", "gateleg.toml") as (process, client):
        ask_and_be_left(client, f"/api/deaf/hold/{how}")
        assert process.wait(60) == SILENT
    told = (tmp_path / "err.txt").read_text()
    assert "has not answered for 3 s" in told
    assert f"GET /api/deaf/hold/{how} (" in told
    assert where in told


def test_a_host_that_is_paused_goes_on(tmp_path: Path) -> None:
    """However long the whole process stood still, its timer goes off once when it goes on, and its loop gets the time to answer."""
    with running(tmp_path, "serve", "--config", "gateleg.toml") as (process, client):
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(process.pid, signal.SIGALRM)
        os.kill(process.pid, signal.SIGCONT)
        assert client.get("/health").status_code == 200


def test_everything_on_one_machine_starts_again(tmp_path: Path) -> None:
    with running(tmp_path, "up", "--config", "gateleg.toml") as (process, client):
        ask_and_be_left(client, "/api/deaf/hold/match")
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.startswith("Gateleg is up at ")).split()[-1]
        assert httpx.get(f"{address}/health", timeout=60).status_code == 200
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_a_worker_that_is_held_names_the_job_and_ends(tmp_path: Path) -> None:
    with Store.embedded(str(tmp_path / "data")) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        job = queue.submit(Submission("hold", {"how": "match"})).job
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONPATH": os.getcwd()}
    command = [*COMMAND, "worker", "--app", "tests.cli.deaf:jobs", "--store", "embedded:data", "--config", "gateleg.toml"]
    ended = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == SILENT, ended.stderr
    assert f"job {job.job_id} (hold)" in ended.stderr
