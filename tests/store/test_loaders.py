"""Loaders: few batches, each item once, in order."""

import asyncio
from typing import Any

import pytest

from gateleg.store import AsyncStore, Refused, Store
from gateleg.store.transports import ServiceError
from tests.store.notes import Note, notes, shelf


class Counting:
    """A transport that counts requests."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.batches: list[int] = []
        self.fail = False

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        if operation == "BatchGetItem":
            self.batches.append(sum(len(entry["Keys"]) for entry in request["RequestItems"].values()))
            if self.fail:
                raise ServiceError("ValidationException", "broken")
        answer: dict[str, Any] = self.inner.call(operation, request)
        return answer

    async def close(self) -> None: ...


@pytest.fixture
def filled(memory: Store) -> Store:
    memory.create_tables(shelf)
    memory.batch_write(notes(250))
    return memory


async def test_concurrent_loads_are_one_batch(filled: Store) -> None:
    transport = Counting(filled.transport)
    loader = AsyncStore(transport).loader(Note)
    found = await asyncio.gather(*[loader.load(book="b", number=number % 50) for number in range(80)])
    assert [note.number for note in found if note] == [number % 50 for number in range(80)]
    assert transport.batches == [50]


async def test_batches_have_at_most_a_hundred_keys(filled: Store) -> None:
    transport = Counting(filled.transport)
    loader = AsyncStore(transport).loader(Note)
    found = await loader.load_many([Note.key(book="b", number=number) for number in range(250)])
    assert [note.number for note in found if note] == list(range(250))
    assert transport.batches == [100, 100, 50]


async def test_what_was_loaded_is_not_read_again(filled: Store) -> None:
    transport = Counting(filled.transport)
    loader = AsyncStore(transport).loader(Note)
    first = await loader.load(book="b", number=1)
    assert await loader.load(book="b", number=1) is first
    assert await loader.load(book="b", number=999) is None
    assert await loader.load(book="b", number=999) is None
    assert transport.batches == [1, 1]


async def test_cache_can_be_primed_and_cleared(filled: Store) -> None:
    transport = Counting(filled.transport)
    loader = AsyncStore(transport).loader(Note)
    mine = Note(book="b", number=1, text="mine")
    loader.prime(mine)
    assert await loader.load(book="b", number=1) is mine
    loader.clear()
    assert await loader.load(book="b", number=1) == Note(book="b", number=1)


async def test_failure_reaches_all_callers_and_is_not_cached(filled: Store) -> None:
    transport = Counting(filled.transport)
    transport.fail = True
    loader = AsyncStore(transport).loader(Note)
    results = await asyncio.gather(*[loader.load(book="b", number=number) for number in range(3)], return_exceptions=True)
    assert [type(result) for result in results] == [Refused] * 3
    transport.fail = False
    assert await loader.load(book="b", number=1) is not None


async def test_cancelled_caller_does_not_cancel_the_load_of_others(filled: Store) -> None:
    loader = AsyncStore(Counting(filled.transport)).loader(Note)
    first = asyncio.create_task(loader.load(book="b", number=1))
    second = asyncio.create_task(loader.load(book="b", number=1))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second) is not None
    assert first.cancelled() or first.cancelling()


def test_sync_loader_reads_missing_items_in_one_batch(filled: Store) -> None:
    loader = filled.loader(Note)
    one = loader.load(book="b", number=1)
    found = loader.load_many([Note.key(book="b", number=number) for number in (3, 1, 2, 1)])
    assert [note.number for note in found if note] == [3, 1, 2, 1]
    assert found[1] is one is found[3]
    mine = Note(book="b", number=3, text="mine")
    loader.prime(mine)
    assert loader.load(book="b", number=3) is mine
    loader.clear()
    assert loader.load(book="b", number=3) == Note(book="b", number=3)
