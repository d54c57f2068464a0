"""What the pages of secrets and webhooks show, and to whom."""

from typing import Any

import pytest

from gateleg.host import Application
from gateleg.host.errors import NotAllowed
from gateleg.host.principal import Principal, Role
from gateleg.host.secrets import SecretInfo
from gateleg.host.tables import Webhook, WebhookDelivery
from gateleg.web.console.settings.managed import ManagedTenant, read_managed_tenant
from gateleg.web.console.settings.secrets import COLUMNS, secret_row
from gateleg.web.console.settings.webhooks import DELIVERY_COLUMNS, HOOK_COLUMNS, OFF, ON, delivery_row, hook_row
from tests.web.console.jobs.samples import NOW

GROUP = "tenant-admins"
ADMIN = Principal("root", Role.ADMIN)
TENANT_ADMIN = Principal("ana", Role.MEMBER, frozenset({GROUP}), "acme")
APPLICATIONS = [Application("maps", "Maps", "map"), Application("films", "Films", "movie")]


def read(principal: Principal, host: bool = True, **asked: str) -> ManagedTenant:
    return read_managed_tenant(principal, APPLICATIONS, asked, tab="secrets", group=GROUP, host=host)


def test_an_admin_chooses_application_and_tenant() -> None:
    assert [name for name, _ in read(ADMIN).choices] == ["host", "maps", "films"]
    assert [name for name, _ in read(ADMIN, host=False).choices] == ["maps", "films"]
    assert (read(ADMIN).application, read(ADMIN).tenant, read(ADMIN).path) == ("host", None, "/settings")
    found = read(ADMIN, application="films", tenant=" acme ")
    assert (found.application, found.tenant, found.owner) == ("films", "acme", "Films, tenant acme")
    assert found.state == {"tab": "secrets", "application": "films", "tenant": "acme"}


def test_a_tenant_admin_has_their_tenant_and_nothing_of_the_host() -> None:
    found = read(TENANT_ADMIN, application="host")
    assert (found.application, found.tenant, found.every_tenant, found.path) == ("maps", "acme", False, "/tenant")
    assert [name for name, _ in found.choices] == ["maps", "films"]
    assert found.state["tenant"] is None


@pytest.mark.parametrize(
    ("principal", "tenant"),
    [
        (TENANT_ADMIN, "other"),
        (Principal("eve", Role.MEMBER, frozenset(), "acme"), ""),
        (Principal("eve", Role.OPERATOR), ""),
        (Principal("eve", Role.OPERATOR), "acme"),
    ],
)
def test_others_are_refused(principal: Principal, tenant: str) -> None:
    with pytest.raises(NotAllowed):
        read(principal, tenant=tenant)


def test_a_secret_is_shown_without_its_value() -> None:
    row = secret_row(SecretInfo("maps", "acme", "smtp", 2, NOW, NOW, "ana"))
    assert set(row.cells) == {column.key for column in COLUMNS}
    assert (row.cells["name"], row.cells["tenant"], row.cells["version"], row.cells["by"]) == ("smtp", "acme", "2", "ana")


def hook(**values: Any) -> Webhook:
    given = {"application": "maps", "tenant": "-", "hook_id": "h1", "url": "https://example.com", "events": ["*"], "secret": "s"}
    return Webhook(**{**given, "created_at": NOW, **values})


def delivery(**values: Any) -> WebhookDelivery:
    given = {"application": "maps", "tenant": "-", "delivery_id": "d1", "hook_id": "h1", "event": "map.done", "body": "{}"}
    return WebhookDelivery(**{**given, "created_at": NOW, "expires_at": NOW, **values})


def test_a_webhook_is_switched_off_when_it_is_on_and_on_when_it_is_off() -> None:
    for enabled, look, verb in ((True, ON, "disable"), (False, OFF, "enable")):
        row = hook_row(hook(enabled=enabled))
        assert set(row.cells) == {column.key for column in HOOK_COLUMNS}
        assert row.cells["state"]["word"] == look.word  # type: ignore[call-overload, index]
        assert row.cells["deeds"][0]["verb"] == verb  # type: ignore[index]


def test_a_delivery_can_be_sent_again_once_it_has_ended_and_while_its_webhook_is_there() -> None:
    known = {"h1": "https://example.com"}
    assert set(delivery_row(delivery(), known).cells) == {column.key for column in DELIVERY_COLUMNS}
    assert delivery_row(delivery(), known).cells["deeds"] is None
    assert delivery_row(delivery(state="failed"), known).cells["deeds"] is not None
    assert delivery_row(delivery(state="failed"), {}).cells["deeds"] is None


def test_a_delivery_shows_the_answer_and_how_often_it_was_tried() -> None:
    row = delivery_row(delivery(state="failed", answered=500, answer="No\n\nroom " * 100, attempts=3), {})
    status, answer, tries = row.cells["answer"]  # type: ignore[misc, str-unpack]
    assert status == "HTTP 500"
    assert answer["text"].startswith("No room No room")  # type: ignore[index]
    assert answer["text"].endswith(" …")  # type: ignore[index]
    assert tries["text"] == "3 attempts"  # type: ignore[index]
