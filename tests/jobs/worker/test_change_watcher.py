import asyncio
from pathlib import Path

from gateleg.jobs.change_feed import ChangeWatcher
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import open_async_embedded
from gateleg.store.transports.group_commit import GroupCommitTransport


class FakeTransport(GroupCommitTransport):
    """A transport that is noticed what has changed, and tells when it was asked."""

    version = 1

    def __init__(self, path: Path) -> None:
        super().__init__(open_async_embedded(str(path)))
        self.polled = asyncio.Event()

    def changes(self) -> int:
        self.polled.set()
        return self.version


async def test_a_commit_after_the_mark_calls_back(tmp_path: Path) -> None:
    transport, noticed = FakeTransport(tmp_path), asyncio.Event()
    watcher = ChangeWatcher(transport)
    watcher.mark_seen()
    with watcher.watching(noticed.set):
        transport.version = 2
        await asyncio.wait_for(noticed.wait(), 30)
    await transport.close()


async def test_a_commit_before_the_mark_does_not_call_back(tmp_path: Path) -> None:
    transport, noticed = FakeTransport(tmp_path), asyncio.Event()
    watcher = ChangeWatcher(transport)
    transport.version = 2
    watcher.mark_seen()
    with watcher.watching(noticed.set):
        for _ in range(3):
            transport.polled.clear()
            await asyncio.wait_for(transport.polled.wait(), 30)
        assert not noticed.is_set()
    await transport.close()


async def test_polling_ends_with_the_block(tmp_path: Path) -> None:
    transport, noticed = FakeTransport(tmp_path), asyncio.Event()
    watcher = ChangeWatcher(transport)
    with watcher.watching(noticed.set):
        pass
    assert watcher._timer is not None
    assert watcher._timer.cancelled()
    assert not transport.polled.is_set()
    await transport.close()


async def test_the_interval_grows_with_each_change_and_resets_once_jobs_were_found(tmp_path: Path) -> None:
    transport, noticed = FakeTransport(tmp_path), asyncio.Event()
    watcher = ChangeWatcher(transport)
    first = watcher._poll_seconds
    for _ in range(3):
        watcher.mark_seen()
        transport.version += 1
        noticed.clear()
        with watcher.watching(noticed.set):
            await asyncio.wait_for(noticed.wait(), 30)
    assert watcher._poll_seconds == 8 * first
    watcher.reset_interval()
    assert watcher._poll_seconds == first
    await transport.close()


async def test_a_remote_store_is_not_watched() -> None:
    async with AsyncStore.connect("http://localhost:1") as store:
        watcher = ChangeWatcher(store.transport)
        watcher.mark_seen()
        with watcher.watching(lambda: None):
            assert watcher._timer is None
