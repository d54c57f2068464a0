import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.ai import MODEL_TABLES, Account, Models, Reply, Script, Usage, User
from gateleg.cli.commands import app
from gateleg.store import Store


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["models", "usage", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_usage_is_printed_by_model_and_an_unknown_cost_is_called_so() -> None:
    with Store.connect("embedded:./data") as store, Models(store=store, account=Account("mv", "acme")) as models:
        store.ensure_tables(*MODEL_TABLES)
        models.chat_with(Script([Reply("a", usage=Usage(5, 2))]), "openai:x").reply([User("?")])
        models.chat_with(Script([Reply("a", usage=Usage(5, 2))]), "local:own").reply([User("?")])
    rows = {row["model"]: row for row in json.loads(run("--json"))}
    assert (rows["openai:x"]["cost"], rows["local:own"]["cost"]) == ("unknown", "0")
    assert (rows["openai:x"]["tenant"], rows["openai:x"]["input"], rows["openai:x"]["unpriced"]) == ("acme", "5", "1")
    assert "openai:x" in run("--tenant", "acme")
    assert "No model usage" in run("--application", "rag")
    assert "No model usage from 2020-01-01 to 2020-01-02" in run("--since", "2020-01-01", "--until", "2020-01-02")


def test_period_that_is_too_long_is_told() -> None:
    with Store.connect("embedded:./data") as store:
        store.ensure_tables(*MODEL_TABLES)
    result = CliRunner().invoke(app, ["models", "usage", "--since", "2020-01-01"])
    assert (result.exit_code, "bad-period" in result.output) == (1, True)
