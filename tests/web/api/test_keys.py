from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from gateleg.apps.agents.application import application as agents
from gateleg.host import Role
from gateleg.host.errors import BadKey
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from tests.web.conftest import Staff, client_of


async def test_a_key_is_made_shown_once_used_and_revoked(staff: Staff, app: FastAPI, host: Host) -> None:
    new = {"name": "robot", "role": "operator", "groups": ["b", "a"], "tenant": "acme", "ends_at": "2101-01-01T00:00:00Z"}
    made = await staff.admin.post("/api/keys", json=new)
    token, key_id = made.json()["token"], made.json()["key"]["key_id"]
    assert made.status_code == 201
    assert token not in (await staff.admin.get("/api/keys")).text
    async with client_of(app, token=token) as robot:
        session = (await robot.get("/api/session")).json()
        assert (session["name"], session["role"], session["groups"], session["tenant"]) == ("robot", "operator", ["a", "b"], "acme")
        revoked = (await staff.admin.post(f"/api/keys/{key_id}/revoke")).json()
        assert revoked["revoked_by"] == "admin"
        refused = await robot.get("/api/session")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "key-revoked")
    assert {entry.action for entry in await host.audit.page()} == {"key.create", "key.revoke"}


async def test_a_key_that_cannot_be_is_refused(staff: Staff) -> None:
    times = [{"ends_at": "2001-01-01T00:00:00Z"}, {"ends_at": "2101-01-01T00:00:00"}]
    for wrong in ({"name": ""}, {"role": "king"}, {"colour": "red"}, *times):
        assert (await staff.admin.post("/api/keys", json={"name": "x", "role": "viewer"} | wrong)).status_code == 422
    assert (await staff.admin.get("/api/keys/aaaaaaaaaaaa")).status_code == 404
    assert (await staff.admin.post("/api/keys/AAAA/revoke")).status_code == 422


async def test_a_tenant_that_an_application_could_never_serve_is_refused(tmp_path: Path) -> None:
    settings = load_settings(flags={"store": "embedded::memory:", "objects": f"dir:{tmp_path}/objects", "data": tmp_path}, environ={})
    async with Host.open(settings, [agents]) as host:
        for tenant in ("a#b", " a", "local", "a\u200b"):
            with pytest.raises(BadKey, match="could never use Agents"):
                host.keys.prepare("ann", Role.MEMBER, tenant=tenant)
        assert host.keys.prepare("ann", Role.MEMBER, tenant="acme").key.tenant == "acme"


async def test_keys_come_page_by_page(staff: Staff, host: Host) -> None:
    found, cursor = [], None
    while True:
        page = (await staff.admin.get("/api/keys", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        found += [key["key_id"] for key in page["items"]]
        if (cursor := page["next"]) is None:
            break
    assert found == sorted(key.key_id for key in await host.keys.list())
    assert len(found) > 2


async def test_a_digest_is_never_shown(staff: Staff, host: Host) -> None:
    digests = [key.digest for key in await host.keys.list()]
    text = (await staff.admin.get("/api/keys")).text
    assert not any(digest in text for digest in digests)


async def test_somebody_at_this_machine_makes_the_first_key(client: httpx.AsyncClient) -> None:
    assert (await client.post("/api/keys", json={"name": "ann", "role": "admin"})).status_code == 201
    assert (await client.post("/api/keys", json={"name": "eve", "role": "admin"})).status_code == 401
