"""Who manages secrets and webhooks: one function decides, and every route asks it."""

import pytest
from fastapi import FastAPI

from gateleg.host.errors import NotAllowed
from gateleg.host.host import Host
from gateleg.host.principal import Principal, Role, managed_tenant, may_manage
from tests.web.conftest import client_of

GROUP = "tenant-admins"
ADMINS = frozenset({GROUP})
HOOK, DELIVERY = "0" * 16, f"{'0' * 13}-{'0' * 16}"


def caller(role: Role, *, tenant: str | None = None, groups: frozenset[str] = frozenset()) -> Principal:
    return Principal("ana", role, groups, tenant)


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("own", [None, "acme", "other"])
@pytest.mark.parametrize("groups", [frozenset(), ADMINS])
@pytest.mark.parametrize("asked", [None, "acme"])
def test_admins_manage_all_and_tenant_admins_their_own(role: Role, own: str | None, groups: frozenset[str], asked: str | None) -> None:
    expected = role is Role.ADMIN or (asked == own == "acme" and groups == ADMINS)
    assert may_manage(caller(role, tenant=own, groups=groups), asked, GROUP) is expected


def test_without_a_group_only_admins_manage() -> None:
    assert not may_manage(caller(Role.OPERATOR, tenant="acme", groups=frozenset({""})), "acme", "")


def test_a_request_of_a_tenant_admin_is_about_their_tenant() -> None:
    assert managed_tenant(caller(Role.MEMBER, tenant="acme", groups=ADMINS), None, GROUP) == "acme"
    assert managed_tenant(caller(Role.ADMIN, tenant="acme"), None, GROUP) is None
    with pytest.raises(NotAllowed, match="does not manage"):
        managed_tenant(caller(Role.MEMBER, tenant="acme", groups=ADMINS), "other", GROUP)


#: method, path below the application, and the status for somebody who manages the tenant
CALLS = [
    ("GET", "/api/secrets/music", 200),
    ("PUT", "/api/secrets/music/smtp", 200),
    ("DELETE", "/api/secrets/music/nothing", 404),
    ("GET", "/api/webhooks/music", 200),
    ("POST", "/api/webhooks/music", 201),
    ("GET", "/api/webhooks/music/deliveries", 200),
    ("POST", f"/api/webhooks/music/deliveries/{DELIVERY}/again", 404),
    ("PATCH", f"/api/webhooks/music/{HOOK}", 404),
    ("POST", f"/api/webhooks/music/{HOOK}/enable", 404),
    ("POST", f"/api/webhooks/music/{HOOK}/disable", 404),
    ("DELETE", f"/api/webhooks/music/{HOOK}", 404),
]
BODIES = {"PUT": {"value": "hunter2"}, "PATCH": {"enabled": False}, "POST": {"url": "https://example.com/hook"}}


async def test_every_route_asks_who_manages_the_tenant(app: FastAPI, host: Host) -> None:
    people = {
        "tenant admin": (Role.MEMBER, "acme", ADMINS, True),
        "member of the tenant": (Role.MEMBER, "acme", frozenset(), False),
        "admin of another tenant": (Role.MEMBER, "other", ADMINS, False),
        "in the group without a tenant": (Role.MEMBER, None, ADMINS, False),
        "operator": (Role.OPERATOR, None, frozenset(), False),
        "admin": (Role.ADMIN, None, frozenset(), True),
    }
    wrong = []
    for name, (role, tenant, groups, manages) in people.items():
        made = await host.keys.create(name, role, groups=groups, tenant=tenant)
        async with client_of(app, token=made.token) as client:
            for method, path, good in CALLS:
                answer = await client.request(method, path, params={"tenant": "acme"}, json=BODIES.get(method))
                if answer.status_code != (good if manages else 403):
                    wrong.append((name, method, path, answer.status_code))
    assert wrong == []


async def test_a_tenant_admin_sees_their_own_without_naming_it_and_nothing_of_the_host(app: FastAPI, host: Host) -> None:
    made = await host.keys.create("ana", Role.MEMBER, groups=ADMINS, tenant="acme")
    await host.secrets.of("music").put("theirs", "x", tenant="other")
    async with client_of(app, token=made.token) as client:
        assert (await client.put("/api/secrets/music/smtp", json={"value": "hunter2"})).json()["tenant"] == "acme"
        assert [one["name"] for one in (await client.get("/api/secrets/music")).json()["items"]] == ["smtp"]
        assert (await client.get("/api/secrets/host")).status_code == 404
        assert (await client.get("/api/jobs")).status_code == 403


async def test_a_webhook_is_switched_off_and_on(app: FastAPI, host: Host) -> None:
    made = await host.keys.create("ana", Role.MEMBER, groups=ADMINS, tenant="acme")
    async with client_of(app, token=made.token) as client:
        hook = (await client.post("/api/webhooks/music", json={"url": "https://example.com/hook"})).json()["webhook"]
        for enabled in (False, True):
            answer = await client.patch(f"/api/webhooks/music/{hook['hook_id']}", json={"enabled": enabled})
            assert answer.json()["enabled"] is enabled
            sent = await host.resources["music"].webhooks.send("song.done", {}, tenant="acme")
            assert len(sent) == enabled
    assert {entry.action for entry in await host.audit.page()} >= {"webhook.create", "webhook.disable", "webhook.enable"}
