import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.host import Role
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from gateleg.host.tables import AuditEntry
from gateleg.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return f"embedded:{tmp_path}/data"


def sessions(store: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["sessions", *arguments, "--store", store])


def sign_in(store: str, *names: str) -> list[str]:
    """Begin a session for each name; the ids of their keys."""

    async def run() -> list[str]:
        async with Host.open(load_settings(flags={"store": store})) as host:
            made = [await host.keys.create(name, Role.VIEWER) for name in names]
            for key in made:
                await host.sessions.begin(key.token, browser="Lynx")
            return [key.key.key_id for key in made]

    return asyncio.run(run())


def test_sessions_are_listed_and_ended(store: str) -> None:
    first, second = sign_in(store, "ann", "bob")
    rows = json.loads(sessions(store, "list", "--json").output)["items"]
    assert sorted((row["name"], row["browser"], row["role"]) for row in rows) == [("ann", "Lynx", "viewer"), ("bob", "Lynx", "viewer")]
    (ann,) = [row["id"] for row in rows if row["name"] == "ann"]
    assert ann.startswith(first)
    assert f"{ann} (ann) has ended" in sessions(store, "revoke", ann).output
    assert f"1 sessions of {second} have ended" in sessions(store, "revoke", "--all-of", second).output
    assert "Nobody is signed in" in sessions(store, "list").output
    with Store.connect(store) as opened:
        entries = list(opened.query(AuditEntry.by_actor(actor="command line")))
    assert {entry.action for entry in entries} == {"session.revoke", "session.revoke-all"}


def test_what_is_not_there_is_told(store: str) -> None:
    sign_in(store, "ann")
    missing = sessions(store, "revoke", "aaaaaaaaaaaa.0")
    assert missing.exit_code == 1
    assert "gateleg" not in missing.output or "session" in missing.output
    assert sessions(store, "revoke").exit_code == 2
    assert sessions(store, "revoke", "a.b", "--all-of", "c").exit_code == 2
