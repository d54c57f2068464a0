import asyncio
from pathlib import Path

from gateleg.jobs.worker.change_watcher import Sight
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import open_async_embedded
from gateleg.store.transports.inline_embedded import DirectTransport


class Told(DirectTransport):
    """A transport that is told what has changed, and tells when it was asked."""

    number = 1

    def __init__(self, path: Path) -> None:
        super().__init__(open_async_embedded(str(path)))
        self.asked = asyncio.Event()

    def changes(self) -> int:
        self.asked.set()
        return self.number


async def test_a_change_since_the_last_look_is_told(tmp_path: Path) -> None:
    transport, told = Told(tmp_path), asyncio.Event()
    sight = Sight(transport)
    sight.look()
    with sight.watching(told.set):
        transport.number = 2
        await asyncio.wait_for(told.wait(), 30)
    await transport.close()


async def test_what_was_there_at_the_last_look_is_not_told(tmp_path: Path) -> None:
    transport, told = Told(tmp_path), asyncio.Event()
    sight = Sight(transport)
    transport.number = 2
    sight.look()
    with sight.watching(told.set):
        for _ in range(3):
            transport.asked.clear()
            await asyncio.wait_for(transport.asked.wait(), 30)
        assert not told.is_set()
    await transport.close()


async def test_nobody_is_asked_after_the_end(tmp_path: Path) -> None:
    transport, told = Told(tmp_path), asyncio.Event()
    sight = Sight(transport)
    with sight.watching(told.set):
        pass
    assert sight._glance is not None
    assert sight._glance.cancelled()
    assert not transport.asked.is_set()
    await transport.close()


async def test_glances_become_rarer_while_changes_bring_nothing_and_more_frequent_once_they_do(tmp_path: Path) -> None:
    transport, told = Told(tmp_path), asyncio.Event()
    sight = Sight(transport)
    first = sight._every
    for _ in range(3):
        sight.look()
        transport.number += 1
        told.clear()
        with sight.watching(told.set):
            await asyncio.wait_for(told.wait(), 30)
    assert sight._every == 8 * first
    sight.rest()
    assert sight._every == first
    await transport.close()


async def test_a_store_that_is_elsewhere_is_not_watched() -> None:
    async with AsyncStore.connect("http://localhost:1") as store:
        sight = Sight(store.transport)
        sight.look()
        with sight.watching(lambda: None):
            assert sight._glance is None
