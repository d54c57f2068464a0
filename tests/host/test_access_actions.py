"""Actions on secrets and webhooks: the same at every door, by one rule of who may, and no value in the audit log."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions.secrets import PutSecret, RekeySecrets, SecretTarget, delete_secret, put_secret, rekey_secrets
from gateleg.host.actions.webhooks import (
    WEBHOOK_ACTIONS,
    CreateWebhook,
    create_webhook,
    delete_webhook,
    disable_webhook,
    enable_webhook,
    send_again,
)
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.host.host import Host
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.secrets import Secrets
from gateleg.host.settings import Settings
from gateleg.host.webhooks import WebhookNotFound
from gateleg.net import Secret
from gateleg.net.http import GuardedClient
from tests.host.band import application
from tests.host.test_actions import Door, by_api, by_command, entries, told

DOORS = [by_api, by_command]
VALUE, FORMER = "correct horse battery staple", "the former secret of the host"
GROUP = "tenant-admins"
TENANT_ADMIN = Principal("ana", Role.MEMBER, frozenset({GROUP}), "acme")
OTHERS = [
    Principal("oscar", Role.OPERATOR),
    Principal("mia", Role.MEMBER, frozenset(), "acme"),
    Principal("eve", Role.MEMBER, frozenset({GROUP}), "other"),
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data", tenant_admin_group=GROUP)


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings, [application]) as host:
        yield host


def secret(name: str = "smtp", **values: Any) -> PutSecret:
    return PutSecret(application="music", name=name, value=SecretStr(VALUE), **values)


@pytest.mark.parametrize("door", DOORS)
async def test_a_secret_is_set_and_deleted_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    shown = [await door(host, settings, put_secret, secret(tenant="acme"))]
    assert await host.secrets.of("music").get("smtp", tenant="acme") == VALUE
    shown.append(await door(host, settings, delete_secret, SecretTarget(application="music", name="smtp", tenant="acme")))
    assert await host.secrets.of("music").list(tenant="acme") == []
    assert sorted(told(entry) for entry in await entries(host)) == [
        ("secret.delete", "music/smtp", {"tenant": "acme"}),
        ("secret.put", "music/smtp", {"tenant": "acme", "version": 1}),
    ]
    assert VALUE not in json.dumps(shown) + "".join(entry.model_dump_json() for entry in await entries(host))


@pytest.mark.parametrize("door", DOORS)
async def test_secrets_are_re_encrypted_alike_at_every_door_each_with_an_entry(host: Host, settings: Settings, door: Door) -> None:
    former = Secrets(host.store, Secret(FORMER.encode()), "music")
    await former.put("smtp", "theirs", tenant="acme")
    await former.put("ftp", "own")
    await host.secrets.of("music").put("new", "x")
    await door(host, settings, rekey_secrets, RekeySecrets(application="music", former=SecretStr(FORMER)))
    secrets = host.secrets.of("music")
    assert [await secrets.get("smtp", tenant="acme"), await secrets.get("ftp"), await secrets.get("new")] == ["theirs", "own", "x"]
    noted = sorted(told(entry) for entry in await entries(host))
    assert noted == [("secret.rekey", "music/ftp", {}), ("secret.rekey", "music/smtp", {"tenant": "acme"})]


async def test_a_secret_that_neither_secret_decrypts_is_named_and_the_others_are_re_encrypted(host: Host) -> None:
    await Secrets(host.store, Secret(FORMER.encode()), "music").put("good", "x")
    await Secrets(host.store, Secret(b"yet another secret"), "music").put("odd", "y")
    result = await perform(rekey_secrets, ActionCall(host, LOCAL), RekeySecrets(application="music", former=SecretStr(FORMER)))
    assert rekey_secrets.done(result).startswith(
        "1 secrets of music re-encrypted with the current secret of the host, 1 refused: music/odd"
    )
    assert [entry.target for entry in await entries(host)] == ["music/good"]


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let webhooks be created without asking the network for the address."""

    async def check(self: GuardedClient, url: str) -> None:
        """Every address is public."""

    monkeypatch.setattr(GuardedClient, "check", check)


async def a_hook(host: Host, tenant: str | None = "acme", owner: str | None = None) -> str:
    return (await host.webhooks_of("music").create("https://example.com/hook", tenant=tenant, owner=owner)).webhook.hook_id


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("door", DOORS)
async def test_a_webhook_is_created_switched_and_deleted_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    given = CreateWebhook(application="music", tenant="acme", url="https://example.com/hook", events=["song.*", "x"])
    shown = json.dumps(await door(host, settings, create_webhook, given))
    hooks = host.webhooks_of("music")
    (hook,) = await hooks.list(tenant="acme")
    assert hook.events == ["song.*", "x"]
    assert await host.secrets.of("music").get(hook.secret, tenant="acme") in shown
    expected = [("webhook.create", f"music/{hook.hook_id}", {"tenant": "acme", "url": hook.url})]
    for action, enabled in ((disable_webhook, False), (enable_webhook, True)):
        await door(host, settings, action, action.input(application="music", tenant="acme", hook_id=hook.hook_id))
        assert (await hooks.get(hook.hook_id, tenant="acme")).enabled is enabled
        expected.append((action.name, f"music/{hook.hook_id}", {"tenant": "acme"}))
    await door(host, settings, delete_webhook, delete_webhook.input(application="music", tenant="acme", hook_id=hook.hook_id))
    with pytest.raises(WebhookNotFound):
        await hooks.get(hook.hook_id, tenant="acme")
    expected.append(("webhook.delete", f"music/{hook.hook_id}", {"tenant": "acme"}))
    assert sorted(told(entry) for entry in await entries(host)) == sorted(expected)
    assert "whsec_" not in "".join(entry.model_dump_json() for entry in await entries(host))


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("door", DOORS)
async def test_a_delivery_is_sent_again_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    owner = "acme/ann"
    hook_id = await a_hook(host, owner=owner)
    (first,) = await host.webhooks_of("music").send("song.done", {}, tenant="acme", owner=owner)
    given = send_again.input(application="music", tenant="acme", owner=owner, delivery_id=first.delivery_id)
    await door(host, settings, send_again, given)
    deliveries = await host.webhooks_of("music").deliveries(tenant="acme", owner=owner)
    assert [delivery.event for delivery in deliveries] == ["song.done", "song.done"]
    details = {"tenant": "acme", "owner": owner, "delivery": first.delivery_id}
    assert [told(entry) for entry in await entries(host)] == [("webhook.again", f"music/{hook_id}", details)]


def of_the_tenant(action: Action[Any, Any], hook_id: str, **named: Any) -> Any:
    """An input of an action that is about the tenant, whatever else it needs."""
    values = {"application": "music", "hook_id": hook_id, "delivery_id": f"{'0' * 13}-{'0' * 16}", "url": "https://example.com/hook"}
    known = {name: value for name, value in {**values, "name": "smtp", **named}.items() if name in action.input.model_fields}
    return action.input(**known, **({"value": SecretStr(VALUE)} if "value" in action.input.model_fields else {}))


MANAGED: tuple[Action[Any, Any], ...] = (put_secret, delete_secret, *WEBHOOK_ACTIONS)


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("action", [pytest.param(action, id=action.name) for action in MANAGED])
async def test_whoever_manages_the_tenant_may_and_others_are_refused_before_anything_is_looked_up(
    host: Host, action: Action[Any, Any]
) -> None:
    await host.secrets.of("music").put("smtp", "x", tenant="acme")
    hook_id = await a_hook(host)
    for caller in OTHERS:
        with pytest.raises(NotAllowed, match=f"'{caller.name}' does not manage the secrets and webhooks"):
            await perform(action, ActionCall(host, caller), of_the_tenant(action, hook_id, tenant="acme"))
    assert await entries(host) == []
    with pytest.raises(Unknown, match="no application 'nothing'"):
        await perform(action, ActionCall(host, LOCAL), of_the_tenant(action, hook_id, application="nothing"))
    if action is send_again:
        with pytest.raises(WebhookNotFound):
            await perform(action, ActionCall(host, TENANT_ADMIN), of_the_tenant(action, hook_id))
        return
    # A tenant admin need not name the tenant.
    await perform(action, ActionCall(host, TENANT_ADMIN), of_the_tenant(action, hook_id))
    assert [entry.details["tenant"] for entry in await entries(host)] == ["acme"]


async def test_only_admins_of_the_host_set_its_own_secrets_and_re_encrypt(host: Host) -> None:
    with pytest.raises(Unknown):
        await perform(put_secret, ActionCall(host, TENANT_ADMIN), PutSecret(name="k", value=SecretStr(VALUE)))
    with pytest.raises(NotAllowed, match="needs the role admin"):
        await perform(rekey_secrets, ActionCall(host, TENANT_ADMIN), RekeySecrets(application="music", former=SecretStr(FORMER)))
    assert (await perform(put_secret, ActionCall(host, LOCAL), PutSecret(name="k", value=SecretStr(VALUE)))).application == "host"
