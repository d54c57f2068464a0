import asyncio
from collections.abc import AsyncIterator

import pytest

from gateleg.host.live import Hub, TooManyFollowers


class Source:
    """A source that counts how often it was started and ended, and says what it is told to."""

    def __init__(self) -> None:
        self.started = self.ended = 0
        self.news: asyncio.Queue[int | None] = asyncio.Queue()

    async def __call__(self) -> AsyncIterator[int]:
        self.started += 1
        try:
            while (update := await self.news.get()) is not None:
                yield update
        finally:
            self.ended += 1


async def test_two_hundred_followers_share_one_source() -> None:
    hub, source = Hub(), Source()
    waiting = asyncio.Semaphore(0)

    async def follow() -> list[int | None]:
        async with hub.follow("stats", source) as follower:
            waiting.release()
            return [await follower.next(5), await follower.next(5)]

    following = [asyncio.create_task(follow()) for _ in range(200)]
    for _ in following:
        await waiting.acquire()
    assert (hub.followers, hub.sources) == (200, 1)
    source.news.put_nowait(1)
    source.news.put_nowait(2)
    assert await asyncio.gather(*following) == [[1, 2]] * 200
    assert (source.started, hub.sources) == (1, 0)


async def test_a_source_ends_with_its_last_follower_and_begins_anew_with_the_next() -> None:
    hub, source = Hub(), Source()
    for rounds in (1, 2):
        async with hub.follow("stats", source) as follower:
            source.news.put_nowait(rounds)
            assert await follower.next(5) == rounds
        await asyncio.sleep(0)
        assert (source.started, hub.followers) == (rounds, 0)


async def test_a_follower_is_iterated_over_until_its_topic_is_over() -> None:
    hub, source = Hub(), Source()
    async with hub.follow("stats", source) as follower:
        for update in (1, 2, None):
            source.news.put_nowait(update)
        assert [update async for update in follower] == [1, 2]
        assert [update async for update in follower] == []


async def test_silence_is_told_as_such() -> None:
    async with Hub().follow("stats", Source()) as follower:
        with pytest.raises(TimeoutError):
            await follower.next(0.001)


async def test_when_a_source_ends_its_followers_read_what_they_have_and_end() -> None:
    hub, source = Hub(), Source()
    async with hub.follow("job", source) as follower:
        source.news.put_nowait(1)
        source.news.put_nowait(None)
        assert [await follower.next(5), await follower.next(5), await follower.next(5)] == [1, None, None]


async def test_when_a_source_fails_its_followers_end_and_may_come_back() -> None:
    async def broken() -> AsyncIterator[int]:
        yield 1
        raise RuntimeError("no store")

    hub = Hub()
    for _ in range(2):
        async with hub.follow("job", broken) as follower:
            assert [await follower.next(5), await follower.next(5)] == [1, None]


async def test_a_follower_that_does_not_keep_up_is_cut_off_alone() -> None:
    hub, source = Hub(), Source()
    async with hub.follow("job", source) as slow, hub.follow("job", source) as quick:
        for number in range(300):
            source.news.put_nowait(number)
            assert await quick.next(5) == number
        assert await slow.next(5) is None


async def test_closing_ends_all_at_once_and_lets_nobody_begin() -> None:
    hub, source = Hub(), Source()
    async with hub.follow("job", source) as follower:
        ended = asyncio.create_task(follower.next(60))
        await asyncio.sleep(0)
        await hub.close()
        assert await ended is None
    async with hub.follow("job", source) as late:
        assert await late.next(60) is None
    assert source.started == source.ended == 1


async def test_there_is_an_end_to_how_many_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.host.live.MAX_FOLLOWERS", 1)
    hub, source = Hub(), Source()
    async with hub.follow("a", source):
        with pytest.raises(TooManyFollowers):
            async with hub.follow("b", source):
                pass
