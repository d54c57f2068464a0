"""Signing in with a provider that really listens: the whole way, and everything that can go wrong on it."""

import asyncio
import base64
import hmac
import json
import logging
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey

from gateleg.host.doctor import examine
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.sections import RawSetting
from gateleg.host.sessions import COOKIE
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.openid_signin import ATTEMPT_COOKIE
from tests.web.conftest import HOME, client_of
from tests.web.provider import ANN, CLIENT, SECRET, Provider, rsa_key, running_provider
from tests.web.sample import make_application

MAPPING = {"role_claims": ["realm_access.roles"], "roles": {"ops": "operator", "boss": "admin", "user": "member"}}


def with_provider(settings: Settings, issuer: str, **given: Any) -> Settings:
    """Settings with a section `[oidc]`."""
    values = {"issuer": issuer, "name": "Acme", "client_id": CLIENT, "client_secret": SECRET, **MAPPING} | given
    copied = settings.model_copy(deep=True)
    copied._sections["oidc"] = {name: RawSetting(value, "gateleg.toml") for name, value in values.items()}
    return copied


@pytest.fixture
async def provider(clock: ManualClock) -> AsyncIterator[Provider]:
    async with running_provider(clock) as provider:
        yield provider


@pytest.fixture
def given() -> dict[str, Any]:
    """Settings of the provider that differ from the usual ones; tests parametrize it."""
    return {}


@pytest.fixture
async def host(settings: Settings, clock: ManualClock, provider: Provider, given: dict[str, Any]) -> AsyncIterator[Host]:
    async with Host.open(with_provider(settings, provider.issuer, **given), [make_application()], clock=clock, ticks=clock) as host:
        await host.keys.create("first", Role.ADMIN)
        yield host


async def at_provider(client: httpx.AsyncClient, path: str = "/signin/openid?next=/jobs") -> str:
    """Begin a sign-in, and let the provider send the browser back: the address that it names."""
    begun = await client.get(path)
    assert begun.status_code == 303, begun.text
    async with httpx.AsyncClient() as outside:
        answer = await outside.get(begun.headers["location"])
    assert answer.status_code == 302, answer.text
    place: str = answer.headers["location"]
    return place


async def sign_in(client: httpx.AsyncClient, path: str = "/signin/openid?next=/jobs") -> httpx.Response:
    return await client.get(await at_provider(client, path))


def client_for(host: Host) -> httpx.AsyncClient:
    return client_of(create_app(host, console=False))


async def test_a_person_signs_in_and_has_the_role_of_their_claims(stranger: httpx.AsyncClient, provider: Provider) -> None:
    page = await stranger.get("/signin?next=/jobs")
    assert 'href="/signin/openid?next=%2Fjobs">Sign in with Acme</a>' in page.text
    assert 'name="key"' in page.text
    answer = await sign_in(stranger)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    session = (await stranger.get("/api/session")).json()
    assert (session["name"], session["role"], session["tenant"]) == ("ann@example.com", "operator", None)
    # A second sign-in reads neither document again.
    await sign_in(stranger)
    assert (provider.asked.count("/.well-known/openid-configuration"), provider.asked.count("/jwks")) == (1, 1)


async def test_the_request_to_the_provider_is_bound_to_the_browser(stranger: httpx.AsyncClient) -> None:
    begun = await stranger.get("/signin/openid?next=/jobs")
    sent = {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}
    assert sent["redirect_uri"] == f"{HOME}/signin/openid/callback"
    assert {sent["response_type"], sent["code_challenge_method"], sent["scope"]} == {"code", "S256", "openid profile email"}
    assert min(map(len, (sent["state"], sent["nonce"], sent["code_challenge"]))) == 43
    cookie = begun.headers["set-cookie"]
    assert all(part in cookie.lower() for part in ("httponly", "samesite=lax", "path=/signin/openid", "max-age=600"))
    assert not any(sent[name] in cookie for name in ("state", "nonce"))
    again = await stranger.get("/signin/openid?next=/jobs")
    assert sent["state"] not in again.headers["location"]


@pytest.mark.parametrize("place", ["https://evil.example", "//evil.example", "/\\evil.example", "/signin", "javascript:alert(1)"])
async def test_the_way_back_stays_on_this_host(stranger: httpx.AsyncClient, place: str) -> None:
    answer = await sign_in(stranger, str(httpx.URL("/signin/openid", params={"next": place})))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_another_browser_cannot_complete_a_sign_in(stranger: httpx.AsyncClient, host: Host) -> None:
    place = await at_provider(stranger)
    async with client_for(host) as other:
        assert (await other.get(place)).status_code == 401
        # Nor with a sign-in of its own: the state is another one.
        await other.get("/signin/openid")
        answer = await other.get(place)
        assert (answer.status_code, "belongs to another sign-in" in answer.text) == (401, True)
        assert COOKIE not in other.cookies


async def test_a_code_is_good_once(stranger: httpx.AsyncClient) -> None:
    place = await at_provider(stranger)
    attempt = stranger.cookies[ATTEMPT_COOKIE]
    assert (await stranger.get(place)).status_code == 303
    assert (await stranger.get(place)).status_code == 401
    # Even by a browser that has kept what it should have dropped.
    stranger.cookies.set(ATTEMPT_COOKIE, attempt, domain="127.0.0.1", path="/signin/openid")
    answer = await stranger.get(place)
    assert (answer.status_code, "was used before" in answer.text) == (401, True)


async def test_a_sign_in_that_took_too_long_has_to_begin_again(stranger: httpx.AsyncClient, clock: ManualClock) -> None:
    place = await at_provider(stranger)
    clock.advance(601)
    answer = await stranger.get(place)
    assert (answer.status_code, "took too long" in answer.text, "Sign in with Acme" in answer.text) == (401, True, True)


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"exp": -100},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": 1e308},
        {"nbf": 100},
        {"iat": None},
        {"azp": "another"},
        {"sub": None},
        {"sub": 7},
        {"at_hash": "AAAA"},
    ],
    ids=str,
)
async def test_an_id_token_that_is_not_for_this_sign_in_is_refused(
    stranger: httpx.AsyncClient, provider: Provider, clock: ManualClock, claims: dict[str, Any]
) -> None:
    relative = {name: int(clock()) + value for name, value in claims.items() if name in ("exp", "nbf") and isinstance(value, int)}
    provider.claims = claims | relative
    answer = await sign_in(stranger)
    assert (answer.status_code, COOKIE in stranger.cookies) == (401, False)
    assert 'role="alert"' in answer.text
    assert 'name="key"' in answer.text


@pytest.mark.parametrize("claims", [{"exp": -30}, {"nbf": 30}, {"iat": 30}, {"aud": [CLIENT, "other"], "azp": CLIENT}], ids=str)
async def test_clocks_may_differ_a_little(
    stranger: httpx.AsyncClient, provider: Provider, clock: ManualClock, claims: dict[str, Any]
) -> None:
    provider.claims = {name: int(clock()) + value if isinstance(value, int) else value for name, value in claims.items()}
    assert (await sign_in(stranger)).status_code == 303


@pytest.mark.parametrize(
    "made", [lambda: ECKey.generate_key("P-256", {"kid": "ec"}), lambda: OKPKey.generate_key("Ed25519", {"kid": "ed"})]
)
async def test_keys_of_other_kinds_are_good_too(stranger: httpx.AsyncClient, provider: Provider, made: Any) -> None:
    provider.rotate(made())
    assert (await sign_in(stranger)).status_code == 303


async def test_a_key_without_an_id_is_found_among_several(stranger: httpx.AsyncClient, provider: Provider) -> None:
    provider.published = [ECKey.generate_key("P-256", {"kid": "ec"}), rsa_key("other"), provider.key]
    provider.header = {"kid": None}
    assert (await sign_in(stranger)).status_code == 303


async def test_a_rotated_key_is_fetched_once(stranger: httpx.AsyncClient, provider: Provider, clock: ManualClock) -> None:
    await sign_in(stranger)
    clock.advance(60)
    provider.rotate(rsa_key("second"))
    assert (await sign_in(stranger)).status_code == 303
    assert provider.asked.count("/jwks") == 2
    clock.advance(60)
    # A key that the provider does not publish is looked for, but not by every request.
    provider.rotate(rsa_key("forged"), publish=False)
    for _ in range(5):
        assert (await sign_in(stranger)).status_code == 401
    assert provider.asked.count("/jwks") == 3


def forged(token: str, key: bytes | None) -> str:
    """The claims of a token without a signature, or signed with a secret: the public key, which everybody knows."""
    header = _encoded(json.dumps({"alg": "none" if key is None else "HS256", "kid": "first"}).encode())
    signed = f"{header}.{token.split('.')[1]}"
    return f"{signed}.{'' if key is None else _encoded(hmac.digest(key, signed.encode(), 'sha256'))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize("signature", ["none", "public key", "own key", "other kind"])
async def test_no_token_without_a_signature_by_a_public_key_is_accepted(
    stranger: httpx.AsyncClient, provider: Provider, signature: str
) -> None:
    await sign_in(stranger)
    stranger.cookies.clear()
    if signature in ("own key", "other kind"):
        provider.key = rsa_key("first") if signature == "own key" else ECKey.generate_key("P-256", {"kid": "first"})
    else:
        secret = provider.key.as_pem(private=False) if signature == "public key" else None
        signed = provider.sign
        provider.sign = lambda claims, key=None, **header: forged(signed(claims), secret)  # type: ignore[method-assign]
    assert (await sign_in(stranger)).status_code == 401


async def test_a_weak_key_is_not_used(stranger: httpx.AsyncClient, provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(SecurityWarning):
        provider.rotate(RSAKey.generate_key(1024, {"kid": "weak"}))
    answer = await sign_in(stranger)
    assert (answer.status_code, "no key that signatures can be verified with" in caplog.text) == (502, True)


async def test_a_provider_that_is_down_is_named_and_keys_go_on(
    stranger: httpx.AsyncClient, provider: Provider, host: Host, clock: ManualClock
) -> None:
    provider.broken = {"/.well-known/openid-configuration": 503}
    for _ in range(3):
        answer = await stranger.get("/signin/openid?next=/jobs")
        assert (answer.status_code, 'name="key"' in answer.text, 'value="/jobs"' in answer.text) == (503, True, True)
    assert len(provider.asked) == 1
    token = (await host.keys.create("ann", Role.VIEWER)).token
    assert (await stranger.post("/signin", data={"key": token})).status_code == 303
    provider.broken = {}
    clock.advance(11)
    assert (await stranger.get("/signin/openid")).status_code == 303
    # What is known already is used while the provider is away.
    provider.broken = {"/.well-known/openid-configuration": 503}
    clock.advance(7_200)
    assert (await stranger.get("/signin/openid")).status_code == 303


@pytest.mark.parametrize("given", [{"seconds": 0.05}])
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/jwks", "/token"])
async def test_a_slow_provider_is_given_up(stranger: httpx.AsyncClient, provider: Provider, path: str) -> None:
    provider.slow = {path: asyncio.Event()}
    answer = await stranger.get("/signin/openid")
    if answer.status_code == 303:
        async with httpx.AsyncClient() as outside:
            answer = await stranger.get((await outside.get(answer.headers["location"])).headers["location"])
    assert (answer.status_code, "Acme does not answer" in answer.text, 'name="key"' in answer.text) == (503, True, True)


async def test_nobody_waits_for_a_slow_provider_who_has_what_they_need(stranger: httpx.AsyncClient, provider: Provider, host: Host) -> None:
    await sign_in(stranger)
    provider.slow = {"/.well-known/openid-configuration": asyncio.Event()}
    assert host.openid is not None
    kept = host.openid._metadata
    waiting = asyncio.ensure_future(kept._newer_than(0))
    while provider.asked.count("/.well-known/openid-configuration") < 2:
        await asyncio.sleep(0)
    assert not waiting.done()
    assert (await stranger.get("/signin/openid")).status_code == 303
    assert not waiting.done()
    provider.slow.popitem()[1].set()
    await waiting


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [("/token", 500, 503), ("/token", 418, 502), ("/jwks", 500, 503), ("/jwks", 404, 502), ("/userinfo", 500, 502)],
)
@pytest.mark.parametrize("given", [{"userinfo": True}])
async def test_a_provider_that_fails_on_the_way_back_is_told(
    stranger: httpx.AsyncClient, provider: Provider, path: str, status: int, told: int
) -> None:
    provider.broken = {path: status}
    answer = await sign_in(stranger)
    assert (answer.status_code, COOKIE in stranger.cookies, 'name="key"' in answer.text) == (told, False, True)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ({"issuer": "https://evil.example"}, "names the issuer"),
        ({"token_endpoint": "http://evil.example/token"}, "no valid token_endpoint with https"),
        ({"token_endpoint": None}, "no valid token_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "no valid jwks_uri"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no valid authorization_endpoint"),
    ],
)
async def test_a_discovery_document_that_does_not_fit_is_refused(
    stranger: httpx.AsyncClient, provider: Provider, caplog: pytest.LogCaptureFixture, says: dict[str, Any], words: str
) -> None:
    provider.says = says
    answer = await stranger.get("/signin/openid")
    # Strangers read that it does not work, and admins why.
    assert (answer.status_code, "do not fit together" in answer.text, words in answer.text) == (502, True, False)
    assert words in caplog.text


async def test_the_documents_cannot_lead_the_host_to_its_own_network(
    stranger: httpx.AsyncClient, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    """The issuer is the operator's choice; all other addresses come from a document."""
    provider.says = {"jwks_uri": "https://10.0.0.1/jwks"}
    answer = await sign_in(stranger)
    assert (answer.status_code, "not public" in caplog.text, "10.0.0.1" in answer.text) == (502, True, False)


@pytest.mark.parametrize(("error", "status"), [("access_denied", 401), ("temporarily_unavailable", 503), ("<b>invalid_scope", 502)])
async def test_what_the_provider_refuses_is_told_in_our_words(
    stranger: httpx.AsyncClient, provider: Provider, error: str, status: int
) -> None:
    provider.denies = error
    answer = await sign_in(stranger)
    assert (answer.status_code, error in answer.text) == (status, False)


async def test_an_answer_of_another_provider_is_refused(stranger: httpx.AsyncClient) -> None:
    for change in ("iss=https%3A%2F%2Fevil.example", ""):
        place = await at_provider(stranger)
        kept = "&".join(part for part in urlsplit(place).query.split("&") if not part.startswith("iss="))
        answer = await stranger.get(f"/signin/openid/callback?{kept}&{change}")
        assert (answer.status_code, "not come from the provider" in answer.text) == (401, True)
    place = await at_provider(stranger)
    assert (await stranger.get(f"{place}&code=another")).status_code == 401


@pytest.mark.parametrize("given", [{"client_secret": "wrong"}, {"client_secret": "secret:missing"}, {"client_secret": None}])
async def test_a_wrong_secret_of_the_host_is_told_without_it(stranger: httpx.AsyncClient) -> None:
    answer = await sign_in(stranger)
    assert (answer.status_code, "wrong" in answer.text) == (502, False)


@pytest.mark.parametrize("given", [{"client_secret": "secret:acme"}])
async def test_the_secret_may_be_one_of_the_hosts_secrets(stranger: httpx.AsyncClient, host: Host, provider: Provider) -> None:
    await host.secrets.put("acme", SECRET)
    assert (await sign_in(stranger)).status_code == 303
    # Some providers accept it in the body only.
    provider.says = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    async with Host.open(host.settings, clock=host.store.setup.clock, ticks=host.store.setup.ticks) as other:
        await other.secrets.put("acme", SECRET)
        async with client_for(other) as client:
            assert (await sign_in(client)).status_code == 303


@pytest.mark.parametrize("given", [{"userinfo": True, "groups_claim": "groups"}])
async def test_userinfo_adds_claims_of_the_same_person(stranger: httpx.AsyncClient, provider: Provider) -> None:
    provider.userinfo = {"groups": ["choir"], "realm_access": {"roles": ["boss"]}}
    assert (await sign_in(stranger)).status_code == 303
    session = (await stranger.get("/api/session")).json()
    # What is signed wins over what is not.
    assert (session["groups"], session["role"]) == (["choir"], "operator")
    provider.userinfo = {"sub": "0002"}
    assert (await sign_in(stranger)).status_code == 401


async def test_a_person_without_a_role_is_refused_and_the_log_says_why(
    stranger: httpx.AsyncClient, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.person["realm_access"] = {"roles": ["nothing"]}
    with caplog.at_level(logging.WARNING, "gateleg.web"):
        answer = await sign_in(stranger)
    assert (answer.status_code, COOKIE in stranger.cookies) == (403, False)
    assert "no value of realm_access.roles has a role in `roles`" in caplog.text
    assert "ann@example.com" not in answer.text
    # With the same account the provider would send them back at once.
    assert "other_account=1" in answer.text
    begun = await stranger.get("/signin/openid?other_account=1")
    assert "prompt=login" in begun.headers["location"]


async def test_signing_in_again_ends_the_session_that_the_browser_had(stranger: httpx.AsyncClient, host: Host) -> None:
    await stranger.post("/signin", data={"key": (await host.keys.create("ann", Role.OPERATOR)).token})
    first = stranger.cookies[COOKIE]
    await sign_in(stranger)
    second = stranger.cookies[COOKIE]
    await sign_in(stranger)
    for former in (first, second):
        assert (await stranger.get("/api/session", headers={"cookie": f"{COOKIE}={former}"})).status_code == 401
    assert (await stranger.get("/api/session")).status_code == 200


async def test_a_person_signs_in_again_after_some_hours(stranger: httpx.AsyncClient, clock: ManualClock) -> None:
    answer = await sign_in(stranger)
    assert f"max-age={12 * 3600}" in answer.headers["set-cookie"].lower()
    clock.advance(hours=11)
    assert (await stranger.get("/api/session")).status_code == 200
    clock.advance(hours=1)
    assert (await stranger.get("/api/session")).status_code == 401


async def test_a_session_survives_a_restart_but_not_another_mapping(
    settings: Settings, clock: ManualClock, provider: Provider, tmp_path: Any
) -> None:
    stored = settings.model_copy(update={"store": f"embedded:{tmp_path}"})
    cookies = httpx.Cookies()
    mappings: list[dict[str, Any] | None] = [{}, {"name": "Renamed"}, {"roles": {"ops": "viewer"}}, None]
    for given, status in zip(mappings, (303, 200, 401, 401), strict=True):
        configured = stored if given is None else with_provider(stored, provider.issuer, **given)
        async with Host.open(configured, [], clock=clock, ticks=clock) as host, client_for(host) as client:
            client.cookies.update(cookies)
            answer = await (sign_in(client) if status == 303 else client.get("/api/session"))
            assert answer.status_code == status
            cookies.update(client.cookies)


async def test_signing_out_here_and_at_the_provider(stranger: httpx.AsyncClient, host: Host, provider: Provider) -> None:
    await sign_in(stranger)
    page = await stranger.get("/signout")
    assert "Sign out of Acme too" in page.text
    form = {"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE]), "provider": "1"}
    answer = await stranger.post("/signout", data=form)
    assert (answer.status_code, COOKIE in stranger.cookies) == (200, False)
    way = answer.headers["refresh"].partition("url=")[2]
    async with httpx.AsyncClient() as outside:
        assert (await outside.get(way)).headers["location"] == f"{HOME}/signin"
    (sent,) = provider.ended
    assert (sent["client_id"], sent["post_logout_redirect_uri"]) == ([CLIENT], [f"{HOME}/signin"])
    assert sent["id_token_hint"][0].count(".") == 2


async def test_signing_out_stays_here_where_the_provider_has_none(stranger: httpx.AsyncClient, host: Host, provider: Provider) -> None:
    provider.says = {"end_session_endpoint": None}
    await sign_in(stranger)
    assert "Sign out of Acme" not in (await stranger.get("/signout")).text
    form = {"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE]), "provider": "1"}
    assert (await stranger.post("/signout", data=form)).headers["location"] == "/signin"


async def test_signing_out_everywhere_ends_the_other_browsers_of_the_person(
    stranger: httpx.AsyncClient, host: Host, provider: Provider
) -> None:
    await sign_in(stranger)
    async with client_for(host) as other, client_for(host) as somebody:
        await sign_in(other)
        provider.person = ANN | {"sub": "0002", "email": "bob@example.com"}
        await sign_in(somebody)
        form = {"csrf": host.sessions.csrf_token(stranger.cookies[COOKIE]), "everywhere": "1"}
        assert (await stranger.post("/signout", data=form)).status_code == 303
        host.sessions._read.clear()
        assert (await other.get("/api/session")).status_code == 401
        assert (await somebody.get("/api/session")).status_code == 200


async def test_two_people_of_one_name_are_two_callers(stranger: httpx.AsyncClient, host: Host, provider: Provider) -> None:
    await sign_in(stranger)
    provider.person = ANN | {"sub": "0002"}
    async with client_for(host) as other:
        await sign_in(other)
        first, second = [await host.sessions.recognise(client.cookies[COOKIE]) for client in (stranger, other)]
    assert first.name == second.name
    assert first.key_id != second.key_id


async def test_a_host_without_keys_lets_people_in_beside_its_token(settings: Settings, clock: ManualClock, provider: Provider) -> None:
    async with Host.open(with_provider(settings, provider.issuer), [], clock=clock, ticks=clock) as host, client_for(host) as client:
        page = await client.get("/signin")
        assert "Sign in with Acme" in page.text
        assert "gateleg token" in page.text
        assert (await sign_in(client)).status_code == 303
        assert (await client.get("/api/session")).json()["role"] == "operator"


async def test_behind_another_name_the_setting_url_is_needed(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    async with client_of(create_app(host, console=False), home="https://gateleg.example.com") as client:
        answer = await client.get("/signin/openid")
        assert (answer.status_code, "Set `url`" in caplog.text) == (502, True)


async def test_the_doctor_examines_the_provider(host: Host, provider: Provider, clock: ManualClock) -> None:
    async def found() -> tuple[str, str]:
        (diagnosis,) = [one for one in await examine(host) if one.name == "sign-in"]
        return diagnosis.result.status, diagnosis.result.message

    state, message = await found()
    assert (state, provider.issuer in message, "1 usable key" in message) == ("ok", True, True)
    for says, broken, expected, words in (
        ({"id_token_signing_alg_values_supported": ["HS256"]}, {}, "failed", "signs with HS256 only"),
        ({"code_challenge_methods_supported": ["plain"]}, {}, "warning", "PKCE"),
        ({"issuer": "https://evil.example"}, {}, "failed", "names the issuer"),
        ({}, {"/jwks": 503}, "failed", "key set"),
        ({}, {"/.well-known/openid-configuration": 404}, "failed", "discovery document"),
    ):
        provider.says, provider.broken = says, broken
        state, message = await found()
        assert (state, words in message) == (expected, True), message


async def test_signing_in_is_in_the_audit_log_with_the_person(stranger: httpx.AsyncClient, host: Host) -> None:
    await sign_in(stranger)
    (entry,) = [entry for entry in await host.audit.page() if entry.action == "session.begin"]
    assert (entry.actor, (entry.key_id or "").startswith("openid:")) == ("ann@example.com", True)
