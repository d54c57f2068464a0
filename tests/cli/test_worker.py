import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.objects import DirectoryObjects

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
