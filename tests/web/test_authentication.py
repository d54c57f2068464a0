from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from gateleg.host.credentials import host_name
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import COOKIE
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.net import is_loopback
from gateleg.store.transports import Unreachable
from gateleg.web.app import create_app
from gateleg.web.authentication import is_member_path, same_origin
from tests.web.conftest import HOME, client_of
from tests.web.sockets import Socket

SONGS = "/api/tables"
JOB = {"job_type": "add", "config": {"numbers": [1]}}


def code(answer: httpx.Response) -> str:
    found: str = answer.json()["error"]["code"]
    return found


@given(st.text(st.characters(max_codepoint=255), max_size=40), st.text(st.characters(max_codepoint=255), max_size=40))
def test_no_header_that_somebody_makes_up_is_taken_for_this_machine_or_breaks_the_gate(host: str, origin: str) -> None:
    headers = Headers({"host": host, "origin": origin})
    name = host_name(headers)
    if is_loopback(name):
        assert any(part in host.lower() for part in ("localhost", "127.", "::1", "[0"))
    if same_origin(headers, "http", None):
        assert origin == f"http://{host}"


async def test_without_keys_whoever_has_the_token_may_do_everything(client: httpx.AsyncClient) -> None:
    assert (await client.get("/api/session")).json()["role"] == "admin"


async def test_without_keys_being_at_this_machine_is_not_enough(stranger: httpx.AsyncClient) -> None:
    told = await stranger.get(SONGS)
    assert (told.status_code, code(told), "gateleg token" in told.text) == (401, "not-signed-in", True)
    assert (await stranger.get(SONGS, headers={"authorization": f"Bearer gl_local_{'a' * 43}"})).status_code == 401
    page = await stranger.get("/jobs", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/signin?next=%2Fjobs")


async def test_without_keys_other_machines_are_refused(app: FastAPI, host: Host) -> None:
    for token in (None, host.local.token):
        async with client_of(app, peer="10.1.2.3", token=token) as client:
            assert code(await client.get(SONGS)) == "foreign-host"
            assert (await client.get("/health")).status_code == 200


@pytest.fixture
def silent(host: Host, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A host whose store does not answer any more."""

    async def nothing(*args: object, **options: object) -> None:
        raise Unreachable("nobody is at 10.0.0.7")

    monkeypatch.setattr(host.store.transport, "call", nothing)
    return host


@pytest.mark.usefixtures("silent")
async def test_a_host_whose_store_does_not_answer_says_that_it_runs_and_that_it_cannot_serve(client: httpx.AsyncClient) -> None:
    assert (await client.get("/health")).status_code == 200
    for path, expected in (("/ready", "not-ready"), (SONGS, "store-away")):
        answer = await client.get(path)
        assert (answer.status_code, code(answer)) == (503, expected)


@pytest.mark.usefixtures("silent")
async def test_who_is_not_known_does_not_learn_where_a_store_is_that_does_not_answer(client: httpx.AsyncClient) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    answers = [await client.get(path) for path in ("/ready", SONGS, "/jobs", "/signin", "/objects/a.txt")]
    answers.append(await client.post("/signin", content=f"key=gl_{'a' * 12}_{'b' * 43}", headers=form))
    assert [answer.status_code for answer in answers] == [503, 503, 503, 200, 401, 503]
    assert [answer.text for answer in answers if "10.0.0.7" in answer.text] == []


async def test_whoever_is_known_may_look_while_the_store_takes_no_writes(
    host: Host, app: FastAPI, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = (await host.keys.create("ann", Role.ADMIN)).token
    cookie = (await host.sessions.begin(token)).cookie
    call = host.store.transport.call

    async def full(operation: str, request: dict[str, Any], **options: Any) -> dict[str, Any]:
        if operation == "UpdateItem":
            raise Unreachable("the disk is full")
        return await call(operation, request, **options)

    monkeypatch.setattr(host.store.transport, "call", full)
    clock.advance(700)
    async with client_of(app, token=token) as program, client_of(app) as browser:
        browser.cookies.set(COOKIE, cookie)
        assert [(await caller.get(SONGS)).status_code for caller in (program, browser)] == [200, 200]


@pytest.mark.usefixtures("silent")
async def test_a_person_is_told_on_a_page_that_the_store_does_not_answer(client: httpx.AsyncClient) -> None:
    answer = await client.get("/jobs", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert "cannot reach its store" in answer.text


async def test_a_name_that_was_bound_to_this_machine_by_another_site_is_refused(app: FastAPI, host: Host) -> None:
    for token in (None, host.local.token):
        async with client_of(app, home="http://evil.example", token=token) as client:
            answer = await client.get(SONGS)
            assert (answer.status_code, code(answer)) == (421, "foreign-host")


@pytest.mark.parametrize(
    "header",
    ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip"],
)
async def test_without_keys_the_token_and_its_session_are_not_taken_through_a_proxy(
    client: httpx.AsyncClient, stranger: httpx.AsyncClient, host: Host, header: str
) -> None:
    assert (await client.get(SONGS, headers={header: "1.2.3.4"})).status_code == 421
    assert (await stranger.get(host.local.link(""), headers={header: "1.2.3.4"})).status_code == 421
    assert (await stranger.get(host.local.link(""))).status_code == 303
    assert (await stranger.get(SONGS)).status_code == 200
    assert (await stranger.get(SONGS, headers={header: "1.2.3.4"})).status_code == 421


async def test_the_first_key_closes_the_door_for_those_without(client: httpx.AsyncClient, host: Host) -> None:
    assert (await client.get(SONGS)).status_code == 200
    await host.keys.create("ann", Role.ADMIN)
    assert (await client.get(SONGS)).status_code == 401


async def test_a_host_that_names_its_names_answers_to_no_others(settings: Settings, clock: ManualClock) -> None:
    named = settings.model_copy(update={"hosts": ("gateleg.example",)})
    async with Host.open(named, [], clock=clock, ticks=clock) as host:
        app = create_app(host, console=False)
        token = (await host.keys.create("ann", Role.ADMIN)).token
        for home, status in (("https://gateleg.example", 200), ("https://other.example", 421), (HOME, 200)):
            async with client_of(app, token=token, peer="10.0.0.1", home=home) as client:
                assert (await client.get(SONGS)).status_code == status


async def test_a_key_is_taken_from_either_header(host: Host, app: FastAPI) -> None:
    token = (await host.keys.create("ann", Role.ADMIN)).token
    async with client_of(app, peer="10.0.0.1", home="http://anywhere") as client:
        for headers in ({"authorization": f"bearer {token}"}, {"x-api-key": token}):
            assert (await client.get(SONGS, headers=headers)).status_code == 200
        assert (await client.get(SONGS, headers={"authorization": f"Basic {token}"})).status_code == 401


async def test_browsers_are_sent_to_sign_in_and_programs_are_told(host: Host, client: httpx.AsyncClient) -> None:
    await host.keys.create("ann", Role.ADMIN)
    sent = await client.get("/jobs?status=FAILED", headers={"accept": "text/html,*/*"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/signin?next=%2Fjobs%3Fstatus%3DFAILED")
    odd = await client.get("/music/50%25%2Fcaf%C3%A9", headers={"accept": "text/html"})
    assert odd.headers["location"] == "/signin?next=%2Fmusic%2F50%2525%252Fcaf%25C3%25A9"
    for path, accept in (("/jobs", "application/json"), (SONGS, "text/html"), ("/events/stats", "text/html")):
        told = await client.get(path, headers={"accept": accept})
        assert (told.status_code, told.headers["www-authenticate"]) == (401, 'Bearer realm="gateleg"')


@pytest.fixture
async def signed_in(host: Host, app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    session = await host.sessions.begin((await host.keys.create("ann", Role.ADMIN)).token)
    async with client_of(app) as client:
        client.cookies.set(COOKIE, session.cookie)
        yield client


async def test_a_write_in_a_session_needs_its_token_and_a_page_of_ours(signed_in: httpx.AsyncClient) -> None:
    token = (await signed_in.get("/api/session")).json()["csrf_token"]
    good = {"x-csrf-token": token, "origin": HOME}
    assert (await signed_in.post("/api/jobs", json=JOB, headers=good)).status_code == 201
    for bad in (
        {},
        {"origin": HOME},
        {"x-csrf-token": token[:-1] + ("1" if token.endswith("0") else "0"), "origin": HOME},
        {"x-csrf-token": token, "origin": "https://evil.example"},
        {"x-csrf-token": token, "origin": "null"},
        {"x-csrf-token": token, "origin": "http://127.0.0.1:9000"},
        {"x-csrf-token": token, "sec-fetch-site": "cross-site"},
        {"x-csrf-token": token, "sec-fetch-site": "same-site"},
    ):
        answer = await signed_in.post("/api/jobs", json=JOB, headers=bad)
        assert (answer.status_code, code(answer)) == (403, "foreign-origin"), bad


async def test_reading_in_a_session_needs_no_token(signed_in: httpx.AsyncClient) -> None:
    assert (await signed_in.get(SONGS)).status_code == 200


async def test_a_key_in_the_header_needs_no_token(host: Host, app: FastAPI) -> None:
    async with client_of(app, token=(await host.keys.create("ann", Role.ADMIN)).token) as client:
        assert (await client.post("/api/jobs", json=JOB, headers={"origin": "https://evil.example"})).status_code == 201


async def test_without_keys_other_sites_cannot_write_through_a_browser_here(stranger: httpx.AsyncClient, host: Host) -> None:
    await stranger.get(host.local.link(""))
    good = {"x-csrf-token": (await stranger.get("/api/session")).json()["csrf_token"], "origin": HOME}
    for bad in ({"origin": "https://evil.example"}, {"origin": HOME}, {}, good | {"origin": "https://evil.example"}):
        assert (await stranger.post("/api/jobs", json=JOB, headers=bad)).status_code == 403
    assert (await stranger.post("/api/jobs", json=JOB, headers=good)).status_code == 201


@pytest.fixture
def echoing(app: FastAPI) -> FastAPI:
    from fastapi import WebSocket, WebSocketDisconnect

    @app.websocket("/_nicegui_ws/echo")
    async def echo(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            while True:
                await websocket.send_text(f"{websocket.state.principal.name}: {await websocket.receive_text()}")
        except WebSocketDisconnect:
            return

    return app


async def test_a_websocket_knows_its_caller(host: Host, echoing: FastAPI) -> None:
    session = await host.sessions.begin((await host.keys.create("ann", Role.ADMIN)).token)
    sent = await Socket(echoing, "/_nicegui_ws/echo", cookie=f"{COOKIE}={session.cookie}", origin=HOME).run("hello")
    assert [message.get("text") for message in sent[1:]] == ["ann: hello"]


async def test_a_websocket_without_a_session_or_of_another_site_is_closed(host: Host, echoing: FastAPI) -> None:
    session = await host.sessions.begin((await host.keys.create("ann", Role.ADMIN)).token)
    cookie = f"{COOKIE}={session.cookie}"
    for headers, expected in (({}, 4401), ({"cookie": cookie, "origin": "https://evil.example"}, 4403)):
        sent = await Socket(echoing, "/_nicegui_ws/echo", **headers).run("hello")
        assert [(message["type"], message.get("code")) for message in sent] == [("websocket.close", expected)]


async def test_a_websocket_is_closed_when_its_key_is_revoked(host: Host, echoing: FastAPI) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    session = await host.sessions.begin(made.token)

    async def revoke() -> None:
        await host.keys.revoke(made.key.key_id)

    socket = Socket(echoing, "/_nicegui_ws/echo", cookie=f"{COOKIE}={session.cookie}", origin=HOME)
    sent = await socket.run("one", "revoke", "two", between=revoke)
    assert [message.get("text") for message in sent if message["type"] == "websocket.send"] == ["ann: one"]
    assert [message["code"] for message in sent if message["type"] == "websocket.close"] == [4401]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/jobs",
        "/tables",
        "/tables/Songs",
        "/migrations",
        "/migrations/music/1",
        "/objects",
        "/settings",
        "/metrics",
        "/api/jobs",
        "/musical",
    ],
)
def test_the_kit_is_closed_to_members(path: str) -> None:
    assert not is_member_path(path, ["music"])


@pytest.mark.parametrize(
    "path", ["/music", "/music/piano", "/api/music/piano", "/events/music/x", "/api/session", "/_nicegui/x.js", "/_nicegui_ws/", "/signout"]
)
def test_applications_and_what_pages_are_made_of_are_open_to_members(path: str) -> None:
    assert is_member_path(path, ["music"])


async def test_a_person_without_the_role_is_told_on_a_page_and_a_program_in_the_envelope(host: Host, app: FastAPI) -> None:
    session = await host.sessions.begin((await host.keys.create("<b>bob</b>", Role.MEMBER)).token)
    async with client_of(app) as client:
        client.cookies.set("gateleg_session", session.cookie)
        page = await client.get("/jobs", headers={"accept": "text/html,*/*"})
        assert (page.status_code, page.headers["content-type"]) == (403, "text/html; charset=utf-8")
        assert "&lt;b&gt;bob&lt;/b&gt;" in page.text
        assert "<b>bob</b>" not in page.text
        assert 'href="/signout"' in page.text
        assert "script" not in page.headers["content-security-policy"]
        program = await client.get("/jobs", headers={"accept": "application/json"})
        assert (program.status_code, program.json()["error"]["code"]) == (403, "not-allowed")


async def test_a_browser_that_comes_by_a_foreign_name_is_told_on_a_page(app: FastAPI) -> None:
    async with client_of(app, home="http://elsewhere.example") as client:
        page = await client.get("/", headers={"accept": "text/html"})
    assert (page.status_code, "Open the link that the host printed" in page.text) == (421, True)
    assert 'href="/signout"' not in page.text
