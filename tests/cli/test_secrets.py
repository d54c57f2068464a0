import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    place = f"embedded:{tmp_path}/data"
    Store.connect(place).close()
    return place


def secrets(store: str, *arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, ["secrets", *arguments, "--store", store], input=given)


def test_a_secret_is_set_replaced_listed_without_its_value_and_deleted(store: str) -> None:
    assert "No secrets of mv" in secrets(store, "list", "-a", "mv").output
    assert "version 1" in secrets(store, "set", "key", "-a", "mv", given="correct horse\n").output
    assert "version 2" in secrets(store, "set", "key", "-a", "mv", given="correct horse\n").output
    told = secrets(store, "list", "-a", "mv", "--json").output
    assert [(row["name"], row["version"]) for row in json.loads(told)] == [("key", "2")]
    assert "horse" not in told
    assert "was deleted" in secrets(store, "delete", "key", "-a", "mv").output
    missing = secrets(store, "delete", "key", "-a", "mv")
    assert (missing.exit_code, "There is no secret" in missing.output) == (1, True)


def test_secrets_survive_a_new_host_secret_by_rekey(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATELEG_SECRET", "the former secret of it")
    secrets(store, "set", "key", given="value")
    monkeypatch.setenv("GATELEG_SECRET", "the secret of now, longer")
    assert "1 secrets" in secrets(store, "rekey", given="the former secret of it\n").output
    assert "0 secrets" in secrets(store, "rekey", given="the former secret of it\n").output
