import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.up import _announce
from gateleg.host import Application
from gateleg.host.settings import Settings

COMMAND = [sys.executable, "-c", "from gateleg.cli import main; main()"]


@contextmanager
def running(folder: Path, command: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A command in a process of its own, and a client that has opened the link that it has printed."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATELEG_")} | {"PYTHONUNBUFFERED": "1"}
    environ["PYTHONPATH"] = os.getcwd()
    with (folder / "err.txt").open("w") as errors:
        process = subprocess.Popen(
            [*COMMAND, command, "--port", "0", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environ
        )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert " at http://127.0.0.1:" in line, (line, (folder / "err.txt").read_text())
            url = line.rpartition(" ")[2].strip()
            link = next(line.split()[1] for line in process.stdout if line.startswith("  Open "))
            assert link.startswith(f"{url}/signin?token=gl_local_")
            with httpx.Client(base_url=url, timeout=60) as client:
                assert client.get(link).status_code == 303
                client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf_token"]
                yield process, client
        finally:
            process.kill()


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """What a command that cannot do its work says, before it has begun."""
    monkeypatch.chdir(tmp_path)
    root, own = logging.getLogger(), logging.getLogger("gateleg")
    before = root.handlers[:], root.level, own.level

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code in (1, 2), result.output
        return result.output

    yield run
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    own.setLevel(before[2])


def finished(client: httpx.Client, job_id: str) -> dict[str, object]:
    """A job once it has ended, by its events."""
    with client.stream("GET", f"/events/jobs/{job_id}", timeout=60) as stream:
        for line in stream.iter_lines():
            if line == "event: end":
                break
    job: dict[str, object] = client.get(f"/api/jobs/{job_id}").json()
    return job


def test_up_prints_where_each_application_is(capsys: pytest.CaptureFixture[str]) -> None:
    paged = Application("films", "Films", "movie", pages=lambda resources: None, routes=lambda resources: APIRouter())
    routed, silent = Application("hooks", "Hooks", "link", routes=lambda resources: APIRouter()), Application("quiet", "Quiet", "bed")
    _announce("http://127.0.0.1:8000", Settings(), [paged, routed, silent])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["  Films: http://127.0.0.1:8000/films", "  Hooks: http://127.0.0.1:8000/api/hooks"]
    _announce("http://127.0.0.1:8000", Settings(console=False), [paged])
    assert capsys.readouterr().out.splitlines()[-1] == "  Films: http://127.0.0.1:8000/api/films"


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    """A folder whose host has the songs of the demonstration, without the demonstrations of all other applications."""
    (tmp_path / "gateleg.toml").write_text('applications = ["gateleg.cli.demo.application:application"]\n')
    return tmp_path


def submitted(client: httpx.Client, job_type: str) -> str:
    job: dict[str, str] = client.post("/api/jobs", json={"job_type": job_type, "priority": 100}).json()["job"]
    return job["job_id"]


def test_up_serves_everything_works_on_jobs_and_drains_on_ctrl_c(songs: Path) -> None:
    with running(songs, "up", "--no-browser", "--data", "d", "--drain", "1") as (process, client):
        assert client.get("/health").json()["status"] == "ok"
        assert client.get("/ready").status_code == 200
        assert client.get("/api/docs").status_code == 200
        assert finished(client, submitted(client, "demo.import"))["status"] == "COMPLETED"
        assert finished(client, submitted(client, "demo.decades"))["status"] == "COMPLETED"
        svg = client.get("/objects/demo/charts/decades.svg")
        assert svg.text.startswith("<svg")
        # A worker that dies is replaced, so the next job is done by another.
        workers = client.get("/api/jobs/workers").json()["items"]
        (pid,) = {worker["pid"] for worker in workers}
        os.kill(pid, signal.SIGKILL)
        again = submitted(client, "demo.decades")
        assert finished(client, again)["worker_id"] not in {worker["worker_id"] for worker in workers}
        slow = submitted(client, "demo.fingerprint")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert (songs / "d" / "secret").exists()
    # The job that was cut short waits for the next worker, or for the lease of the one that was killed to run out.
    assert status_of(slow, songs) != "FAILED"


def status_of(job_id: str, folder: Path) -> str:
    """The status of a job of a host that has ended."""
    command = [*COMMAND, "jobs", "show", job_id, "--store", "embedded:d", "--json"]
    status: str = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)["status"]
    return status


@pytest.mark.slow
def test_up_loads_the_demonstration_of_every_application(tmp_path: Path) -> None:
    with running(tmp_path, "up", "--demo", "--no-browser", "--data", "d", "--drain", "1") as (process, client):
        chart = client.get("/api/jobs", params={"type": "demo.decades"}).json()["items"][0]["job_id"]
        assert finished(client, chart)["status"] == "COMPLETED"
        subjects = {job["job_type"].partition(".")[0] for job in client.get("/api/jobs", params={"limit": 200}).json()["items"]}
        assert len(subjects) > 3
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_a_second_ctrl_c_ends_up_and_its_worker_at_once(tmp_path: Path) -> None:
    (tmp_path / "gateleg.toml").write_text('applications = ["tests.cli.stubborn:application"]\n')
    with running(tmp_path, "up", "--no-browser", "--data", "d", "--drain", "600") as (process, client):
        assert process.stdout is not None
        job = client.post("/api/jobs", json={"job_type": "stubborn"}).json()["job"]["job_id"]
        told(tmp_path, f"stubborn {job} started")
        (pid,) = {worker["pid"] for worker in client.get("/api/jobs/workers").json()["items"]}
        process.send_signal(signal.SIGINT)
        assert any(line.startswith("Stopping: jobs have up to 600 s to finish") for line in process.stdout)
        told(tmp_path, f"shutting down: waiting up to 600 s for stubborn {job}")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    gone(pid)


def told(folder: Path, text: str) -> None:
    """Wait until the errors of a command have a text."""
    until = time.monotonic() + 60
    while text not in (folder / "err.txt").read_text():
        assert time.monotonic() < until, (folder / "err.txt").read_text()
        time.sleep(0.05)


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    until = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_serve_answers_without_a_worker_and_stops_when_told(tmp_path: Path) -> None:
    with running(tmp_path, "serve", "--log", "json", "--dynamodb") as (process, client):
        target = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
        assert "DelphiJobQueue" in client.post("/dynamodb", content=b"{}", headers=target).json()["TableNames"]
        assert client.get("/api/jobs/workers").json()["items"] == []
        assert client.get("/api/music").status_code == 404
        with client.stream("GET", "/events/stats") as stream:
            assert stream.status_code == 200
            process.send_signal(signal.SIGTERM)
            stream.read()
        assert process.wait(60) == 0
    lines = [json.loads(line) for line in (tmp_path / "err.txt").read_text().splitlines()]
    assert {line["path"] for line in lines} >= {"/api/jobs/workers", "/api/music"}


def test_the_token_of_a_host_is_printed_for_programs_at_this_machine(tmp_path: Path, failed: Callable[..., str]) -> None:
    assert "There is no host secret in data" in failed("token")
    assert not (tmp_path / "data").exists()
    with running(tmp_path, "serve") as (_, client):
        printed = subprocess.run([*COMMAND, "token"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
        answer = httpx.get(f"{client.base_url}/api/session", headers={"authorization": f"Bearer {printed}"})
        assert answer.json()["name"] == "local"
        assert httpx.get(f"{client.base_url}/api/session").status_code == 401


def test_a_port_that_is_taken_is_told(failed: Callable[..., str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = failed("serve", "--port", str(taken.getsockname()[1]))
    assert "is already in use" in told
    assert "--port" in told


def test_a_host_without_keys_does_not_listen_to_other_machines(failed: Callable[..., str]) -> None:
    told = failed("serve", "--host", "0.0.0.0", "--port", "0")
    assert "No API key exists yet" in told
    assert "gateleg keys create" in told


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path, failed: Callable[..., str]) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in failed("up", "--no-browser", "--data", "file/d", "--port", "0")


def test_a_secret_that_is_cut_short_is_told(tmp_path: Path, failed: Callable[..., str]) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret").touch()
    told = failed("up", "--data", "data", "--port", "0")
    assert "data/secret is truncated" in told
    assert "or delete it" in told


def test_settings_that_cannot_be_are_told(tmp_path: Path, failed: Callable[..., str]) -> None:
    (tmp_path / "gateleg.toml").write_text("prot = 1\n")
    assert "did you mean 'port'" in failed("serve")
    assert "no such file: none.toml" in failed("serve", "--config", "none.toml")


def test_an_application_that_is_not_there_is_told(tmp_path: Path, failed: Callable[..., str]) -> None:
    (tmp_path / "gateleg.toml").write_text('applications = ["nothing.here:app"]\n')
    assert "cannot import nothing.here" in failed("serve", "--port", "0")


def test_help_of_every_command_of_a_host_loads_none_of_it() -> None:
    program = (
        "import sys; from gateleg.cli.commands import app\n"
        "for name in ('up', 'serve', 'keys', 'token', 'config', 'worker'): app([name, '--help'], standalone_mode=False)\n"
        "sys.exit(', '.join(name for name in ('fastapi', 'nicegui', 'uvicorn', 'apsw', 'gateleg.web') if name in sys.modules) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)
