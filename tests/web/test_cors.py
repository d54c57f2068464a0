"""CORS: what pages of other origins may do, and that errors can be read by them too."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings, load_settings
from gateleg.jobs import ManualClock
from tests.web.conftest import client_of
from tests.web.sample import make_application
from tests.web.sockets import Socket

APP, FRONT, EVIL = "https://app.example.com", "https://front.example.com", "https://evil.example"


@pytest.fixture
def chosen() -> dict[str, Any]:
    return {"cors_origins": (APP,), "cors_credentials": (FRONT,)}


@pytest.fixture
async def host(settings: Settings, clock: ManualClock, chosen: dict[str, Any]) -> AsyncIterator[Host]:
    async with Host.open(settings.model_copy(update=chosen), [make_application()], clock=clock, ticks=clock) as host:
        yield host


@pytest.fixture
async def token(host: Host) -> str:
    return (await host.keys.create("ann", Role.ADMIN)).token


@pytest.fixture
async def lenient(app: FastAPI, token: str) -> AsyncIterator[httpx.AsyncClient]:
    """A program with a key; failures of the host are answers."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=("127.0.0.1", 5))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers={"authorization": f"Bearer {token}"}
    ) as client:
        yield client


def granted(answer: httpx.Response) -> tuple[str | None, str | None]:
    return answer.headers.get("access-control-allow-origin"), answer.headers.get("access-control-allow-credentials")


ANSWERS = [
    ("GET", "/api/session", {}, 200),
    ("GET", "/api/session", {"headers": {"authorization": "Bearer gl_nobody"}}, 401),
    ("GET", "/api/session", {"headers": {"authorization": ""}}, 401),
    ("GET", "/graphql/music", {}, 200),
    ("GET", "/music/band", {"headers": {"authorization": ""}}, 401),
    ("GET", "/events/jobs/00000000-0000-4000-8000-000000000000", {}, 404),
    ("GET", "/objects/nothing", {}, 404),
    ("PUT", "/objects/nothing", {"content": b"x"}, 403),
    ("GET", "/api/nothing", {}, 404),
    ("PUT", "/api/jobs", {}, 405),
    ("POST", "/api/jobs", {"content": b"x" * 20_000, "headers": {"content-type": "application/json"}}, 413),
    ("POST", "/api/jobs", {"json": {}}, 422),
    ("GET", "/api/music/piano", {}, 418),
    ("GET", "/api/music/broken", {}, 500),
]


@pytest.mark.parametrize(("method", "path", "options", "status"), ANSWERS)
async def test_every_answer_can_be_read_by_the_origins_of_the_settings_and_no_others(
    lenient: httpx.AsyncClient, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    for origin, expected in (
        (APP, (APP, None)),
        (FRONT, (FRONT, "true")),
        (EVIL, (None, None)),
        (None, (None, None)),
        ("null", (None, None)),
    ):
        headers = {**options.get("headers", {}), **({} if origin is None else {"origin": origin})}
        answer = await lenient.request(method, path, **{**options, "headers": headers})
        assert (answer.status_code, granted(answer)) == (status, expected)
        assert "origin" in answer.headers["vary"].lower()
        exposed = answer.headers.get("access-control-expose-headers", "")
        assert ("x-request-id" in exposed) == (expected != (None, None))
        assert "set-cookie" not in exposed


@pytest.mark.parametrize(
    "path", ["/", "/jobs", "/signin", "/signout", "/health", "/metrics", "/dynamodb", "/_nicegui/x.js", "/objects", "/apinot"]
)
async def test_what_is_not_for_programs_takes_no_part(lenient: httpx.AsyncClient, path: str) -> None:
    for method in ("GET", "OPTIONS"):
        answer = await lenient.request(method, path, headers={"origin": FRONT, "access-control-request-method": "GET"})
        assert granted(answer) == (None, None)


@pytest.mark.parametrize("path", ["/api/jobs", "/graphql/music", "/events/stats", "/objects/a/b.txt", "/api/music/whoami"])
async def test_a_preflight_is_answered_before_anybody_is_known(app: FastAPI, token: str, path: str) -> None:
    asked = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization, content-type, part-id"}
    async with client_of(app) as client:
        answer = await client.options(path, headers={"origin": APP, **asked})
        assert (answer.status_code, granted(answer)) == (204, (APP, None))
        assert "PUT" in answer.headers["access-control-allow-methods"]
        assert answer.headers["access-control-allow-headers"] == asked["access-control-request-headers"]
        assert answer.headers["access-control-max-age"] == "7200"
        assert answer.headers["vary"] == "Origin, Access-Control-Request-Headers"
        assert (await client.options(path, headers={"origin": FRONT, **asked})).headers["access-control-allow-credentials"] == "true"
        refused = await client.options(path, headers={"origin": EVIL, **asked})
        assert (refused.status_code >= 400 or path.startswith("/objects"), granted(refused)) == (True, (None, None))
        assert "access-control-allow-methods" not in refused.headers
        # Without a method it asks for nothing.
        assert (await client.options(path, headers={"origin": APP})).status_code != 204


async def test_a_preflight_for_headers_that_are_none_grants_none(app: FastAPI) -> None:
    asked = {"origin": APP, "access-control-request-method": "PUT", "access-control-request-headers": "a b, c:d"}
    async with client_of(app) as client:
        answer = await client.options("/api/jobs", headers=asked)
        assert (answer.status_code, "access-control-allow-headers" in answer.headers) == (204, False)


async def test_a_session_is_used_by_the_origins_that_may_and_with_its_token_only(app: FastAPI, host: Host, token: str) -> None:
    new = {"name": "bob", "role": "viewer"}
    async with client_of(app) as browser:
        await browser.post("/signin", data={"key": token})
        csrf = {"x-csrf-token": (await browser.get("/api/session")).json()["csrf_token"]}
        for origin, status in ((FRONT, 201), (APP, 403), (EVIL, 403)):
            assert (await browser.post("/api/keys", json=new, headers={"origin": origin, **csrf})).status_code == status
        assert (await browser.post("/api/keys", json=new, headers={"origin": FRONT})).status_code == 403
        # No other origin signs in or out, whatever the settings say.
        for path in ("/signin", "/signout"):
            answer = await browser.post(path, data={"key": token, "csrf": csrf["x-csrf-token"]}, headers={"origin": FRONT})
            assert answer.status_code == 403
        cookie = browser.headers.get("cookie") or "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    for origin, accepted in ((FRONT, True), (APP, False), (EVIL, False)):
        sent = await Socket(app, "/api/music/rehearsal", cookie=cookie, origin=origin).run("end")
        assert (sent[0]["type"] == "websocket.accept") == accepted


@pytest.mark.parametrize("chosen", [{}])
async def test_without_the_settings_nothing_is_added(lenient: httpx.AsyncClient) -> None:
    answer = await lenient.get("/api/session", headers={"origin": APP})
    assert (granted(answer), "vary" in answer.headers) == ((None, None), False)
    asked = {"origin": APP, "access-control-request-method": "GET"}
    assert (await lenient.options("/api/session", headers=asked)).status_code == 405


@pytest.mark.parametrize("chosen", [{"cors_origins": ("*",), "cors_credentials": (FRONT,)}])
async def test_all_origins_may_call_with_a_key_and_only_named_ones_with_a_session(lenient: httpx.AsyncClient) -> None:
    assert granted(await lenient.get("/api/session", headers={"origin": EVIL})) == ("*", None)
    assert granted(await lenient.get("/api/session", headers={"origin": "null"})) == ("*", None)
    assert granted(await lenient.get("/api/session", headers={"origin": FRONT})) == (FRONT, "true")


async def test_what_a_route_says_itself_stays(app: FastAPI, lenient: httpx.AsyncClient) -> None:
    from starlette.responses import Response

    app.add_api_route("/api/music/varied", lambda: Response("x", headers={"Vary": "Accept", "X-Own": "1"}))
    app.router.routes.insert(0, app.router.routes.pop())
    answer = await lenient.get("/api/music/varied", headers={"origin": APP})
    assert answer.headers["vary"] == "Accept, Origin"
    assert "x-own" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    ("field", "origin", "words"),
    [
        ("cors_origins", "https://app.example.com/", "without a path"),
        ("cors_origins", "https://App.example.com", "lower case"),
        ("cors_origins", "app.example.com", "write https"),
        ("cors_origins", "https://*.example.com", "is not an origin"),
        ("cors_origins", "null", "is not an origin"),
        ("cors_origins", "https://app.example.com:443", "default port"),
        ("cors_origins", "http://app.example.com:80", "default port"),
        ("cors_credentials", "*", "every site"),
        ("cors_credentials", "http://app.example.com", "no TLS"),
    ],
)
def test_an_origin_that_no_browser_sends_is_refused_at_the_start(field: str, origin: str, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.model_validate({field: (origin,)})
    assert words in str(refused.value)


def test_origins_are_read_from_a_variable() -> None:
    settings = load_settings(
        environ={"GATELEG_CORS_ORIGINS": f"{APP}, http://localhost:5173", "GATELEG_CORS_CREDENTIALS": "http://[::1]:3000"}
    )
    assert settings.cors_origins == (APP, "http://localhost:5173")
    assert settings.cors_credentials == ("http://[::1]:3000",)
