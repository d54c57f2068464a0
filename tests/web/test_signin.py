import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from gateleg.jobs import ManualClock
from gateleg.web.host import Host
from gateleg.web.principal import Role
from gateleg.web.sessions import COOKIE
from gateleg.web.signin import safe_next
from tests.web.conftest import HOME, client_of


@pytest.fixture
async def token(host: Host) -> str:
    return (await host.keys.create("ann", Role.OPERATOR)).token


async def test_the_form_signs_in_and_goes_on_to_where_one_wanted(client: httpx.AsyncClient, token: str) -> None:
    assert 'name="key"' in (await client.get("/signin")).text
    answer = await client.post("/signin", data={"key": f" {token} ", "next": "/jobs?status=FAILED"}, headers={"origin": HOME})
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=FAILED")
    assert (await client.get("/api/session")).json()["name"] == "ann"
    assert (await client.get("/signin")).status_code == 303


async def test_the_cookie_is_out_of_reach_for_scripts_other_sites_and_plain_http(app: FastAPI, token: str) -> None:
    for home, secure in ((HOME, False), ("https://127.0.0.1", True)):
        async with client_of(app, home=home) as client:
            cookie = (await client.post("/signin", data={"key": token})).headers["set-cookie"].lower()
            assert cookie.startswith(COOKIE)
            assert ("httponly" in cookie, "samesite=lax" in cookie, "; secure" in cookie) == (True, True, secure)


async def test_a_wrong_key_is_told_on_the_form_and_keeps_the_place(client: httpx.AsyncClient, token: str) -> None:
    answer = await client.post("/signin", data={"key": "nonsense", "next": "/jobs"})
    assert (answer.status_code, 'role="alert"' in answer.text, 'value="/jobs"' in answer.text) == (401, True, True)
    assert "set-cookie" not in answer.headers
    assert "nonsense" not in answer.text


async def test_what_is_written_into_the_form_cannot_become_markup(client: httpx.AsyncClient, token: str) -> None:
    answer = await client.get("/signin", params={"next": '/x"><script>alert(1)</script>'})
    assert "<script>" not in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_too_many_wrong_keys_have_to_wait(client: httpx.AsyncClient, token: str, host: Host, clock: ManualClock) -> None:
    for _ in range(host.settings.signin_attempts):
        assert (await client.post("/signin", data={"key": "nonsense"})).status_code == 401
    refused = await client.post("/signin", data={"key": token})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    clock.advance(31)
    assert (await client.post("/signin", data={"key": token})).status_code == 303


async def test_another_site_cannot_sign_a_browser_in(client: httpx.AsyncClient, token: str) -> None:
    answer = await client.post("/signin", data={"key": token}, headers={"origin": "https://evil.example"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


async def test_signing_out_needs_the_form_of_the_session(client: httpx.AsyncClient, token: str, host: Host) -> None:
    await client.post("/signin", data={"key": token})
    cookie = client.cookies[COOKIE]
    assert (await client.post("/signout", data={"csrf": "x"})).status_code == 403
    assert "ann" in (await client.get("/signout")).text
    left = await client.post("/signout", data={"csrf": host.sessions.csrf_token(cookie)})
    assert (left.status_code, left.headers["location"], COOKIE in client.cookies) == (303, "/signin", False)
    assert (await client.get("/api/session", headers={"cookie": f"{COOKIE}={cookie}"})).status_code == 401


async def test_signing_out_everywhere_ends_the_other_sessions_too(client: httpx.AsyncClient, token: str, host: Host) -> None:
    other = await host.sessions.begin(token)
    await client.post("/signin", data={"key": token})
    form = {"csrf": host.sessions.csrf_token(client.cookies[COOKIE]), "everywhere": "1"}
    assert (await client.post("/signout", data=form)).status_code == 303
    assert (await client.get("/api/session", headers={"cookie": f"{COOKIE}={other.cookie}"})).status_code == 401


async def test_signing_in_and_out_is_in_the_audit_log(client: httpx.AsyncClient, token: str, host: Host) -> None:
    await client.post("/signin", data={"key": token})
    await client.post("/signout", data={"csrf": host.sessions.csrf_token(client.cookies[COOKIE])})
    assert {entry.action for entry in await host.audit.page()} == {"session.begin", "session.end"}


@pytest.mark.parametrize("body", [b"\xff\xfe=1", b"&".join([b"a=1"] * 50)])
async def test_a_form_that_cannot_be_read_is_refused(client: httpx.AsyncClient, token: str, body: bytes) -> None:
    answer = await client.post("/signin", content=body, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 400
    assert (await client.post("/signin", json={"key": token})).status_code == 400


@pytest.mark.parametrize(
    "place",
    ["//evil.example", "https://evil.example", "/\\evil.example", "", None, "/signin?next=/", "/a\nb", "javascript:alert(1)", "\t/x"],
)
def test_the_way_on_stays_on_this_host(place: str | None) -> None:
    assert safe_next(place) == "/"


@given(st.text(alphabet=st.sampled_from("/\\:.@?#%ab \t\nhtp"), max_size=12))
def test_the_way_on_is_always_a_path(place: str) -> None:
    safe = safe_next(place)
    assert safe.startswith("/")
    assert not safe.startswith(("//", "/\\"))
