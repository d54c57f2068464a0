import asyncio
from collections.abc import Callable

import pytest

from gateleg.host.live import Hub, Topic


class Source:
    """Something to look at, which notes how often it was."""

    def __init__(self) -> None:
        self.value: int | Exception = 1
        self.looks = 0
        self.looked = asyncio.Event()

    async def look(self) -> int:
        self.looks += 1
        self.looked.set()
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    async def next_look(self) -> None:
        self.looked.clear()
        await self.looked.wait()
        # The answer of a look is told in the same turn of the loop as it ends, which is the one after the event.
        await asyncio.sleep(0)


Told = list[tuple[int | None, str | None]]


def watch(live: Hub, source: Source, told: Told, every: float = 0.001, known: int | None = None) -> Callable[[], None]:
    def tell(value: int | None, error: BaseException | None) -> None:
        told.append((value, None if error is None else str(error)))

    return live.watch(Topic("numbers", source.look, every=every), tell, known)


async def test_watchers_of_a_topic_share_one_poller() -> None:
    live, source = Hub(), Source()
    told: list[Told] = [[] for _ in range(200)]
    leaves = [watch(live, source, mine, every=60) for mine in told]
    await source.next_look()
    assert source.looks == 1
    assert told == [[(1, None)]] * 200
    assert live.sources == 1
    for leave in leaves:
        leave()
    assert live.sources == 0


async def test_only_changes_are_told() -> None:
    live, source, told = Hub(), Source(), Told()
    watch(live, source, told)
    for _ in range(3):
        await source.next_look()
    source.value = 2
    await source.next_look()
    await source.next_look()
    assert told == [(1, None), (2, None)]


async def test_a_failure_is_told_once_and_so_is_its_end() -> None:
    live, source, told = Hub(), Source(), Told()
    watch(live, source, told)
    await source.next_look()
    source.value = ValueError("no store")
    for _ in range(3):
        await source.next_look()
    source.value = 1
    await source.next_look()
    await source.next_look()
    assert told == [(1, None), (1, "no store"), (1, None)]


async def test_who_comes_later_is_told_what_is_known() -> None:
    live, source, told, later = Hub(), Source(), Told(), Told()
    watch(live, source, told, every=60)
    await source.next_look()
    watch(live, source, later, every=60)
    assert later == [(1, None)]


async def test_what_is_known_already_is_not_looked_at_at_once() -> None:
    live, source, told = Hub(), Source(), Told()
    watch(live, source, told, every=60, known=1)
    await asyncio.sleep(0)
    assert source.looks == 0


async def test_a_hurried_topic_is_looked_at_at_once() -> None:
    live, source, told = Hub(), Source(), Told()
    watch(live, source, told, every=60)
    await source.next_look()
    source.value = 5
    live.refresh("numbers")
    await source.next_look()
    assert told[-1] == (5, None)
    live.refresh("unknown")


async def test_nothing_is_polled_when_nobody_watches() -> None:
    live, source, told = Hub(), Source(), Told()
    leave = watch(live, source, told)
    await source.next_look()
    leave()
    leave()
    looks = source.looks
    await asyncio.sleep(0)
    assert (live.sources, source.looks) == (0, looks)


async def test_now_looks_when_nothing_is_known_and_tells_failures() -> None:
    live, source = Hub(), Source()
    topic = Topic("numbers", source.look)
    assert await live.now(topic) == 1
    source.value = ValueError("no store")
    with pytest.raises(ValueError, match="no store"):
        await live.now(topic)


async def test_now_takes_what_a_poller_knows() -> None:
    live, source, told = Hub(), Source(), Told()
    watch(live, source, told, every=60)
    await source.next_look()
    assert await live.now(Topic("numbers", source.look)) == 1
    assert source.looks == 1


async def test_a_page_that_cannot_be_drawn_leaves_the_others_their_news(caplog: pytest.LogCaptureFixture) -> None:
    live, source, told = Hub(), Source(), Told()

    def broken(value: int | None, error: BaseException | None) -> None:
        raise RuntimeError("the page is gone")

    live.watch(Topic("numbers", source.look, every=0.001), broken)
    watch(live, source, told)
    await source.next_look()
    source.value = 2
    await source.next_look()
    await source.next_look()
    assert told == [(1, None), (2, None)]
    assert "the page is gone" in caplog.text


async def test_others_have_their_turn_while_many_pages_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.host.live._MAX_BLOCKING_SECONDS", 0.0)
    live, source = Hub(), Source()
    told: list[Told] = [[] for _ in range(50)]
    for mine in told:
        watch(live, source, mine, every=60)
    await source.next_look()
    reached = sum(bool(mine) for mine in told)
    assert 0 < reached < 50
    while not told[-1]:
        await asyncio.sleep(0)


async def test_who_leaves_while_others_are_told_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.host.live._MAX_BLOCKING_SECONDS", 0.0)
    live, source, first, second = Hub(), Source(), Told(), Told()
    watch(live, source, first, every=60)
    leave = watch(live, source, second, every=60)
    while not first:
        await asyncio.sleep(0)
    leave()
    await asyncio.sleep(0)
    assert second == []
