"""The quickstart runs as it stands: in memory, in a folder, and against an endpoint."""

import subprocess
import sys
from pathlib import Path

from gateleg.endpoint import EndpointOptions, serve_in_thread
from gateleg.engine import Engine

SCRIPT = Path(__file__).parents[2] / "examples" / "quickstart.py"
ANSWER = "1966 Wild Is the Wind\n1965 Pastel Blues\n"


def run(*arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_quickstart_runs_in_memory() -> None:
    assert run() == ANSWER


def test_quickstart_keeps_its_data_in_a_folder_and_may_run_twice(tmp_path: Path) -> None:
    address = f"embedded:{tmp_path / 'data'}"
    assert [run(address), run(address)] == [ANSWER, ANSWER]


def test_quickstart_runs_unchanged_against_an_endpoint() -> None:
    with Engine(":memory:", durability="relaxed") as engine, serve_in_thread(engine, EndpointOptions()) as url:
        assert run(url) == ANSWER
        assert engine.call("ListTables", {})["TableNames"] == ["Music"]
