"""`gateleg agents`: without a host, with the model of this machine."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.apps.agents.commands import app
from gateleg.store import Store

pytest.importorskip("xllamacpp")


def invoke(folder: Path, *words: str, text: str | None = None) -> Result:
    environ = {"GATELEG_STORE": f"embedded:{folder}?durability=relaxed", "GATELEG_DATA": str(folder), "GATELEG_OBJECTS": f"dir:{folder}/o"}
    return CliRunner().invoke(app, list(words), env=environ, input=text)


def test_an_agent_is_made_listed_and_talked_to(tmp_path: Path) -> None:
    told = invoke(tmp_path, "list")
    assert (told.exit_code, "there is no store" in told.stderr) == (1, True)
    Store.embedded(str(tmp_path)).close()
    told = invoke(tmp_path, "chat", "-m", "Hello")
    assert (told.exit_code, "there are no agents" in told.stderr) == (1, True)

    made = invoke(tmp_path, "new", "Little Helper", "-i", "Be brief.", "--max-tokens", "8")
    assert made.exit_code == 0, made.output
    (listed,) = json.loads(invoke(tmp_path, "list", "--json").stdout)
    assert (listed["name"], made.stdout) == ("little_helper", f"Little Helper: {listed['agentUuid']}\n")

    told = invoke(tmp_path, "chat", "-m", "Say hello in one word.")
    assert told.exit_code == 0, told.output
    assert told.stdout.strip()
    told = invoke(tmp_path, "chat", "little_helper", text="Say hello.\n\n")
    assert told.exit_code == 0
    assert "--thread" in told.stderr
    told = invoke(tmp_path, "chat", "nobody", "-m", "Hello")
    assert (told.exit_code, "There is no agent 'nobody'. The tenant's agents are: little_helper." in told.stderr) == (1, True)
