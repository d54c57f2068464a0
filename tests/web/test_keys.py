from datetime import UTC, datetime, timedelta

import pytest

from gateleg.host.credentials import Keys
from gateleg.host.errors import ApiKeyMissing, BadKey, KeyExpired, KeyRefused, KeyRevoked
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.jobs import ManualClock


async def test_a_key_is_recognised_with_all_it_stands_for(host: Host) -> None:
    made = await host.keys.create(" ann ", Role.OPERATOR, groups=["editors"], tenant="acme")
    principal = await host.keys.recognise(made.token)
    assert (principal.name, principal.role, principal.groups, principal.tenant) == ("ann", Role.OPERATOR, frozenset({"editors"}), "acme")
    assert principal.key_id == made.key.key_id


async def test_a_key_is_shown_once_and_kept_as_a_digest(host: Host) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    secret = made.token.split("_", 2)[2]
    kept = await host.keys.get(made.key.key_id)
    assert secret not in repr(kept) + repr(made)
    assert len(secret) >= 40


@pytest.mark.parametrize(
    "change", [lambda token: token[:-1] + ("a" if token[-1] != "a" else "b"), lambda token: token + "a", lambda token: ""]
)
async def test_a_token_that_was_changed_is_refused(host: Host, change: "type[str]") -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    with pytest.raises(KeyRefused):
        await host.keys.recognise(change(made.token))


async def test_a_key_ends_at_its_time(host: Host, clock: ManualClock) -> None:
    made = await host.keys.create("ann", Role.ADMIN, ends_at=clock.now + timedelta(minutes=5))
    await host.keys.recognise(made.token)
    clock.advance(minutes=5)
    with pytest.raises(KeyExpired):
        await host.keys.recognise(made.token)


async def test_a_revoked_key_is_refused_at_once_here_and_after_a_second_elsewhere(host: Host, clock: ManualClock) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    elsewhere = Keys(host.store)
    await elsewhere.recognise(made.token)
    await host.keys.revoke(made.key.key_id, by="bob")
    with pytest.raises(KeyRevoked):
        await host.keys.recognise(made.token)
    clock.advance(1)
    with pytest.raises(KeyRevoked):
        await elsewhere.recognise(made.token)
    assert (await host.keys.get(made.key.key_id)).revoked_by == "bob"


async def test_revoking_twice_changes_nothing_and_an_unknown_key_cannot_be_revoked(host: Host, clock: ManualClock) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    first = await host.keys.revoke(made.key.key_id, by="bob")
    clock.advance(9)
    assert await host.keys.revoke(made.key.key_id, by="eve") == first
    with pytest.raises(ApiKeyMissing):
        await host.keys.revoke("aaaaaaaaaaaa")


async def test_the_last_use_is_written_down_now_and_then(host: Host, clock: ManualClock) -> None:
    made = await host.keys.create("ann", Role.ADMIN)
    await host.keys.recognise(made.token)
    first = (await host.keys.get(made.key.key_id)).used_at
    clock.advance(minutes=9)
    await host.keys.recognise(made.token)
    assert (await host.keys.get(made.key.key_id)).used_at == first == clock.now - timedelta(minutes=9)
    clock.advance(minutes=1)
    await host.keys.recognise(made.token)
    assert (await host.keys.get(made.key.key_id)).used_at == clock.now


async def test_that_there_is_a_key_stays_true_once_it_was(host: Host) -> None:
    assert not await host.keys.exist()
    made = await host.keys.create("ann", Role.ADMIN)
    await host.keys.revoke(made.key.key_id)
    assert await host.keys.exist()


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
async def test_a_key_needs_a_name(host: Host, name: str) -> None:
    with pytest.raises(BadKey):
        await host.keys.create(name, Role.ADMIN)
    assert await host.keys.list() == []


@pytest.mark.parametrize("ends_at", [datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1)])
async def test_a_key_ends_in_the_future_and_in_a_zone(host: Host, ends_at: datetime) -> None:
    with pytest.raises(BadKey):
        await host.keys.create("ann", Role.ADMIN, ends_at=ends_at)
