import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_setting_is_printed_with_its_origin_and_secrets_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gateleg.toml").write_text('port = 9000\nsecret = "a very long secret"\n')
    monkeypatch.setenv("GATELEG_LOG", "json")
    result = CliRunner().invoke(app, ["config", "--json"])
    told = {row["setting"]: (row["value"], row["from"]) for row in json.loads(result.output)}
    assert told["port"] == ("9000", "gateleg.toml")
    assert told["log"] == ("json", "GATELEG_LOG")
    assert told["host"] == ("127.0.0.1", "default")
    assert told["secret"] == ("(hidden)", "gateleg.toml")
    assert "a very long secret" not in result.output + CliRunner().invoke(app, ["config"]).output


def test_a_wrong_setting_is_told() -> None:
    Path("gateleg.toml").write_text("port = 'x'\nhost = 1\n")
    result = CliRunner().invoke(app, ["config"])
    assert (result.exit_code, "port (from gateleg.toml)" in result.output, "host (from gateleg.toml)" in result.output) == (2, True, True)


def test_passwords_in_addresses_are_not_printed() -> None:
    Path("gateleg.toml").write_text('store = "http://ann:pa55word@127.0.0.1:9"\nobjects_endpoint = "https://x:pa55word@s3.example"\n')
    told = [CliRunner().invoke(app, words).output for words in (["config"], ["config", "--json"], ["keys", "list"])]
    assert [text for text in told if "pa55word" in text] == []
    assert "http://(hidden)@127.0.0.1:9" in told[0]


def test_a_long_value_is_whole_where_no_terminal_cuts_it() -> None:
    allowed = [f"hooks-{number}.internal.example.com" for number in range(20)]
    Path("gateleg.toml").write_text(f"outgoing_allow = {allowed}\n")
    output = CliRunner().invoke(app, ["config"]).output
    line = next(line for line in output.splitlines() if line.startswith("outgoing_allow"))
    assert all(one in line for one in allowed)
    assert line.endswith("gateleg.toml")


FILMS = """
from pydantic import BaseModel
from gateleg.host import Application

class FilmSettings(BaseModel):
    fps: int = 24

application = Application(name="films", title="Films", icon="movie", settings=FilmSettings)
"""


@pytest.fixture
def films(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application with settings, named in `gateleg.toml`."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.delitem(sys.modules, "films_of_config", raising=False)
    Path("films_of_config.py").write_text(FILMS)


@pytest.mark.usefixtures("films")
def test_settings_of_applications_are_printed_with_their_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gateleg.toml").write_text('applications = ["films_of_config"]\n')
    monkeypatch.setenv("GATELEG_FILMS__FPS", "30")
    rows = json.loads(CliRunner().invoke(app, ["config", "--json"]).output)
    assert {"setting": "films.fps", "value": "30", "from": "GATELEG_FILMS__FPS"} in rows


@pytest.mark.usefixtures("films")
@pytest.mark.parametrize("command", [["config"], ["worker", "--store", "embedded::memory:"]])
@pytest.mark.parametrize(
    ("section", "told"), [("[films]\nfsp = 1\n", "films has no setting 'fsp'; did you mean 'fps'?"), ("[film]\nx = 1\n", "'films'?")]
)
def test_a_mistyped_setting_of_an_application_ends_the_command(command: list[str], section: str, told: str) -> None:
    Path("gateleg.toml").write_text(f'applications = ["films_of_config"]\n{section}')
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, told in result.output) == (2, True)
