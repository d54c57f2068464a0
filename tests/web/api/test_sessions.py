"""`/api/sessions`: everybody's own, and for admins those of all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import COOKIE
from tests.web.conftest import HOME, Staff, client_of


@asynccontextmanager
async def signed_in(app: FastAPI, host: Host, name: str, role: Role) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """A browser, and the token of the key that it signed in with."""
    token = (await host.keys.create(name, role)).token
    async with client_of(app) as client:
        await client.post("/signin", data={"key": token}, headers={"user-agent": f"Browser of {name}"})
        client.headers.update({"x-csrf-token": (await client.get("/api/session")).json()["csrf_token"], "origin": HOME})
        yield client, token


async def test_one_sees_and_ends_ones_own_sessions(app: FastAPI, host: Host) -> None:
    async with signed_in(app, host, "ann", Role.MEMBER) as (ann, token), client_of(app) as phone:
        await phone.post("/signin", data={"key": token}, headers={"user-agent": "Phone"})
        (here, there) = sorted((await ann.get("/api/sessions")).json()["items"], key=lambda item: not item["current"])
        assert (here["browser"], here["current"], there["browser"], there["current"]) == ("Browser of ann", True, "Phone", False)
        answer = await ann.post(f"/api/sessions/{there['session_id']}/revoke")
        assert (answer.status_code, answer.json()["browser"]) == (200, "Phone")
        host.sessions._read.clear()
        assert (await phone.get("/api/session")).status_code == 401
        assert (await ann.post(f"/api/sessions/{there['session_id']}/revoke")).status_code == 404
        assert (await ann.post("/api/sessions/revoke", json={"key_id": here["key_id"]})).json() == {"revoked": 1}
        assert (await ann.get("/api/session")).status_code == 401


async def test_nobody_but_admins_reaches_the_sessions_of_others(app: FastAPI, host: Host, staff: Staff) -> None:
    async with signed_in(app, host, "ann", Role.MEMBER) as (ann, _):
        (own,) = (await ann.get("/api/sessions")).json()["items"]
        for role in (Role.MEMBER, Role.VIEWER, Role.OPERATOR):
            other = staff.of(role)
            assert (await other.get("/api/sessions")).json()["items"] == []
            assert (await other.get("/api/sessions?everyone=true")).status_code == 403
            assert (await other.post(f"/api/sessions/{own['session_id']}/revoke")).status_code == 404
            assert (await other.post("/api/sessions/revoke", json={"key_id": own["key_id"]})).status_code == 404
        (seen,) = (await staff.admin.get("/api/sessions?everyone=true")).json()["items"]
        assert (seen["name"], seen["current"]) == ("ann", False)
        assert "digest" not in str(seen)
        assert (await staff.admin.post(f"/api/sessions/{own['session_id']}/revoke")).status_code == 200
        assert (await ann.get("/api/session")).status_code == 401
    entries = {(entry.action, entry.actor, entry.target) for entry in await host.audit.page()}
    assert ("session.revoke", "admin", own["session_id"]) in entries


async def test_ending_a_session_needs_the_token_of_the_page(app: FastAPI, host: Host) -> None:
    async with signed_in(app, host, "ann", Role.ADMIN) as (ann, _):
        (own,) = (await ann.get("/api/sessions")).json()["items"]
        del ann.headers["x-csrf-token"]
        assert (await ann.post(f"/api/sessions/{own['session_id']}/revoke")).status_code == 403
        assert COOKIE in ann.cookies
