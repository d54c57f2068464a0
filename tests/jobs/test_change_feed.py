"""A feed polls SQLite's commit counter while somebody listens, and calls those who have not seen the last commit."""

import asyncio
from pathlib import Path

from gateleg.jobs.change_feed import ChangeFeed
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import GroupCommitTransport, open_async_embedded


class CountedTransport(GroupCommitTransport):
    """A transport whose commit counter the test sets, and that tells when it was read."""

    version = 1

    def __init__(self, path: Path) -> None:
        super().__init__(open_async_embedded(str(path)))
        self.polled = asyncio.Event()

    def changes(self) -> int:
        self.polled.set()
        return self.version

    async def await_polls(self, number: int) -> None:
        """Wait for the next polls."""
        for _ in range(number):
            self.polled.clear()
            await asyncio.wait_for(self.polled.wait(), 30)


async def test_a_commit_after_the_version_of_a_listener_calls_it_once(tmp_path: Path) -> None:
    transport, calls = CountedTransport(tmp_path), []
    feed = ChangeFeed(transport)
    seen = feed.version()
    transport.version = 2
    stop = feed.listen(lambda: calls.append("changed"), since=seen)
    await transport.await_polls(3)
    stop()
    assert calls == ["changed"]
    await transport.close()


async def test_a_commit_before_the_version_of_a_listener_does_not_call_it(tmp_path: Path) -> None:
    transport, calls = CountedTransport(tmp_path), []
    feed = ChangeFeed(transport)
    transport.version = 2
    stops = [feed.listen(lambda: calls.append("later"), since=feed.version()), feed.listen(lambda: calls.append("now"))]
    await transport.await_polls(3)
    assert calls == []
    transport.version = 3
    await transport.await_polls(1)
    assert calls == ["later", "now"]
    for stop in stops:
        stop()
    await transport.close()


async def test_each_listener_is_called_for_what_it_has_not_seen(tmp_path: Path) -> None:
    transport, calls = CountedTransport(tmp_path), []
    feed = ChangeFeed(transport)
    stops = [feed.listen(lambda: calls.append("new")), feed.listen(lambda: calls.append("behind"), since=0)]
    await transport.await_polls(3)
    assert calls == ["behind"]
    for stop in stops:
        stop()
    await transport.close()


async def test_polling_ends_with_the_last_listener(tmp_path: Path) -> None:
    transport = CountedTransport(tmp_path)
    feed = ChangeFeed(transport)
    watching = [feed._timer is not None]
    for stop in (feed.listen(lambda: None), feed.listen(lambda: None)):
        watching.append(feed._timer is not None)
        stop()
    watching.append(feed._timer is not None)
    assert watching == [False, True, True, False]
    await transport.close()


async def test_a_listener_may_stop_listening_while_it_is_called(tmp_path: Path) -> None:
    transport = CountedTransport(tmp_path)
    feed, called = ChangeFeed(transport), asyncio.Event()

    def stop_and_tell() -> None:
        stop()
        called.set()

    stop = feed.listen(stop_and_tell, since=0)
    await asyncio.wait_for(called.wait(), 30)
    assert feed._timer is None
    await transport.close()


async def test_the_interval_grows_with_each_change_and_is_reset_by_one_that_was_of_use(tmp_path: Path) -> None:
    transport, noticed = CountedTransport(tmp_path), asyncio.Event()
    feed = ChangeFeed(transport, (0.001, 0.1))
    for _ in range(3):
        seen = feed.version()
        transport.version += 1
        noticed.clear()
        stop = feed.listen(noticed.set, since=seen)
        await asyncio.wait_for(noticed.wait(), 30)
        stop()
    assert feed._poll_seconds == 0.008
    feed.reset_interval()
    assert feed._poll_seconds == 0.001
    await transport.close()


async def test_the_interval_stays_below_the_longest(tmp_path: Path) -> None:
    transport = CountedTransport(tmp_path)
    feed = ChangeFeed(transport, (0.001, 0.003))

    def change() -> None:
        transport.version += 1

    stop = feed.listen(change, since=0)
    await transport.await_polls(6)
    stop()
    assert 0.003 <= feed._poll_seconds < 0.004
    await transport.close()


async def test_a_remote_store_is_not_watched() -> None:
    async with AsyncStore.connect("http://localhost:1") as store:
        feed = ChangeFeed(store.transport)
        stop = feed.listen(lambda: None, since=feed.version())
        assert feed._timer is None
        stop()
