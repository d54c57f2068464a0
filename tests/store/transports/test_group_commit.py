import asyncio
from pathlib import Path

import pytest

from gateleg.model import Attr, Entity, Key, Pattern, Table, field
from gateleg.store import AsyncStore, ConditionFailed, NotFound, create
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, open_async_embedded
from gateleg.store.transports.group_commit import GroupCommitTransport

pots = Table("Pots", hash="pk", range="sk")


class Pot(Entity, table=pots):
    """Something to write."""

    name: Attr[str]
    plants: Attr[int] = field(0)

    key = Key("POTS", "POT#{name}")
    every = Pattern(title="All pots")


async def opened(path: Path) -> AsyncStore:
    store = AsyncStore(GroupCommitTransport(open_async_embedded(str(path))))
    await store.ensure_tables(pots)
    return store


async def test_refusals_come_as_those_of_the_store(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store:
        with pytest.raises(NotFound):
            await store.patch(Pot.key(name="a"), Pot.plants.add(1))


async def test_writes_in_one_commit_are_there_together(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store, await opened(tmp_path) as other:
        assert isinstance(store.transport, GroupCommitTransport)
        with store.transport.one_commit():
            await store.create(Pot(name="a"))
            await store.create(Pot(name="b"))
            assert await other.find(Pot, name="a") is None
        assert await other.find(Pot, name="a") is not None
        assert await other.find(Pot, name="b") is not None


async def test_a_refused_write_leaves_the_others_of_its_commit_alone(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store:
        assert isinstance(store.transport, GroupCommitTransport)
        with store.transport.one_commit():
            pot = await store.create(Pot(name="a"))
            with pytest.raises(ConditionFailed):
                await store.patch(pot, Pot.plants.add(1), condition=Pot.plants == 7)
        assert (await store.get(Pot, name="a")).plants == 0


async def test_a_transaction_inside_of_one_commit_does_not_wait_for_it(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store:
        assert isinstance(store.transport, GroupCommitTransport)
        with store.transport.one_commit():
            await asyncio.wait_for(store.transact([create(Pot(name="a")), create(Pot(name="b"))]), 10)
        assert len([found async for found in store.query(Pot.every())]) == 2


async def test_nothing_is_written_when_the_block_fails(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store:
        assert isinstance(store.transport, GroupCommitTransport)

        async def fails(transport: GroupCommitTransport) -> None:
            with transport.one_commit():
                await store.create(Pot(name="a"))
                raise LookupError

        with pytest.raises(LookupError):
            await fails(store.transport)
        assert await store.find(Pot, name="a") is None
        await store.create(Pot(name="a"))


async def test_a_commit_that_fails_is_an_error_of_the_service(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store:
        assert isinstance(store.transport, GroupCommitTransport)
        usual = store.transport.usual
        assert isinstance(usual, AsyncEmbeddedTransport)

        async def fails(transport: GroupCommitTransport) -> None:
            with transport.one_commit():
                await store.create(Pot(name="a"))
                # What SQLite does by itself when the disk is full.
                usual.engine.database.group_connection().execute("ROLLBACK")

        with pytest.raises(ServiceError) as refused:
            await fails(store.transport)
        assert refused.value.status == 500
        assert await store.find(Pot, name="a") is None


async def test_changes_tell_that_another_process_has_written(tmp_path: Path) -> None:
    async with await opened(tmp_path) as store, await opened(tmp_path) as other:
        assert isinstance(store.transport, GroupCommitTransport)
        before = store.transport.changes()
        assert await other.find(Pot, name="a") is None
        assert store.transport.changes() == before
        await other.create(Pot(name="a"))
        assert store.transport.changes() != before


async def test_a_closed_engine_begins_no_commit(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    transport = store.transport
    assert isinstance(transport, GroupCommitTransport)
    await store.close()
    with pytest.raises(ServiceError), transport.one_commit():
        pass
