import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli import installed
from gateleg.cli.commands import app


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, and no applications."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installed, "entry_points", lambda group: ())


def test_a_store_that_does_not_exist_fails_and_is_not_created() -> None:
    result = CliRunner().invoke(app, ["doctor"])
    assert (result.exit_code, result.output.startswith("FAILED   store: there is no store at ./data")) == (1, True)
    assert not Path("data").exists()


def test_a_host_that_is_well_is_said_to_be_so() -> None:
    assert CliRunner().invoke(app, ["tables", "apply", "--yes"]).exit_code == 0
    result = CliRunner().invoke(app, ["doctor", "--json"])
    found = {one["check"]: one["status"] for one in json.loads(result.output)}
    assert (result.exit_code, found["store"], found["tables"], found["objects"]) == (0, "ok", "ok", "ok")
    assert "ok       store: embedded:./data answers" in CliRunner().invoke(app, ["doctor"]).output
