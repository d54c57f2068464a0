from dataclasses import replace

import pytest
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from gateleg.host import Application, Refusal, Resources, Role, Surface
from gateleg.host.application import BadApplication
from gateleg.host.host import Host
from gateleg.host.sessions import COOKIE
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from tests.web.conftest import HOME, Staff, client_of
from tests.web.sample import Band, make_application
from tests.web.sockets import Socket


async def plain(scope: Scope, receive: Receive, send: Send) -> None:
    raise NotImplementedError


async def test_a_member_calls_a_surface_at_its_path_and_below(staff: Staff) -> None:
    for path in ("/music/band", "/music/band/", "/music/band/solo"):
        assert (await staff.member.get(path)).json() == {"name": "member", "played": 0, "root": "/music/band"}
    assert (await staff.member.get("/music/bandstand")).status_code == 404


async def test_a_surface_has_the_limit_of_bodies_that_it_declares(staff: Staff) -> None:
    assert (await staff.member.post("/music/band", content=b"x" * 500)).json()["played"] == 500
    refused = await staff.member.post("/music/band", content=b"x" * 501)
    assert (refused.status_code, refused.json()["error"]["details"]["limit"]) == (413, 500)
    assert (await staff.operator.post("/graphql/music", content=b"x" * 10_000)).json()["played"] == 10_000


async def test_who_may_not_call_a_surface_is_told_in_the_envelope_even_in_a_browser(staff: Staff) -> None:
    for client, path, status in (
        (staff.nobody, "/music/band", 401),
        (staff.member, "/graphql/music", 403),
        (staff.viewer, "/graphql/music", 403),
    ):
        answer = await client.get(path, headers={"accept": "text/html"})
        assert (answer.status_code, "error" in answer.json()) == (status, True)


async def test_a_session_needs_its_token_to_write_through_a_surface(host: Host, app: FastAPI) -> None:
    key = await host.keys.create("ann", Role.MEMBER)
    async with client_of(app) as browser:
        await browser.post("/signin", data={"key": key.token}, headers={"origin": HOME})
        assert COOKIE in browser.cookies
        assert (await browser.get("/music/band")).status_code == 200
        refused = await browser.post("/music/band", headers={"origin": HOME})
        foreign = await browser.post("/music/band", headers={"origin": "https://evil.example"})
        assert (refused.status_code, foreign.status_code) == (403, 403)
        token = (await browser.get("/api/session")).json()["csrf_token"]
        assert (await browser.post("/music/band", headers={"origin": HOME, "x-csrf-token": token})).status_code == 200


async def test_a_surface_has_security_headers_a_request_id_and_metrics(staff: Staff) -> None:
    answer = await staff.member.get("/music/band/solo")
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["x-request-id"]
    assert '/music/band"' in (await staff.viewer.get("/metrics")).text


async def test_a_surface_runs_from_the_start_of_the_host_to_its_end(host: Host) -> None:
    app = create_app(host, console=False)
    band: Band = host.resources["music"].state["band"]
    assert (band.started, band.stopped) == (0, 0)
    async with app.router.lifespan_context(app):
        assert (band.started, band.stopped) == (1, 0)
    assert (band.started, band.stopped) == (1, 1)


async def test_a_websocket_of_a_surface_needs_its_role(host: Host, app: FastAPI) -> None:
    member, operator = await host.keys.create("ann", Role.MEMBER), await host.keys.create("bob", Role.OPERATOR)
    heard = await Socket(app, "/music/band/jam", authorization=f"Bearer {member.token}").run("la")
    assert [message.get("text") for message in heard][:2] == [None, "la"]
    refused = await Socket(app, "/graphql/music/jam", authorization=f"Bearer {member.token}").run("la")
    assert [message["type"] for message in refused] == ["websocket.close"]
    heard = await Socket(app, "/graphql/music/jam", authorization=f"Bearer {operator.token}").run("la")
    assert [message.get("text") for message in heard][:2] == [None, "la"]
    assert (await Socket(app, "/music/band/jam").run())[0]["code"] == 4401


@pytest.mark.parametrize("path", ["/api/x", "/jobs", "music", "/", "/Music", "/other/mcp", "/objects/x", "/a b", "/music/../x"])
async def test_a_surface_cannot_be_where_something_else_is(settings: Settings, path: str) -> None:
    def surfaces(resources: Resources) -> list[Surface]:
        return [Surface(path, plain)]

    applications = [replace(make_application(), surfaces=surfaces), Application(name="other", title="Other", icon="star")]
    async with Host.open(settings, applications) as host:
        with pytest.raises(BadApplication, match="cannot have a surface"):
            create_app(host, console=False)


async def test_two_surfaces_cannot_share_a_path(settings: Settings) -> None:
    def surfaces(resources: Resources) -> list[Surface]:
        return [Surface("/graphql", plain), Surface("/graphql/music", plain)]

    async with Host.open(settings, [replace(make_application(), surfaces=surfaces)]) as host:
        with pytest.raises(Refusal, match="the path is taken"):
            create_app(host, console=False)


async def test_a_host_goes_on_without_an_application_that_fails(settings: Settings) -> None:
    def broken(resources: Resources) -> list[Surface]:
        raise RuntimeError("no strings")

    other = Application(name="other", title="Other", icon="star", surfaces=broken)
    async with Host.open(settings, [other, make_application()], tolerant=True) as host:
        app = create_app(host, console=False)
        async with client_of(app, token=host.local.token) as client:
            assert (await client.get("/api/music/whoami")).status_code == 200
        assert host.failed_applications == {"other": "RuntimeError: no strings"}
    async with Host.open(settings, [other]) as host:
        with pytest.raises(RuntimeError, match="no strings"):
            create_app(host, console=False)
