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


@pytest.mark.parametrize("command", [["doctor"], ["doctor", "--json"], ["config"], ["jobs", "list"], ["tables", "list"]], ids=" ".join)
@pytest.mark.parametrize("option", ["--store", "--objects"])
@pytest.mark.parametrize(
    "address",
    [
        "http://u:topsecret@localhost:1",
        "http:/u:topsecret@localhost:1",
        "u:topsecret@localhost:1",
        "http://u:/top/secret@localhost:1",
        "http://u:p@topsecret@localhost:1",
        "embedded:u:topsecret@here?x=topsecret@y",
        "s3://k:topsecret@b",
    ],
)
def test_no_command_shows_the_password_of_an_address(command: list[str], option: str, address: str) -> None:
    output = CliRunner().invoke(app, [*command, option, address]).output
    assert output
    assert "secret" not in output
