import json
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
