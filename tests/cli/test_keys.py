import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.host.credentials import digest_of
from gateleg.host.tables import ApiKey, AuditEntry
from gateleg.store import Store


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    place = f"embedded:{tmp_path}/data"
    Store.connect(place).close()
    return place


def keys(store: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["keys", *arguments, "--store", store])


def test_a_key_is_made_listed_and_revoked(store: str) -> None:
    assert "No keys" in keys(store, "list").output
    made = keys(store, "create", "ann", "--role", "admin", "--group", "editors", "--tenant", "acme", "--days", "30")
    token = made.output.strip()
    assert re.fullmatch(r"gl_[a-z2-7]{12}_[A-Za-z0-9_-]{43}", token)
    (row,) = json.loads(keys(store, "list", "--json").output)["items"]
    assert (row["name"], row["role"], row["groups"], row["tenant"], row["state"]) == ("ann", "admin", "editors", "acme", "good")
    assert token not in keys(store, "list").output
    assert "is revoked" in keys(store, "revoke", row["id"]).output
    assert json.loads(keys(store, "list", "--json").output)["items"][0]["state"] == "revoked"


def test_only_a_digest_is_kept_and_what_was_done_is_in_the_audit_log(store: str) -> None:
    token = keys(store, "create", "ann").output.strip()
    with Store.connect(store) as opened:
        (kept,) = opened.query(ApiKey.every())
        assert kept.digest == digest_of(token.split("_", 2)[2])
        day = f"{kept.created_at:%Y-%m-%d}"
        assert [(entry.action, entry.actor) for entry in opened.query(AuditEntry.by_day(day=day))] == [("key.create", "command line")]


def test_keys_are_listed_page_by_page(store: str) -> None:
    for name in ("ann", "bob", "eve"):
        keys(store, "create", name)
    first = json.loads(keys(store, "list", "--json", "--limit", "2").output)
    second = json.loads(keys(store, "list", "--json", "--limit", "2", "--cursor", first["next"]).output)
    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)
    assert {row["name"] for row in first["items"] + second["items"]} == {"ann", "bob", "eve"}


def test_a_key_on_a_store_that_was_not_there_says_so(tmp_path: Path, store: str) -> None:
    assert f"creating a new store at {tmp_path}/other" in keys(f"embedded:{tmp_path}/other", "create", "ann").stderr
    assert keys(f"embedded:{tmp_path}/other", "create", "bob").stderr == ""


def test_a_key_that_is_not_there_cannot_be_revoked(store: str) -> None:
    result = keys(store, "revoke", "aaaaaaaaaaaa")
    assert (result.exit_code, "There is no key" in result.output) == (1, True)


def test_a_store_that_is_none_is_told(store: str) -> None:
    result = keys("nowhere", "list")
    assert (result.exit_code, "nowhere" in result.output) == (1, True)


def test_a_file_that_holds_no_tables_is_told(tmp_path: Path, store: str) -> None:
    (tmp_path / "notes.txt").write_text("no database")
    told = keys(f"embedded:{tmp_path}/notes.txt", "list")
    assert told.exit_code == 1
    assert "is not a Gateleg file" in told.output


def test_a_key_that_outlives_everybody_is_refused(store: str) -> None:
    assert keys(store, "create", "ann", "--days", "99999999").exit_code == 2


@pytest.mark.parametrize("tenant", ["umbrella#acme", " acme", "local", "a\u200bb"])
def test_a_tenant_that_could_never_use_an_application_is_refused(store: str, tenant: str) -> None:
    refused = keys(store, "create", "ann", "--tenant", tenant)
    assert refused.exit_code == 1
    assert "could never use Agents" in refused.output
    assert "No keys" in keys(store, "list").output
