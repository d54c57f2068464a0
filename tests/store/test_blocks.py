"""Blocks of an async store: a plain `with` cannot wait for the requests, so it is an error rather than silently writing nothing."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from gateleg.store import AsyncStore, Store
from gateleg.store.errors import BlockEnded
from tests.store.notes import Note, shelf

NOTE = Note(book="b", number=1)
BLOCKS: dict[str, Callable[[Any], Any]] = {
    "transaction": lambda store: store.transaction(),
    "batch": lambda store: store.batch(),
    "edit": lambda store: store.edit(NOTE),
    "lock": lambda store: store.lock("nightly", seconds=60),
}


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.create_tables(shelf)
        yield store


@pytest.mark.parametrize("block", BLOCKS)
async def test_a_block_of_an_async_store_refuses_a_plain_with(store: AsyncStore, block: str) -> None:
    with pytest.raises(TypeError, match="context manager"), BLOCKS[block](store):
        raise AssertionError("the block was entered")


@pytest.mark.parametrize("block", BLOCKS)
async def test_a_block_of_a_sync_store_refuses_an_async_with(memory: Store, block: str) -> None:
    with pytest.raises(TypeError, match="asynchronous context manager"):
        async with BLOCKS[block](memory):
            raise AssertionError("the block was entered")


async def test_async_blocks_write_when_they_end(store: AsyncStore) -> None:
    async with store.transaction() as tx:
        tx.create(NOTE)
    async with store.batch() as batch:
        batch.put(Note(book="b", number=2))
    async with store.edit(NOTE) as draft:
        draft.text = "edited"
    assert [(note.number, note.text) async for note in store.query(Note.in_book, book="b")] == [(1, "edited"), (2, "")]


@pytest.mark.parametrize("block", ["transaction", "batch"])
def test_a_write_outside_of_the_block_is_refused_because_it_would_not_be_sent(memory: Store, block: str) -> None:
    writes = BLOCKS[block](memory)
    with pytest.raises(BlockEnded, match=f"to a {block} without a `with` block, and would never be sent"):
        writes.put(NOTE)
    with writes:
        pass
    with pytest.raises(BlockEnded, match="after its `with` block"):
        writes.put(NOTE)
    with pytest.raises(BlockEnded, match="entered twice"), writes:
        pass


@pytest.mark.parametrize("block", ["transaction", "batch"])
async def test_a_write_outside_of_an_async_block_is_refused_too(store: AsyncStore, block: str) -> None:
    writes = BLOCKS[block](store)
    with pytest.raises(BlockEnded):
        writes.put(NOTE)
    with pytest.raises(RuntimeError):
        async with writes:
            raise RuntimeError
    with pytest.raises(BlockEnded):
        writes.put(NOTE)
