"""Signing in with a provider in a real browser, and pages of other origins that call the host."""

import functools
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.web.console.conftest import Served, serving
from tests.web.console.faults import serious_faults
from tests.web.provider import ANN, CLIENT, SECRET, Provider, provider_in_thread

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with provider_in_thread() as provider:
        yield provider


@contextmanager
def other_origin(folder: Path) -> Iterator[str]:
    """A server whose pages are of another origin."""
    (folder / "index.html").write_text("<!doctype html><title>Other</title>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *given: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with other_origin(tmp_path_factory.mktemp("front")) as url:
        yield url


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with other_origin(tmp_path_factory.mktemp("trusted")) as url:
        yield url


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, provider: Provider, front: str, trusted: str) -> Iterator[Served]:
    given = {
        "OIDC__ISSUER": provider.issuer,
        "OIDC__NAME": "Acme",
        "OIDC__CLIENT_ID": CLIENT,
        "OIDC__CLIENT_SECRET": SECRET,
        "OIDC__ROLE_CLAIMS": "realm_access.roles",
        "OIDC__ROLES": json.dumps({"ops": "operator", "user": "member"}),
        "CORS_ORIGINS": front,
        "CORS_CREDENTIALS": trusted,
    }
    options = [part for name, value in given.items() for part in ("--set", f"GATELEG_{name}={value}")]
    folder = tmp_path_factory.mktemp("host")
    with serving(folder, "--keys", "--idle", "--application", "gateleg.apps.agents.application:application", *options) as served:
        yield served


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture(autouse=True)
def _usual(provider: Provider) -> None:
    provider.person, provider.claims, provider.broken, provider.asks = dict(ANN), {}, {}, False


def test_a_person_signs_in_looks_around_and_signs_out_everywhere(host: Served, provider: Provider, context: BrowserContext) -> None:
    provider.asks = True
    page = context.new_page()
    page.goto(f"{host.url}/jobs?status=FAILED")
    expect(page).to_have_url(f"{host.url}/signin?next=%2Fjobs%3Fstatus%3DFAILED")
    assert serious_faults(page) == []
    page.get_by_role("link", name="Sign in with Acme").click()
    page.get_by_role("link", name="I am Ann").click()
    expect(page).to_have_url(f"{host.url}/jobs?status=FAILED")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_text("ann@example.com")).to_be_visible()
    page.get_by_role("menuitem", name="Your sessions").click()
    expect(page).to_have_url(f"{host.url}/sessions")
    expect(page.get_by_text("This browser")).to_be_visible()
    assert serious_faults(page) == []
    page.goto(f"{host.url}/signout")
    page.get_by_role("button", name="Sign out of Acme too").click()
    # By way of the provider, which was told whose session ends.
    expect(page).to_have_url(f"{host.url}/signin")
    assert provider.ended[-1]["id_token_hint"]
    page.goto(f"{host.url}/jobs")
    expect(page.get_by_role("link", name="Sign in with Acme")).to_be_visible()


def test_a_session_is_ended_from_another_browser(host: Served, browser: Browser, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{host.url}/signin/openid?next=/sessions")
    other = browser.new_context()
    other.new_page().goto(f"{host.url}/signin/openid?next=/health")
    page.reload()
    expect(page.get_by_role("button", name="End")).to_have_count(2)
    other_row = page.locator("[role=row], tr").filter(has=page.get_by_role("button", name="End")).filter(has_not_text="This browser")
    other_row.get_by_role("button", name="End").click()
    page.get_by_role("dialog").get_by_role("button", name="End").click()
    expect(page.get_by_role("button", name="End")).to_have_count(1)
    answer = other.request.get(f"{host.url}/api/session")
    assert answer.status == 401
    other.close()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"claims": {"nonce": "another"}}, "not valid for this sign-in"),
        ({"claims": {"aud": "another"}}, "not valid for this sign-in"),
        ({"claims": {"exp": 1}}, "has expired"),
        ({"broken": {"/token": 503}}, "has failed"),
        ({"person": ANN | {"realm_access": {"roles": []}}}, "has no access to this host"),
    ],
    ids=["nonce", "audience", "expired", "down", "no role"],
)
def test_what_went_wrong_is_on_the_page_and_a_key_goes_on(
    host: Served, provider: Provider, context: BrowserContext, fault: dict[str, Any], words: str
) -> None:
    for name, value in fault.items():
        setattr(provider, name, value)
    page = context.new_page()
    page.goto(f"{host.url}/signin?next=/jobs")
    page.get_by_role("link", name="Sign in with Acme").click()
    expect(page.get_by_role("alert")).to_contain_text(words)
    assert serious_faults(page) == []
    page.get_by_label("API key").fill(host.tokens["viewer"])
    page.get_by_role("button", name="Sign in with a key").click()
    assert context.request.get(f"{host.url}/api/session").json()["role"] == "viewer"


_FETCH = """async ([url, options]) => {
  try {
    const answer = await fetch(url, options);
    return {status: answer.status, body: await answer.text(), id: answer.headers.get("x-request-id")};
  } catch (error) { return {error: error.name}; }
}"""


def call(page: Page, url: str, **options: Any) -> dict[str, Any]:
    """What a script of a page gets of a request."""
    answer: dict[str, Any] = page.evaluate(_FETCH, [url, options])
    return answer


def test_a_page_of_a_listed_origin_calls_the_apis_with_a_key(host: Served, front: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(front)
    known = {"headers": {"authorization": f"Bearer {host.tokens['operator']}", "content-type": "application/json"}}
    session = call(page, f"{host.url}/api/session", **known)
    assert (session["status"], json.loads(session["body"])["name"], len(session["id"])) == (200, "operator", 32)
    query = json.dumps({"query": "{ ping }"})
    for method, path, body, status in (
        ("POST", "/graphql", query, 200),
        ("GET", "/v1/models", None, 200),
        ("POST", "/api/jobs", "{}", 422),
        ("POST", "/api/jobs", "x" * 2_000_000, 413),
        ("GET", "/events/jobs/00000000-0000-4000-8000-000000000000", None, 404),
        ("GET", "/objects/nothing", None, 404),
    ):
        answer = call(page, host.url + path, method=method, **known, **({} if body is None else {"body": body}))
        assert answer.get("status") == status, (path, answer)
    assert call(page, f"{host.url}/api/session", headers={"authorization": "Bearer gl_nobody"})["status"] == 401
    # What is not for programs cannot be read.
    assert call(page, f"{host.url}/signin") == {"error": "TypeError"}


def test_a_session_serves_only_the_origins_that_may_have_it(host: Served, front: str, trusted: str, context: BrowserContext) -> None:
    """All of them are the same site for the browser, which differ by port only: it sends the cookie to each."""
    assert context.request.get(f"{host.url}/signin/openid?next=/health").ok
    page = context.new_page()
    page.goto(front)
    assert call(page, f"{host.url}/api/session", credentials="include") == {"error": "TypeError"}
    page.goto(trusted)
    session = call(page, f"{host.url}/api/session", credentials="include")
    token = json.loads(session["body"])["csrf_token"]
    sessions = json.loads(call(page, f"{host.url}/api/sessions", credentials="include")["body"])["items"]
    (own,) = [session for session in sessions if session["current"]]
    revoke = f"{host.url}/api/sessions/{own['session_id']}/revoke"
    assert call(page, revoke, method="POST", credentials="include")["status"] == 403
    page.goto(front)
    assert "error" in call(page, revoke, method="POST", credentials="include", headers={"x-csrf-token": token})
    assert context.request.get(f"{host.url}/api/session").status == 200
    page.goto(trusted)
    assert call(page, revoke, method="POST", credentials="include", headers={"x-csrf-token": token})["status"] == 200
    assert context.request.get(f"{host.url}/api/session").status == 401


_SOCKET = """([url, payload]) => new Promise((resolve) => {
  const socket = new WebSocket(url, "graphql-transport-ws");
  socket.onopen = () => socket.send(JSON.stringify({type: "connection_init", payload}));
  socket.onmessage = (event) => { resolve(JSON.parse(event.data).type); socket.close(); };
  socket.onclose = (event) => resolve(event.code);
})"""


def test_a_page_of_another_origin_opens_a_websocket_with_a_key(host: Served, front: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(front)
    place = host.url.replace("http:", "ws:") + "/graphql"
    opened: Callable[[dict[str, str]], Any] = lambda payload: page.evaluate(_SOCKET, [place, payload])  # noqa: E731
    assert opened({"Authorization": f"Bearer {host.tokens['admin']}", "X-Part-ID": "acme"}) == "connection_ack"
    assert opened({"Authorization": "Bearer gl_nobody"}) == 4401
    assert opened({}) == 4401
