"""Actions on API keys: the same at every door, and the token nowhere but with whoever asked for it."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateleg.host.actions import Action, ActionCall, perform
from gateleg.host.actions.keys import CreateKey, KeyChoice, KeyTarget, create_key, revoke_key, revoke_keys
from gateleg.host.errors import ApiKeyMissing, NotAllowed
from gateleg.host.host import Host
from gateleg.host.principal import LOCAL, Principal, Role
from gateleg.host.settings import Settings
from gateleg.host.tables import ApiKey
from tests.host.test_actions import Door, by_api, by_command, entries, told
from tests.web.sample import make_application

TOKEN = re.compile(r"gl_[a-z2-7]{12}_[A-Za-z0-9_-]{43}")
DOORS = [by_api, by_command]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store=f"embedded:{tmp_path}/store", objects=f"dir:{tmp_path}/objects", data=tmp_path / "data")


@pytest.fixture
async def host(settings: Settings) -> AsyncIterator[Host]:
    async with Host.open(settings, [make_application()]) as host:
        yield host


async def made(host: Host, name: str, role: Role = Role.VIEWER, **values: Any) -> str:
    return (await host.keys.create(name, role, **values)).key.key_id


@pytest.mark.parametrize("door", DOORS)
async def test_a_key_is_created_alike_at_every_door_and_only_the_caller_sees_its_token(host: Host, settings: Settings, door: Door) -> None:
    shown = await door(host, settings, create_key, CreateKey(name="ann", role="operator", groups=["editors"], days=2))
    (token,) = TOKEN.findall(json.dumps(shown))
    (key,) = await host.keys.list()
    assert (await host.keys.recognise(token)).key_id == key.key_id
    assert (key.name, key.role, key.groups, key.tenant) == ("ann", "operator", {"editors"}, None)
    assert key.ends_at is not None
    assert timedelta(days=1.9) < key.ends_at - key.created_at <= timedelta(days=2)
    (entry,) = await entries(host)
    assert told(entry) == ("key.create", key.key_id, {"name": "ann", "role": "operator"})
    assert token not in entry.model_dump_json()


@pytest.mark.parametrize("door", DOORS)
async def test_a_key_is_revoked_alike_at_every_door(host: Host, settings: Settings, door: Door) -> None:
    key_id = await made(host, "ann")
    await door(host, settings, revoke_key, KeyTarget(key_id=key_id))
    assert (await host.keys.get(key_id)).revoked_at is not None
    assert [told(entry) for entry in await entries(host)] == [("key.revoke", key_id, {"name": "ann"})]


@pytest.mark.parametrize("door", DOORS)
async def test_all_keys_of_a_tenant_are_revoked_alike_at_every_door_each_with_an_entry(host: Host, settings: Settings, door: Door) -> None:
    theirs = {await made(host, name, tenant="acme") for name in ("ann", "bob")}
    other = await made(host, "eve", tenant="other")
    await door(host, settings, revoke_keys, KeyChoice(tenant="acme"))
    assert {key.key_id for key in await host.keys.list() if key.revoked_at is not None} == theirs
    assert (await host.keys.get(other)).revoked_at is None
    assert {(entry.action, entry.target) for entry in await entries(host)} == {("key.revoke", key_id) for key_id in theirs}


async def test_a_key_that_was_revoked_before_is_not_recorded_again(host: Host) -> None:
    key_id = await made(host, "ann")
    for _ in range(2):
        revoked = await perform(revoke_key, ActionCall(host, LOCAL), KeyTarget(key_id=key_id))
        assert revoke_key.done(revoked) == f"{key_id} (ann) is revoked"
    assert len(await entries(host)) == 1


async def test_no_key_is_revoked_if_one_id_does_not_exist(host: Host) -> None:
    key_id = await made(host, "ann")
    with pytest.raises(ApiKeyMissing):
        await perform(revoke_keys, ActionCall(host, LOCAL), KeyChoice(key_ids=[key_id, "aaaaaaaaaaaa"]))
    assert (await host.keys.get(key_id)).revoked_at is None


async def test_only_admins_create_and_revoke_keys(host: Host) -> None:
    key_id = await made(host, "ann")
    attempts: list[tuple[Action[Any, Any], Any]] = [
        (create_key, CreateKey(name="eve")),
        (revoke_key, KeyTarget(key_id=key_id)),
        (revoke_keys, KeyChoice(name="ann")),
    ]
    for action, given in attempts:
        with pytest.raises(NotAllowed, match="needs the role admin; 'oscar' has operator"):
            await perform(action, ActionCall(host, Principal("oscar", Role.OPERATOR)), given)
    assert len(await host.keys.list()) == 1
    assert await entries(host) == []


@pytest.mark.parametrize("wrong", [{}, {"key_ids": ["aaaaaaaaaaaa"], "name": "ann"}, {"key_ids": []}])
def test_a_choice_of_keys_says_which(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        KeyChoice(**wrong)


NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("choice", "values", "fits"),
    [
        ({"name": "ann"}, {}, True),
        ({"name": "bob"}, {}, False),
        ({"group": "editors"}, {"groups": {"editors"}}, True),
        ({"group": "editors"}, {}, False),
        ({"tenant": "acme"}, {}, False),
        ({"name": "ann"}, {"revoked_at": NOW}, False),
        ({"name": "ann"}, {"ends_at": NOW}, False),
        ({"unused_days": 30}, {"created_at": NOW - timedelta(days=30)}, True),
        ({"unused_days": 30}, {"created_at": NOW - timedelta(days=90), "used_at": NOW - timedelta(days=29)}, False),
    ],
)
def test_filters_choose_valid_keys(choice: dict[str, Any], values: dict[str, Any], fits: bool) -> None:
    given = {"key_id": "a", "name": "ann", "digest": "d", "role": "viewer", "created_at": NOW, "created_by": "root", **values}
    assert KeyChoice(**choice).fits(ApiKey(**given), NOW) is fits
