from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sessions import COOKIE
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.signin import safe_next
from tests.web.conftest import HOME, client_of


@pytest.fixture
async def token(host: Host) -> str:
    return (await host.keys.create("ann", Role.OPERATOR)).token


async def test_the_form_signs_in_and_goes_on_to_where_one_wanted(stranger: httpx.AsyncClient, token: str) -> None:
    assert 'name="key"' in (await stranger.get("/signin")).text
    answer = await stranger.post("/signin", data={"key": f" {token} ", "next": "/jobs?status=FAILED"}, headers={"origin": HOME})
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?status=FAILED")
    assert (await stranger.get("/api/session")).json()["name"] == "ann"
    assert (await stranger.get("/signin")).status_code == 303


async def test_the_cookie_is_out_of_reach_for_scripts_other_sites_and_plain_http(app: FastAPI, token: str) -> None:
    for home, secure in ((HOME, False), ("https://127.0.0.1", True)):
        async with client_of(app, home=home) as client:
            cookie = (await client.post("/signin", data={"key": token})).headers["set-cookie"].lower()
            assert cookie.startswith(COOKIE)
            assert ("httponly" in cookie, "samesite=lax" in cookie, "; secure" in cookie) == (True, True, secure)


async def test_a_wrong_key_is_told_on_the_form_and_keeps_the_place(stranger: httpx.AsyncClient, token: str) -> None:
    answer = await stranger.post("/signin", data={"key": "nonsense", "next": "/jobs"})
    assert (answer.status_code, 'role="alert"' in answer.text, 'value="/jobs"' in answer.text) == (401, True, True)
    assert "set-cookie" not in answer.headers
    assert "nonsense" not in answer.text


async def test_what_is_written_into_the_form_cannot_become_markup(stranger: httpx.AsyncClient, token: str) -> None:
    answer = await stranger.get("/signin", params={"next": '/x"><script>alert(1)</script>'})
    assert "<script>" not in answer.text
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_too_many_wrong_keys_have_to_wait_and_a_right_one_does_not(
    stranger: httpx.AsyncClient, token: str, host: Host, clock: ManualClock
) -> None:
    for _ in range(host.settings.signin_attempts):
        assert (await stranger.post("/signin", data={"key": "nonsense"})).status_code == 401
    refused = await stranger.post("/signin", data={"key": "nonsense"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    assert (await stranger.post("/signin", data={"key": token})).status_code == 303
    stranger.cookies.clear()
    assert (await stranger.post("/signin", data={"key": "nonsense"})).status_code == 401


async def test_the_link_of_a_host_without_keys_signs_a_browser_in(stranger: httpx.AsyncClient, host: Host) -> None:
    assert "gateleg token" in (await stranger.get("/signin")).text
    answer = await stranger.get(host.local.link("") + "&next=/jobs")
    assert (answer.status_code, answer.headers["location"], answer.headers["cache-control"]) == (303, "/jobs", "no-store")
    session = (await stranger.get("/api/session")).json()
    assert (session["name"], session["role"]) == ("local", "admin")
    written = {"x-csrf-token": session["csrf_token"], "origin": HOME}
    assert (await stranger.post("/api/keys", json={"name": "ann", "role": "admin"}, headers=written)).status_code == 201
    # Which was the first key: it ends the token and all that was begun with it.
    assert (await stranger.get("/api/session")).status_code == 401
    assert (await stranger.get(host.local.link(""))).status_code == 401


async def test_the_form_takes_the_token_too_and_its_session_can_be_left(stranger: httpx.AsyncClient, host: Host) -> None:
    assert (await stranger.post("/signin", data={"key": host.local.token}, headers={"origin": HOME})).status_code == 303
    assert "everywhere" not in (await stranger.get("/signout")).text
    form = {"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE]), "everywhere": "1"}
    assert (await stranger.post("/signout", data=form)).status_code == 303
    assert (await stranger.get("/api/session")).status_code == 401


@pytest.mark.parametrize(
    ("token", "status"), [("gl_local_", 401), ("gl_local_" + "a" * 43, 401), ("nonsense", 400), ("gl_local_\u00e9", 401)]
)
async def test_a_link_with_another_token_signs_nobody_in(stranger: httpx.AsyncClient, token: str, status: int) -> None:
    answer = await stranger.get("/signin", params={"token": token})
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)


async def test_a_session_of_the_token_ends_with_the_secret(tmp_path: Path, clock: ManualClock) -> None:
    settings = Settings(store=f"embedded:{tmp_path}", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    cookies = httpx.Cookies()
    for status in (303, 200):
        async with Host.open(settings, clock=clock, ticks=clock) as host, client_of(create_app(host, console=False)) as client:
            client.cookies.update(cookies)
            path = host.local.link("") if status == 303 else "/api/session"
            assert (await client.get(path)).status_code == status
            cookies.update(client.cookies)
    (tmp_path / "secret").unlink()
    async with Host.open(settings, clock=clock, ticks=clock) as host, client_of(create_app(host, console=False)) as client:
        client.cookies.update(cookies)
        assert (await client.get("/api/session")).status_code == 401


async def test_another_site_cannot_sign_a_browser_in(stranger: httpx.AsyncClient, token: str) -> None:
    answer = await stranger.post("/signin", data={"key": token}, headers={"origin": "https://evil.example"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


async def test_signing_out_needs_the_form_of_the_session(stranger: httpx.AsyncClient, token: str, host: Host) -> None:
    await stranger.post("/signin", data={"key": token})
    cookie = stranger.cookies[COOKIE]
    assert (await stranger.post("/signout", data={"csrf": "x"})).status_code == 403
    assert "ann" in (await stranger.get("/signout")).text
    left = await stranger.post("/signout", data={"csrf": host.sessions.csrf_token(cookie)})
    assert (left.status_code, left.headers["location"], COOKIE in stranger.cookies) == (303, "/signin", False)
    assert (await stranger.get("/api/session", headers={"cookie": f"{COOKIE}={cookie}"})).status_code == 401


async def test_signing_out_everywhere_ends_the_other_sessions_too(stranger: httpx.AsyncClient, token: str, host: Host) -> None:
    other = await host.sessions.begin(token)
    await stranger.post("/signin", data={"key": token})
    form = {"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE]), "everywhere": "1"}
    assert (await stranger.post("/signout", data=form)).status_code == 303
    assert (await stranger.get("/api/session", headers={"cookie": f"{COOKIE}={other.cookie}"})).status_code == 401


async def test_signing_in_and_out_is_in_the_audit_log(stranger: httpx.AsyncClient, token: str, host: Host) -> None:
    await stranger.post("/signin", data={"key": token})
    await stranger.post("/signout", data={"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE])})
    assert {entry.action for entry in await host.audit.page()} == {"session.begin", "session.end"}


@pytest.mark.parametrize("body", [b"\xff\xfe=1", b"&".join([b"a=1"] * 50)])
async def test_a_form_that_cannot_be_read_is_refused(stranger: httpx.AsyncClient, token: str, body: bytes) -> None:
    answer = await stranger.post("/signin", content=body, headers={"content-type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 400
    assert (await stranger.post("/signin", json={"key": token})).status_code == 400


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


@pytest.mark.parametrize("site", ["cross-site", "same-origin", "none"])
async def test_no_link_signs_in_with_a_key(stranger: httpx.AsyncClient, token: str, site: str) -> None:
    """Another site could sign somebody in as its own user."""
    answer = await stranger.get("/signin", params={"token": token}, headers={"sec-fetch-site": site, "referer": "http://evil.example/"})
    assert (answer.status_code, "API key" in answer.text, token in answer.text) == (400, True, False)
    assert "set-cookie" not in answer.headers
    assert (await stranger.get("/api/session")).status_code == 401
