"""Access tokens (JWT) of the provider, which programs send to the API instead of a key."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from joserfc.jwk import ECKey

from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import ManualClock
from gateleg.web.app import create_app
from gateleg.web.authentication import AuthenticationMiddleware
from gateleg.web.cors import Cors
from gateleg.web.limits import HostLimits
from gateleg.web.surfaces import Surfaces
from tests.web.conftest import client_of
from tests.web.provider import CLIENT, Provider, rsa_key, running_provider
from tests.web.sample import make_application
from tests.web.test_matrix import ENDLESS, LINK, OPEN, RULES, ask
from tests.web.test_openid_signin import forged, with_provider

AUDIENCE = "https://gateleg.example.com"


@pytest.fixture
async def provider(clock: ManualClock) -> AsyncIterator[Provider]:
    async with running_provider(clock) as provider:
        yield provider


@pytest.fixture
def given() -> dict[str, Any]:
    return {"audiences": [AUDIENCE]}


@pytest.fixture
async def host(settings: Settings, clock: ManualClock, provider: Provider, given: dict[str, Any]) -> AsyncIterator[Host]:
    async with Host.open(with_provider(settings, provider.issuer, **given), [make_application()], clock=clock, ticks=clock) as host:
        await host.keys.create("first", Role.ADMIN)
        yield host


async def status(app: FastAPI, token: str, path: str = "/api/session") -> int:
    async with client_of(app, token=token) as client:
        return (await client.get(path)).status_code


async def test_a_token_for_this_host_is_a_caller_and_is_verified_once(app: FastAPI, provider: Provider) -> None:
    token = provider.access_token(AUDIENCE)
    async with client_of(app, token=token) as client:
        session = (await client.get("/api/session")).json()
        assert (session["name"], session["role"], session["csrf_token"]) == ("ann@example.com", "operator", None)
        # A write, as with a key, needs no token of a page.
        assert (await client.post("/api/jobs", json={"job_type": "add", "config": {"numbers": [1]}})).status_code == 201
        for _ in range(5):
            assert (await client.get("/api/session")).status_code == 200
    assert provider.asked == ["/.well-known/openid-configuration", "/jwks"]
    # It is what the person would be in a browser, and each request counts for them.
    assert await status(app, provider.access_token(["other", AUDIENCE])) == 200


async def test_every_route_treats_a_person_as_it_treats_a_key(app: FastAPI, provider: Provider) -> None:
    """The role matrix once more, with tokens instead of keys."""
    roles = {Role.MEMBER: ["user"], Role.VIEWER: ["watch"], Role.OPERATOR: ["ops"], Role.ADMIN: ["boss", "user"]}
    wrong = []
    for role, values in roles.items():
        token = provider.access_token(AUDIENCE, sub=role.word, email=f"{role.word}@example.com", realm_access={"roles": values})
        async with client_of(app, token=token) as client:
            for (method, path), least in RULES.items():
                if (method, path) in ENDLESS or path == "/api/dynamodb/credentials":
                    continue
                answered = await ask(client, method, path)
                if (answered not in (401, 403)) != (False if least == LINK else role >= least):
                    wrong.append((method, path, role.word, answered))
    assert wrong == []


@pytest.fixture(autouse=True)
def _every_role(given: dict[str, Any]) -> None:
    given.setdefault("roles", {"ops": "operator", "boss": "admin", "user": "member", "watch": "viewer"})


@pytest.mark.parametrize("given", [{"audiences": [AUDIENCE], "tenant_claim": "org", "groups_claim": "groups"}])
async def test_an_application_learns_the_tenant_of_a_person(app: FastAPI, provider: Provider) -> None:
    token = provider.access_token(AUDIENCE, org="acme", realm_access={"roles": ["user"]})
    async with client_of(app, token=token) as client:
        assert (await client.get("/api/music/whoami")).json() == {"name": "ann@example.com", "tenant": "acme"}
        assert (await client.get("/api/jobs")).status_code == 403
    assert await status(app, provider.access_token(AUDIENCE, realm_access={"roles": ["user"]})) == 401


async def test_nobody_gets_in_with_a_token_that_is_not_good(app: FastAPI, provider: Provider, clock: ManualClock) -> None:
    now = int(clock())
    good = provider.access_token(AUDIENCE)
    tokens = {
        "another audience": provider.access_token("another"),
        "the audience of sign-ins": provider.access_token(CLIENT),
        "no audience": provider.access_token([]),
        "another issuer": provider.access_token(AUDIENCE, iss="https://evil.example"),
        "expired": provider.access_token(AUDIENCE, exp=now - 61),
        "without an end": provider.access_token(AUDIENCE, exp=None),
        "not yet": provider.access_token(AUDIENCE, nbf=now + 61),
        "of nobody": provider.access_token(AUDIENCE, sub=None),
        "an ID token": provider.access_token(AUDIENCE, nonce="n"),
        "an ID token with a hash": provider.access_token(AUDIENCE, at_hash="h"),
        "without a role": provider.access_token(AUDIENCE, realm_access={"roles": []}),
        "unsigned": forged(good, None),
        "signed with the public key": forged(good, provider.key.as_pem(private=False)),
        "signed by another": provider.sign({"iss": provider.issuer, "aud": AUDIENCE, "exp": now + 60, **provider.person}, rsa_key("first")),
        "changed": good.replace(good.split(".")[1], provider.access_token(AUDIENCE, sub="0002").split(".")[1]),
        "cut": good[:-10],
        "empty": "..",
        "not base64": "a.b.c",
        "long": f"{good}{'a' * 20_000}",
    }
    wrong = {name: found for name, token in tokens.items() if (found := await status(app, token)) != 401}
    assert wrong == {}
    assert await status(app, good) == 200
    for (method, path), least in RULES.items():
        async with client_of(app, token=tokens["expired"]) as client:
            answered = await ask(client, method, path)
            assert (answered in (401, 403)) == (least != OPEN) or path == "/signin", path


async def test_a_token_ends_with_its_time_also_where_it_was_verified_before(app: FastAPI, provider: Provider, clock: ManualClock) -> None:
    token = provider.access_token(AUDIENCE, exp=int(clock()) + 100)
    assert await status(app, token) == 200
    clock.advance(159)
    assert await status(app, token) == 200
    clock.advance(2)
    assert await status(app, token) == 401


async def test_a_key_that_the_provider_withdraws_ends_its_tokens(app: FastAPI, provider: Provider, clock: ManualClock) -> None:
    token = provider.access_token(AUDIENCE, exp=int(clock()) + 10_000)
    assert await status(app, token) == 200
    provider.rotate(ECKey.generate_key("P-256", {"kid": "second"}))
    clock.advance(3_601)
    assert await status(app, token) == 401
    assert await status(app, provider.access_token(AUDIENCE)) == 200


async def test_unknown_keys_do_not_make_the_host_ask_again_and_again(app: FastAPI, provider: Provider, clock: ManualClock) -> None:
    assert await status(app, provider.access_token(AUDIENCE)) == 200
    clock.advance(60)
    provider.rotate(rsa_key("forged"), publish=False)
    assert [await status(app, provider.access_token(AUDIENCE, jti=str(number))) for number in range(20)] == [401] * 20
    assert provider.asked.count("/jwks") == 2


async def test_a_flood_of_unknown_keys_does_not_stop_callers_who_are_known(app: FastAPI, provider: Provider, clock: ManualClock) -> None:
    """Only those wait for a slow provider whose key is not there."""
    assert await status(app, provider.access_token(AUDIENCE)) == 200
    first = provider.key
    clock.advance(60)
    provider.slow = {"/jwks": asyncio.Event()}
    provider.key = rsa_key("forged")
    waiting = asyncio.ensure_future(status(app, provider.access_token(AUDIENCE)))
    while provider.asked.count("/jwks") < 2:
        await asyncio.sleep(0)
    provider.key = first
    assert await status(app, provider.access_token(AUDIENCE, jti="another")) == 200
    assert not waiting.done()
    provider.slow.popitem()[1].set()
    assert await waiting == 401


async def test_while_the_provider_is_away_unknown_tokens_are_told_so_and_probes_go_on(app: FastAPI, provider: Provider) -> None:
    provider.broken = {"/jwks": 503}
    token = provider.access_token(AUDIENCE)
    assert await status(app, token) == 503
    assert await status(app, token, "/signin") == 200
    assert await status(app, token, "/ready") == 200


@pytest.mark.parametrize("given", [{}])
async def test_without_an_audience_in_the_settings_no_token_is_accepted(app: FastAPI, provider: Provider) -> None:
    assert await status(app, provider.access_token(CLIENT)) == 401
    assert provider.asked == []


@pytest.mark.parametrize("given", [{"audiences": [AUDIENCE]}])
async def test_a_person_without_access_is_in_the_log(app: FastAPI, provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "gateleg.web"):
        assert await status(app, provider.access_token(AUDIENCE, realm_access={"roles": ["nothing"]})) == 401
    assert "has a role in `roles`" in caplog.text


async def test_requests_of_a_person_are_limited_as_those_of_a_key(host: Host, provider: Provider) -> None:
    host.settings.__dict__["key_rate"] = 3
    app = create_app(host, console=False)
    token, other = provider.access_token(AUDIENCE), provider.access_token(AUDIENCE, sub="0002")
    assert [await status(app, token) for _ in range(4)] == [200, 200, 200, 429]
    # A new token is no new allowance.
    assert await status(app, provider.access_token(AUDIENCE, jti="new")) == 429
    assert await status(app, other) == 200


async def test_an_sdk_has_no_credentials_of_a_person(app: FastAPI, provider: Provider) -> None:
    token = provider.access_token(AUDIENCE, realm_access={"roles": ["boss"]})
    async with client_of(app, token=token) as client:
        answer = await client.get("/api/dynamodb/credentials")
        assert (answer.status_code, "SDKs" in answer.text) == (403, True)


async def test_a_stream_ends_with_the_token_of_its_caller(host: Host, provider: Provider, clock: ManualClock) -> None:
    token = provider.access_token(AUDIENCE, exp=int(clock()) + 10)
    valid: list[bool] = []

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        valid.append(await scope["state"]["is_still_authenticated"]())
        clock.advance(71)
        valid.append(await scope["state"]["is_still_authenticated"]())

    middleware = AuthenticationMiddleware(stream, host, HostLimits(host.settings, clock), Surfaces(), Cors.of(host.settings, Surfaces()))
    headers = [(b"host", b"127.0.0.1:8000"), (b"authorization", f"Bearer {token}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/api/session", "query_string": b"", "client": ("127.0.0.1", 5), "headers": headers}
    await middleware(scope, None, None)  # type: ignore[arg-type]
    assert valid == [True, False]
