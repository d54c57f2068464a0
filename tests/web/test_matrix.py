"""Every route x every kind of caller. A route that is not in the table below fails the first test."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from gateleg.host.actions import ACTIONS
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.jobs import ManualClock
from gateleg.web.app import flat_routes
from gateleg.web.surfaces import SurfaceRoute
from tests.web.conftest import Staff, client_of
from tests.web.sockets import Socket

#: What anybody may ask for.
OPEN = 0
#: What needs a link, or the role viewer.
LINK = -1
MEMBER, VIEWER, OPERATOR, ADMIN = Role.MEMBER, Role.VIEWER, Role.OPERATOR, Role.ADMIN

RULES: dict[tuple[str, str], int] = {
    ("GET", "/signin"): OPEN,
    ("POST", "/signin"): OPEN,
    ("GET", "/signout"): OPEN,
    ("POST", "/signout"): OPEN,
    ("GET", "/health"): OPEN,
    ("GET", "/ready"): OPEN,
    ("GET", "/metrics"): VIEWER,
    ("GET", "/api/openapi.json"): VIEWER,
    ("GET", "/api/docs"): VIEWER,
    ("GET", "/api/docs.js"): VIEWER,
    ("GET", "/api/docs/page.css"): VIEWER,
    ("GET", "/api/docs/{name}"): VIEWER,
    ("GET", "/api/session"): MEMBER,
    ("GET", "/api/search"): MEMBER,
    # Members of a tenant see that tenant's; these here have none.
    ("GET", "/api/models/usage"): VIEWER,
    ("GET", "/api/jobs"): VIEWER,
    ("POST", "/api/jobs"): OPERATOR,
    ("POST", "/api/jobs/bulk"): OPERATOR,
    ("POST", "/api/jobs/retry"): OPERATOR,
    ("POST", "/api/jobs/cancel"): OPERATOR,
    ("POST", "/api/jobs/priority"): OPERATOR,
    ("POST", "/api/jobs/archive"): OPERATOR,
    ("POST", "/api/jobs/{job_id}/archive"): OPERATOR,
    ("GET", "/api/jobs/types"): VIEWER,
    ("GET", "/api/jobs/workers"): VIEWER,
    ("GET", "/api/jobs/archive"): VIEWER,
    ("GET", "/api/jobs/unreadable"): VIEWER,
    ("GET", "/api/jobs/stats"): VIEWER,
    ("GET", "/api/jobs/history"): VIEWER,
    ("GET", "/api/jobs/queues"): VIEWER,
    ("POST", "/api/jobs/queues/{name:path}/pause"): OPERATOR,
    ("POST", "/api/jobs/queues/{name:path}/resume"): OPERATOR,
    ("POST", "/api/jobs/queues/{name:path}/drain"): OPERATOR,
    ("PUT", "/api/jobs/queues/{name:path}/rate"): OPERATOR,
    ("GET", "/api/jobs/schedules"): VIEWER,
    ("GET", "/api/jobs/schedules/{name:path}"): VIEWER,
    ("PUT", "/api/jobs/schedules/{name:path}"): OPERATOR,
    ("DELETE", "/api/jobs/schedules/{name:path}"): OPERATOR,
    ("POST", "/api/jobs/schedules/{name:path}/enable"): OPERATOR,
    ("POST", "/api/jobs/schedules/{name:path}/disable"): OPERATOR,
    ("POST", "/api/jobs/schedules/{name:path}/run"): OPERATOR,
    ("GET", "/api/jobs/{job_id}"): VIEWER,
    ("GET", "/api/jobs/{job_id}/tree"): VIEWER,
    ("GET", "/api/jobs/{job_id}/logs"): VIEWER,
    ("POST", "/api/jobs/{job_id}/cancel"): OPERATOR,
    ("POST", "/api/jobs/{job_id}/tree/cancel"): OPERATOR,
    ("POST", "/api/jobs/{job_id}/retry"): OPERATOR,
    ("PUT", "/api/jobs/{job_id}/priority"): OPERATOR,
    ("GET", "/api/tables"): VIEWER,
    ("GET", "/api/tables/{table}"): VIEWER,
    ("GET", "/api/tables/{table}/patterns"): VIEWER,
    ("POST", "/api/tables/{table}/patterns/{pattern}"): VIEWER,
    ("GET", "/api/tables/{table}/items"): VIEWER,
    ("POST", "/api/tables/{table}/items"): OPERATOR,
    ("POST", "/api/tables/{table}/items/delete"): OPERATOR,
    ("GET", "/api/tables/{table}/items/{key:path}"): VIEWER,
    ("PATCH", "/api/tables/{table}/items/{key:path}"): OPERATOR,
    ("DELETE", "/api/tables/{table}/items/{key:path}"): OPERATOR,
    ("GET", "/api/objects"): VIEWER,
    ("POST", "/api/objects/links"): VIEWER,
    ("POST", "/api/objects/delete"): OPERATOR,
    ("PUT", "/api/objects/{key:path}"): OPERATOR,
    ("GET", "/api/objects/{key:path}"): VIEWER,
    ("DELETE", "/api/objects/{key:path}"): OPERATOR,
    ("GET", "/api/keys"): ADMIN,
    ("POST", "/api/keys"): ADMIN,
    ("GET", "/api/keys/{key_id}"): ADMIN,
    ("POST", "/api/keys/{key_id}/revoke"): ADMIN,
    ("POST", "/api/keys/revoke"): ADMIN,
    # Members have their own sessions, and admins those of all.
    ("GET", "/api/sessions"): MEMBER,
    ("POST", "/api/sessions/revoke"): MEMBER,
    ("POST", "/api/sessions/{session_id}/revoke"): MEMBER,
    ("GET", "/api/audit"): ADMIN,
    # Of these, admins of a tenant have those of their tenant (`test_tenant_admin.py`).
    ("GET", "/api/webhooks/{application}"): ADMIN,
    ("POST", "/api/webhooks/{application}"): ADMIN,
    ("GET", "/api/webhooks/{application}/deliveries"): ADMIN,
    ("POST", "/api/webhooks/{application}/deliveries/{delivery_id}/again"): ADMIN,
    ("PATCH", "/api/webhooks/{application}/{hook_id}"): ADMIN,
    ("POST", "/api/webhooks/{application}/{hook_id}/enable"): ADMIN,
    ("POST", "/api/webhooks/{application}/{hook_id}/disable"): ADMIN,
    ("DELETE", "/api/webhooks/{application}/{hook_id}"): ADMIN,
    ("GET", "/api/secrets/{application}"): ADMIN,
    ("PUT", "/api/secrets/{application}/{name}"): ADMIN,
    ("DELETE", "/api/secrets/{application}/{name}"): ADMIN,
    ("POST", "/api/secrets/{application}/rekey"): ADMIN,
    ("GET", "/api/dynamodb/credentials"): ADMIN,
    ("POST", "/dynamodb"): ADMIN,
    ("POST", "/dynamodb/"): ADMIN,
    ("GET", "/events/jobs/{job_id}"): VIEWER,
    ("GET", "/events/stats"): VIEWER,
    ("GET", "/objects/{key:path}"): VIEWER,
    ("HEAD", "/objects/{key:path}"): VIEWER,
    ("PUT", "/objects/{key:path}"): LINK,
    ("GET", "/api/music/whoami"): MEMBER,
    ("GET", "/api/music/piano"): MEMBER,
    ("POST", "/api/music/songs/{title}"): MEMBER,
    ("GET", "/api/music/broken"): MEMBER,
    ("GET", "/api/music/jobs"): MEMBER,
    ("GET", "/api/music/jobs/{job_id}"): MEMBER,
    ("GET", "/api/music/jobs/{job_id}/tree"): MEMBER,
    ("GET", "/api/music/jobs/{job_id}/logs"): MEMBER,
    ("GET", "/api/music/jobs/{job_id}/artifacts"): MEMBER,
    ("POST", "/api/music/jobs/{job_id}/cancel"): MEMBER,
    ("POST", "/api/music/jobs/{job_id}/tree/cancel"): MEMBER,
    ("POST", "/api/music/jobs/{job_id}/retry"): MEMBER,
    ("GET", "/events/music/jobs/{job_id}"): MEMBER,
    ("POST", "/api/music/recordings"): MEMBER,
    ("POST", "/api/music/lists"): MEMBER,
    ("POST", "/api/music/pairs"): MEMBER,
    ("POST", "/api/music/covers/{title}"): MEMBER,
    ("GET", "/events/music/songs/{song}"): MEMBER,
    ("GET", "/events/music/silence"): OPERATOR,
    ("SURFACE", "/music/band"): MEMBER,
    ("SURFACE", "/graphql/music"): OPERATOR,
    ("WEBSOCKET", "/api/music/rehearsal"): MEMBER,
}
PLACES = {
    "{name:path}": "some/name",
    "{job_id}": "00000000-0000-4000-8000-000000000000",
    "{application}": "music",
    "{table}": "Songs",
    "{pattern}": "Song.of_artist",
    "{key:path}": "a/b.txt",
    "{key_id}": "aaaaaaaaaaaa",
    "{title}": "sinnerman",
    "{song}": "sinnerman",
    "{session_id}": "aaaaaaaaaaaa.0",
}
#: Streams without an end are looked at in their own tests.
ENDLESS = {("GET", "/events/stats"), ("GET", "/events/music/silence")}


def routes(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Every method and path that the application serves, from the application itself."""
    for route in flat_routes(app.router.routes):
        if isinstance(route, SurfaceRoute):
            yield "SURFACE", route.path
        elif not hasattr(route, "methods"):
            yield "WEBSOCKET", route.path
        elif getattr(route, "name", "") != "not_found":
            for method in route.methods or ():
                if method != "HEAD" or route.path.startswith("/objects"):
                    yield method, route.path


def address(path: str) -> str:
    for name, value in PLACES.items():
        path = path.replace(name, value)
    return path


async def ask(client: httpx.AsyncClient, method: str, path: str) -> int:
    """The status of an answer; for a websocket, 200 where it is accepted, and the status that its code stands for."""
    if method == "WEBSOCKET":
        transport = client._transport
        assert isinstance(transport, httpx.ASGITransport)
        sent = await Socket(transport.app, path, **dict(client.headers)).run("end")
        return 200 if sent[0]["type"] == "websocket.accept" else int(sent[0]["code"]) - 4000
    method = {"SURFACE": "GET"}.get(method, method)
    body: dict[str, Any] = {"json": {}} if method in ("POST", "PUT") and not path.startswith(("/sign", "/objects")) else {}
    return (await client.request(method, address(path), **body)).status_code


async def test_every_route_has_a_rule(app: FastAPI) -> None:
    assert set(routes(app)) == set(RULES)


async def test_every_route_lets_in_the_roles_of_its_rule_and_no_others(staff: Staff) -> None:
    wrong = []
    for (method, path), least in RULES.items():
        if (method, path) in ENDLESS:
            continue
        for role in Role:
            status = await ask(staff.of(role), method, path)
            allowed = status not in (401, 403)
            expected = False if least == LINK else role >= least
            if allowed != expected:
                wrong.append((method, path, role.word, status))
    assert wrong == []


async def test_nobody_gets_in_without_a_key_that_is_good(staff: Staff, host: Host, app: FastAPI, clock: ManualClock) -> None:
    expired = await host.keys.create("expired", ADMIN, ends_at=clock.now + timedelta(minutes=1))
    revoked = await host.keys.create("revoked", ADMIN)
    await host.keys.revoke(revoked.key.key_id)
    clock.advance(minutes=2)
    forged = f"{revoked.token[:-4]}aaaa"
    callers = [staff.nobody, *(client_of(app, token=token) for token in (expired.token, revoked.token, forged, "", "gl_", "x" * 10_000))]
    wrong = []
    for caller in callers:
        for (method, path), least in RULES.items():
            status = await ask(caller, method, path)
            expected = (401, 403) if least != OPEN else ()
            if (status in (401, 403)) != bool(expected) and path != "/signin":
                wrong.append((method, path, status, caller.headers.get("authorization", "")[:20]))
    assert wrong == []


async def test_what_is_not_there_looks_the_same_for_everybody_who_may_look(staff: Staff) -> None:
    for role in (VIEWER, OPERATOR, ADMIN):
        answer = await staff.of(role).get("/api/nothing")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not-found")
    assert (await staff.nobody.get("/api/nothing")).status_code == 401


async def test_keys_and_sessions_are_hidden_from_all_but_admins(staff: Staff) -> None:
    for role in (VIEWER, OPERATOR, ADMIN):
        listed = (await staff.of(role).get("/api/tables")).json()["items"]
        asked = await staff.of(role).post("/api/tables/GatelegAccess/patterns/ApiKey.every", json={})
        assert ("GatelegAccess" in [table["name"] for table in listed]) == (role is ADMIN)
        assert asked.status_code == (200 if role is ADMIN else 404)
        assert "digest" not in asked.text


async def test_the_audit_log_is_hidden_from_all_but_admins(staff: Staff) -> None:
    for role in (VIEWER, OPERATOR, ADMIN):
        listed = (await staff.of(role).get("/api/tables")).json()["items"]
        asked = await staff.of(role).post("/api/tables/GatelegAudit/patterns/AuditEntry.by_day", json={"arguments": {"day": "2026-01-01"}})
        assert ("GatelegAudit" in [table["name"] for table in listed]) == (role is ADMIN)
        assert asked.status_code == (200 if role is ADMIN else 404)


async def test_a_member_cannot_tell_what_of_the_kit_is_there(staff: Staff) -> None:
    for path in ("/api/nothing", "/api/tables/Songs", "/api/tables/Nothing", "/objects/a/b.txt", "/jobs", "/"):
        assert (await staff.member.get(path)).status_code == 403


async def test_a_viewer_cannot_ask_for_a_link_to_write(staff: Staff) -> None:
    wanted = {"key": "a.txt", "method": "PUT"}
    assert (await staff.viewer.post("/api/objects/links", json=wanted)).status_code == 403
    assert (await staff.operator.post("/api/objects/links", json=wanted)).status_code == 201


@pytest.mark.parametrize("tenant", ["acme", None])
async def test_an_application_learns_the_tenant_of_its_caller(host: Host, app: FastAPI, tenant: str | None) -> None:
    made = await host.keys.create("ann", MEMBER, tenant=tenant)
    async with client_of(app, token=made.token) as client:
        assert (await client.get("/api/music/whoami")).json() == {"name": "ann", "tenant": str(tenant)}


def documented_roles() -> dict[tuple[str, str], Role]:
    """The role of each route of an action, as the reference says it. Jobs of members stand for those of every application."""
    page = (Path(__file__).parents[2] / "docs/reference/actions.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in page.splitlines() if line.startswith("| `")]
    found: dict[tuple[str, str], Role] = {}
    for _, _, _, role, http, *_ in rows:
        method, path = http.strip("`").split()
        found[method, path.replace("/api/{application}/", "/api/music/")] = Role[role.partition(";")[0].upper()]
    return found


async def test_every_route_of_an_action_lets_in_the_roles_that_the_reference_says(staff: Staff, app: FastAPI) -> None:
    served = {(method, path.replace(":path", "")): path for method, path in routes(app)}
    documented = documented_roles()
    assert {(method, path.replace(":path", "")) for method, path in (action.http.split() for action in ACTIONS)} <= set(documented)
    wrong = []
    for place, least in documented.items():
        # Applications of Gateleg, which this host has not, have their own tests.
        for role in Role if place in served else ():
            status = await ask(staff.of(role), place[0], served[place])
            if (status not in (401, 403)) != (role >= least):
                wrong.append((*place, role.word, status))
    assert wrong == []
