"""Webhooks from the event to the receiver: signed, through the guard, tried again, logged, and sent again."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import APIRouter

from gateleg.host import Application, Principal, Resources, Role
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.host.webhooks import BadWebhook, WebhookNotFound, Webhooks, check_events, wants
from gateleg.jobs import ManualClock
from gateleg.net import BadToken
from gateleg.net.errors import AddressRefused
from gateleg.net.guard import IPAddress
from gateleg.net.webhook_signature import verify_webhook
from gateleg.web.api.webhooks import webhook_routes
from gateleg.web.app import create_app
from tests.net.http.faulty import RESET, Service, answer, service
from tests.web.conftest import client_of, run_all


def routes(resources: Resources[Any]) -> APIRouter:
    router = APIRouter()
    router.include_router(webhook_routes(resources.webhooks))
    router.include_router(webhook_routes(resources.webhooks, prefix="/shared", shared=True))
    return router


@pytest.fixture
def receiver() -> Iterator[Service]:
    with service() as receiver:
        yield receiver


@pytest.fixture
async def shop(settings: Settings, clock: ManualClock, receiver: Service) -> AsyncIterator[Host]:
    allowed = settings.model_copy(update={"outgoing_allow": ("127.0.0.1",)})
    async with Host.open(allowed, [Application("shop", "Shop", "store", routes=routes)], clock=clock, ticks=clock) as host:
        yield host


@pytest.fixture
def hooks(shop: Host) -> Webhooks:
    return shop.resources["shop"].webhooks


def received(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = (line.partition(": ") for line in head.decode().split("\r\n")[1:])
    return {name.lower(): value for name, _, value in lines}, body


async def test_an_event_reaches_its_receiver_signed(shop: Host, hooks: Webhooks, receiver: Service, clock: ManualClock) -> None:
    made = await hooks.create(f"{receiver.url}/hook", ["video.*"], tenant="acme")
    assert made.signing_secret is not None
    await hooks.create(f"{receiver.url}/other", ["audio.done"], tenant="acme")
    await hooks.create(f"{receiver.url}/foreign", tenant="other")
    (sent,) = await hooks.send("video.finished", {"project": "p1"}, tenant="acme")
    await run_all(shop)
    (request,) = receiver.requests
    headers, body = received(request)
    assert request.startswith(b"POST /hook ")
    assert json.loads(body) | {"at": ""} == {
        "event": "video.finished",
        "application": "shop",
        "tenant": "acme",
        "at": "",
        "data": {"project": "p1"},
    }
    assert (headers["gateleg-event"], headers["gateleg-delivery"]) == ("video.finished", sent.delivery_id)
    verify_webhook(made.signing_secret, headers["gateleg-signature"], sent.delivery_id, body, clock())
    with pytest.raises(BadToken):
        verify_webhook("guess", headers["gateleg-signature"], sent.delivery_id, body, clock())
    done = await hooks.delivery(sent.delivery_id, tenant="acme")
    assert (done.state, done.attempts, done.answered, done.answer) == ("delivered", 1, 200, "{}")


async def test_a_receiver_that_fails_is_tried_again_later(shop: Host, hooks: Webhooks, receiver: Service, clock: ManualClock) -> None:
    receiver.script += [answer(b"busy", 503), RESET, answer(b"", 302, location="http://127.0.0.1/elsewhere")]
    await hooks.create(receiver.url)
    (sent,) = await hooks.send("x", 1)
    seen = []
    for _ in range(4):
        await run_all(shop)
        found = await hooks.delivery(sent.delivery_id)
        seen.append((found.state, found.attempts, found.answered))
        await run_all(shop)
        assert len(receiver.requests) == found.attempts
        clock.advance(7 * 3600)
    assert seen == [("pending", 1, 503), ("pending", 2, None), ("pending", 3, 302), ("delivered", 4, 200)]
    ids = {received(request)[0]["gateleg-delivery"] for request in receiver.requests}
    assert ids == {sent.delivery_id}


async def test_a_receiver_that_never_answers_ends_as_failed(shop: Host, hooks: Webhooks, receiver: Service, clock: ManualClock) -> None:
    receiver.script += [answer(b"no", 500)] * 20
    await hooks.create(receiver.url)
    (sent,) = await hooks.send("x", 1)
    for _ in range(14):
        await run_all(shop)
        clock.advance(7 * 3600)
    found = await hooks.delivery(sent.delivery_id)
    assert (found.state, found.attempts, found.answer) == ("failed", 13, "no")


async def test_what_is_gone_is_not_asked_again_and_can_be_sent_again(
    shop: Host, hooks: Webhooks, receiver: Service, clock: ManualClock
) -> None:
    receiver.script += [answer(b"gone", 410)]
    await hooks.create(receiver.url)
    (sent,) = await hooks.send("x", {"a": 1})
    await run_all(shop)
    clock.advance(100_000)
    await run_all(shop)
    assert (await hooks.delivery(sent.delivery_id)).state == "failed"
    again = await hooks.send_again(sent.delivery_id)
    await run_all(shop)
    assert (await hooks.delivery(again.delivery_id)).state == "delivered"
    assert received(receiver.requests[0])[1] == received(receiver.requests[1])[1]


async def test_inner_addresses_are_refused_at_once_and_when_a_name_leads_there(settings: Settings) -> None:
    async with Host.open(settings, [Application("shop", "Shop", "store")]) as host:
        hooks = host.resources["shop"].webhooks
        for url in ("http://127.0.0.1/x", "http://169.254.169.254/", "ftp://example.com/", "http://localhost:22/", "http://localhost/x"):
            with pytest.raises(AddressRefused):
                await hooks.create(url)

        async def unknown(name: str, port: int) -> list[IPAddress]:
            raise OSError("no such name yet")

        # A name that leads nowhere when it is kept, and inside later.
        await replace(hooks, outgoing=replace(host.outgoing, resolve=unknown)).create("http://localhost/x")
        (sent,) = await hooks.send("x", 1)
        await run_all(host)
        found = await hooks.delivery(sent.delivery_id)
        assert (found.state, found.attempts) == ("failed", 1)
        assert "not public" in found.answer


async def test_a_deleted_webhook_gets_nothing_and_its_secret_is_forgotten(shop: Host, hooks: Webhooks, receiver: Service) -> None:
    made = await hooks.create(receiver.url, tenant="acme")
    (sent,) = await hooks.send("x", 1, tenant="acme")
    await hooks.delete(made.webhook.hook_id, tenant="acme")
    await run_all(shop)
    assert receiver.requests == []
    assert (await hooks.delivery(sent.delivery_id, tenant="acme")).state == "failed"
    assert await shop.resources["shop"].secrets.list(tenant="acme") == []
    with pytest.raises(WebhookNotFound):
        await hooks.get(made.webhook.hook_id, tenant="acme")


Clients = dict[str, httpx.AsyncClient]
#: Ann and Bob are members of one tenant, Eve of another; a member's name is not unique over tenants.
PEOPLE = (
    ("ann", "ann", Role.MEMBER, "acme"),
    ("bob", "bob", Role.MEMBER, "acme"),
    ("eve", "eve", Role.MEMBER, "other"),
    ("other ann", "ann", Role.MEMBER, "other"),
    ("root", "root", Role.ADMIN, None),
)


@pytest.fixture
async def clients(shop: Host) -> AsyncIterator[Clients]:
    app = create_app(shop, console=False)
    tokens = {label: (await shop.keys.create(name, role, tenant=tenant)).token for label, name, role, tenant in PEOPLE}
    async with AsyncExitStack() as closing:
        yield {label: await closing.enter_async_context(client_of(app, token=token)) for label, token in tokens.items()}


async def add(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


async def listed(client: httpx.AsyncClient, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await client.get(path)).json()["items"]
    return items


async def test_members_of_a_tenant_share_webhooks_where_the_application_says_so(
    shop: Host, hooks: Webhooks, receiver: Service, clients: Clients
) -> None:
    created = await add(clients["ann"], "/api/shop/shared", url=receiver.url, events=["x"])
    secret, hook_id = created["signing_secret"], created["webhook"]["hook_id"]
    await hooks.send("x", 1, tenant="acme")
    await run_all(shop)
    deliveries = await listed(clients["bob"], "/api/shop/shared/deliveries")
    assert [(one["event"], one["state"], one["answered"]) for one in deliveries] == [("x", "delivered", 200)]
    again = f"/api/shop/shared/deliveries/{deliveries[0]['delivery_id']}/again"
    assert (await clients["eve"].post(again)).status_code == 404
    assert (await clients["bob"].post(again)).status_code == 201
    assert await listed(clients["eve"], "/api/shop/shared") == []
    assert (await clients["eve"].delete(f"/api/shop/shared/{hook_id}")).status_code == 404
    seen = await clients["root"].get("/api/webhooks/shop?tenant=acme")
    assert [hook["hook_id"] for hook in seen.json()["items"]] == [hook_id]
    assert secret not in seen.text
    assert (await clients["ann"].get("/api/webhooks/shop")).status_code == 403
    assert (await clients["root"].get("/api/webhooks/nothing")).status_code == 404
    refused = await clients["ann"].post("/api/shop/shared", json={"url": "http://10.0.0.1/"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "address-refused")
    assert (await clients["bob"].delete(f"/api/shop/shared/{hook_id}")).status_code == 204


async def test_a_members_webhook_receives_events_of_that_member_only(
    shop: Host, hooks: Webhooks, receiver: Service, clients: Clients
) -> None:
    await add(clients["ann"], "/api/shop/webhooks", url=f"{receiver.url}/ann")
    await add(clients["bob"], "/api/shop/webhooks", url=f"{receiver.url}/bob")
    await add(clients["other ann"], "/api/shop/webhooks", url=f"{receiver.url}/other")
    await add(clients["root"], "/api/webhooks/shop?tenant=acme", url=f"{receiver.url}/acme")
    owner = Principal("ann", Role.MEMBER, tenant="acme").owner
    await hooks.send("film.done", {"film": "of ann"}, tenant="acme", owner=owner)
    await hooks.send("film.done", {"film": "of nobody in particular"}, tenant="acme")
    await run_all(shop)
    reached = sorted((request.split()[1].decode(), json.loads(received(request)[1])["data"]["film"]) for request in receiver.requests)
    assert reached == [("/acme", "of ann"), ("/acme", "of nobody in particular"), ("/ann", "of ann")]


async def test_members_see_and_change_their_own_webhooks_only(shop: Host, hooks: Webhooks, receiver: Service, clients: Clients) -> None:
    hook_id = (await add(clients["ann"], "/api/shop/webhooks", url=receiver.url))["webhook"]["hook_id"]
    await hooks.send("x", 1, tenant="acme", owner="acme/ann")
    await run_all(shop)
    (delivery,) = await listed(clients["ann"], "/api/shop/webhooks/deliveries")
    assert delivery["state"] == "delivered"
    for label in ("bob", "eve", "other ann"):
        client = clients[label]
        assert await listed(client, "/api/shop/webhooks") == await listed(client, "/api/shop/webhooks/deliveries") == []
        assert (await client.patch(f"/api/shop/webhooks/{hook_id}", json={"enabled": False})).status_code == 404
        assert (await client.delete(f"/api/shop/webhooks/{hook_id}")).status_code == 404
        assert (await client.post(f"/api/shop/webhooks/deliveries/{delivery['delivery_id']}/again")).status_code == 404
    assert await listed(clients["root"], "/api/webhooks/shop?tenant=acme") == []
    (seen,) = await listed(clients["root"], "/api/webhooks/shop?tenant=acme&owner=acme/ann")
    assert (seen["hook_id"], seen["enabled"]) == (hook_id, True)
    assert (await clients["ann"].delete(f"/api/shop/webhooks/{hook_id}")).status_code == 204
    assert await shop.resources["shop"].secrets.list(tenant="acme") == []


async def test_a_members_webhook_cannot_use_a_secret_of_the_tenant(shop: Host, receiver: Service, clients: Clients) -> None:
    await shop.resources["shop"].secrets.put("partner", "x" * 20, tenant="acme")
    answer = await clients["ann"].post("/api/shop/webhooks", json={"url": receiver.url, "secret": "partner"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad-webhook")
    await add(clients["ann"], "/api/shop/shared", url=receiver.url, secret="partner")


async def test_webhooks_are_listed_page_by_page(hooks: Webhooks, receiver: Service, clients: Clients) -> None:
    made = [(await hooks.create(f"{receiver.url}/{number}", tenant="acme")).webhook.hook_id for number in range(5)]
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await clients["root"].get("/api/webhooks/shop", params={"tenant": "acme", "limit": 2, **cursor})).json()
        found += [hook["hook_id"] for hook in page["items"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert found == sorted(made)


@pytest.mark.parametrize(
    ("patterns", "event", "fine"),
    [
        (["*"], "a.b", True),
        (["a.*"], "a.b", True),
        (["a.*"], "ab.c", False),
        (["a.b"], "a.b", True),
        (["a"], "a.b", False),
        ([], "a", False),
    ],
)
def test_events_are_chosen_by_their_names(patterns: list[str], event: str, fine: bool) -> None:
    assert wants(patterns, event) is fine


@pytest.mark.parametrize("events", [[], ["*"] * 51, ["Video.Done"], ["video."], [f"v{'x' * 100}"]])
def test_what_does_not_name_events_is_refused(events: list[str]) -> None:
    with pytest.raises(BadWebhook):
        check_events(events)


def test_names_of_events_and_their_beginnings_are_taken() -> None:
    check_events(["*", "video.finished", "video.*"])
