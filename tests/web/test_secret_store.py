"""Secrets of applications: encrypted in the store, apart by application and tenant, rotated and deleted."""

from base64 import b64decode
from collections.abc import AsyncIterator

import pytest

from gateleg.host.secrets import BadSecret, SecretNotFound, Secrets, SecretUnreadable
from gateleg.host.tables import StoredSecret, secrets_table
from gateleg.net import Secret
from gateleg.store import AsyncStore


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.create_tables(secrets_table)
        yield store


@pytest.fixture
def secrets(store: AsyncStore) -> Secrets:
    return Secrets(store, Secret(b"host" * 8), "mv")


async def test_a_secret_is_put_read_rotated_listed_and_deleted(secrets: Secrets) -> None:
    first = await secrets.put("provider", "väl-ue", by="ann")
    assert (first.version, first.changed_by) == (1, "ann")
    assert await secrets.get("provider") == "väl-ue"
    assert (await secrets.put("provider", "second")).version == 2
    assert await secrets.get("provider") == "second"
    (listed,) = await secrets.list()
    assert (listed.name, listed.version, listed.created_at) == ("provider", 2, first.created_at)
    assert "second" not in repr(listed)
    await secrets.delete("provider")
    with pytest.raises(SecretNotFound):
        await secrets.get("provider")
    with pytest.raises(SecretNotFound):
        await secrets.delete("provider")


async def test_the_store_holds_no_value_in_the_clear(secrets: Secrets, store: AsyncStore) -> None:
    await secrets.put("provider", "correct horse battery staple", tenant="acme")
    items = [item async for item in store.query(StoredSecret.of_application(application="mv"))]
    assert len(items) == 1
    assert "horse" not in items[0].sealed
    assert b"horse" not in b64decode(items[0].sealed)


async def test_applications_and_tenants_do_not_see_each_other(secrets: Secrets) -> None:
    await secrets.put("k", "own")
    await secrets.put("k", "of acme", tenant="acme")
    await secrets.put("k", "odd", tenant="a#SECRET#k")
    assert [await secrets.get("k"), await secrets.get("k", tenant="acme"), await secrets.get("k", tenant="a#SECRET#k")] == [
        "own",
        "of acme",
        "odd",
    ]
    for other in (secrets.get("k", tenant="acm"), secrets.get("k", tenant=""), secrets.of("rag").get("k")):
        with pytest.raises(SecretNotFound):
            await other
    assert [one.tenant for one in await secrets.list(tenant="acme")] == ["acme"]
    assert [one.tenant for one in await secrets.list()] == [None]


async def test_a_ciphertext_moved_to_another_tenant_cannot_be_read(secrets: Secrets, store: AsyncStore) -> None:
    await secrets.put("k", "of acme", tenant="acme")
    (found,) = [item async for item in store.query(StoredSecret.of_application(application="mv"))]
    await store.put(found.model_copy(update={"tenant": "=eve"}))
    with pytest.raises(SecretUnreadable):
        await secrets.get("k", tenant="eve")


async def test_another_host_secret_reads_nothing_until_all_is_encrypted_anew(secrets: Secrets, store: AsyncStore) -> None:
    await secrets.put("k", "value")
    await secrets.put("k", "other", tenant="acme")
    moved = Secrets(store, Secret(b"new!" * 8), "mv")
    with pytest.raises(SecretUnreadable, match="rekey"):
        await moved.get("k")
    assert await moved.rekey(secrets.secret) == 2
    assert [await moved.get("k"), await moved.get("k", tenant="acme")] == ["value", "other"]
    assert await moved.rekey(secrets.secret) == 0
    with pytest.raises(SecretUnreadable):
        await secrets.get("k")


@pytest.mark.parametrize(("name", "value"), [("", "v"), ("a b", "v"), ("../x", "v"), ("x" * 101, "v"), ("k", ""), ("k", "x" * 65_537)])
async def test_names_and_values_are_bounded(secrets: Secrets, name: str, value: str) -> None:
    with pytest.raises(BadSecret):
        await secrets.put(name, value)


async def test_a_setting_may_name_a_secret(secrets: Secrets) -> None:
    await secrets.put("openai", "sk-1")
    assert await secrets.resolve("secret:openai") == "sk-1"
    assert await secrets.resolve("sk-plain") == "sk-plain"
    with pytest.raises(SecretNotFound):
        await secrets.resolve("secret:missing")
