"""Pages and streams follow changes by being told, not by asking: nothing is read while nothing happens."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest

from gateleg.host.host import Host
from gateleg.host.live import Hub, Topic
from gateleg.host.settings import Settings
from gateleg.jobs import Job, Jobs, Queue, Submission, follow_async
from gateleg.jobs.change_feed import ChangeFeed
from gateleg.store import AsyncStore, Store
from gateleg.web.console.jobs.queues import queues_topic, workers_topic
from gateleg.web.console.jobs.topics import graph_topic, job_topic, tree_topic
from gateleg.web.console.migrations.topics import list_topic
from gateleg.web.console.overview.topics import current_state_topic, history_topic
from tests.web.manual_loop import ManualLoop, run_manually
from tests.web.sample import Song, make_application

T = TypeVar("T")
Told = list[Any]


def told_by(hub: Hub, topic: Topic[T]) -> tuple[Told, list[None], asyncio.Event]:
    """Watch a topic: what it has told, how often it was read, and an event for each news."""
    told, reads, news = Told(), list[None](), asyncio.Event()

    async def read() -> T:
        reads.append(None)
        return await topic.read()

    def notify(value: T | None, error: BaseException | None) -> None:
        told.append(value if error is None else error)
        news.set()

    hub.watch(replace(topic, read=read), notify)
    return told, reads, news


async def first(news: asyncio.Event) -> None:
    await news.wait()
    news.clear()


def requests_of(host: Host) -> int:
    """The number of requests to the store so far."""
    return sum(tally.requests for tally in host.costs.by_pattern().values())


def settings_in(folder: Path) -> Settings:
    return Settings(store=f"embedded:{folder}", objects=f"dir:{folder}/objects", data=folder)


async def update_elsewhere(folder: Path, change: Callable[[Store], object]) -> None:
    """Write by an engine of its own on the same file, as another process does."""

    def write() -> None:
        with Store.connect(f"embedded:{folder}") as store:
            change(store)

    await asyncio.to_thread(write)


def put(song: Song, store: Store) -> None:
    store.put(song)


def is_longer(reads: list[None], before: int) -> bool:
    return len(reads) > before


def songs_topic(store: AsyncStore) -> Topic[list[str]]:
    async def read() -> list[str]:
        return [song.title for song in await store.page(Song.of_artist, artist="Nina", limit=10)]

    return Topic("songs", read, every=3600.0)


@pytest.mark.parametrize("who", ["this process", "another process"])
def test_a_value_is_read_within_100_ms_of_the_change_of_an_item(tmp_path: Path, who: str) -> None:
    async def test(loop: ManualLoop) -> None:
        async with Host.open(settings_in(tmp_path), [make_application()]) as host:
            told, reads, news = told_by(host.events, songs_topic(host.store))
            await first(news)
            for title in ("Sinnerman", "Four Women"):
                # Between the two nothing happens for a long time.
                await loop.advance(30, 0.05)
                before, song = len(reads), Song(artist="Nina", title=title)
                if who == "this process":
                    await host.store.put(song)
                else:
                    await update_elsewhere(tmp_path, partial(put, song))
                await loop.advance_until(partial(is_longer, reads, before), most=0.1)
                await first(news)
                assert title in told[-1]

    run_manually(test)


@pytest.mark.parametrize("who", ["this process", "another process"])
def test_the_page_of_a_job_hears_within_100_ms_that_it_was_cancelled(tmp_path: Path, who: str) -> None:
    async def test(loop: ManualLoop) -> None:
        async with Host.open(settings_in(tmp_path), [make_application()]) as host:
            job = (await host.queue.submit(Submission("add", {"numbers": []}))).job
            told, reads, news = told_by(host.events, job_topic(host.queue, job.job_id))
            await first(news)
            await loop.advance(30, 0.05)
            before = len(reads)
            if who == "this process":
                await host.queue.cancel(job.job_id)
            else:
                names = host.queue.tables.names
                await update_elsewhere(tmp_path, lambda store: Queue(store, Jobs(), tables=names).cancel(job.job_id))
            await loop.advance_until(lambda: len(reads) > before, most=0.1)
            await first(news)
            assert told[-1].job.status == "CANCELLED"

    run_manually(test)


def test_nothing_is_read_while_nothing_happens(tmp_path: Path) -> None:
    async def test(loop: ManualLoop) -> None:
        async with Host.open(settings_in(tmp_path), [make_application()]) as host:
            job = (await host.queue.submit(Submission("add", {"numbers": []}))).job
            topics: list[Topic[Any]] = [
                job_topic(host.queue, job.job_id),
                tree_topic(host.queue, job.job_id),
                graph_topic(host.queue, job.job_id),
                list_topic(host),
                songs_topic(host.store),
                Topic("jobs", host.queue.jobs_page),
                Topic("schedules", host.queue.schedules),
            ]
            watched = [told_by(host.events, topic) for topic in topics]
            streamed, stream = await followed(host, job.job_id)
            for _, _, news in watched:
                await first(news)
            await settle(loop, host)
            before = requests_of(host)
            await loop.advance(600, 0.05)
            assert requests_of(host) == before
            assert [len(told) for told, _, _ in watched] == [1] * len(topics)
            assert len(streamed) == 1
            stream.cancel()

    run_manually(test)


async def followed(host: Host, job_id: UUID) -> tuple[list[Job | Any], asyncio.Task[None]]:
    """The updates of a job's event stream, the first of which has arrived."""
    streamed: list[Job | Any] = []
    arrived = asyncio.Event()

    async def stream() -> None:
        async for update in follow_async(host.queue, job_id):
            streamed.append(update.job)
            arrived.set()

    task = asyncio.create_task(stream())
    await arrived.wait()
    return streamed, task


async def settle(loop: ManualLoop, host: Host) -> None:
    """Let the hub notice the writes of the setup, and the reads that they cause end."""
    before = -1
    while requests_of(host) != before:
        before = requests_of(host)
        await loop.advance(5, 0.05)
        # Reads run in threads.
        await asyncio.to_thread(lambda: None)


def test_what_changes_by_time_alone_is_read_again_at_a_slow_pace(tmp_path: Path) -> None:
    async def test(loop: ManualLoop) -> None:
        async with Host.open(settings_in(tmp_path), [make_application()]) as host:
            for make in (queues_topic, current_state_topic, history_topic, lambda host: workers_topic(host.queue)):
                topic: Topic[Any] = make(host)
                assert topic.expires is not None
                assert topic.expires > topic.every
            number = iter(range(100))

            async def read() -> int:
                return next(number)

            told, _, news = told_by(host.events, Topic("clock", read, expires=10.0))
            await first(news)
            await loop.advance(9)
            assert told == [0]
            await loop.advance_until(lambda: told == [0, 1], most=2)

    run_manually(test)


def test_a_change_between_the_first_read_of_a_page_and_its_watching_is_not_missed(tmp_path: Path) -> None:
    async def test(loop: ManualLoop) -> None:
        async with Host.open(settings_in(tmp_path), [make_application()]) as host:
            topic = songs_topic(host.store)
            known = await host.events.now(topic)
            await host.store.put(Song(artist="Nina", title="Sinnerman"))
            news = asyncio.Event()
            told = Told()

            def notify(value: list[str] | None, error: BaseException | None) -> None:
                told.append(value)
                if len(told) > 1:
                    news.set()

            host.events.watch(topic, notify, known)
            await loop.advance(0.05)
            await news.wait()
            assert told == [[], ["Sinnerman"]]

    run_manually(test)


def test_a_store_that_changes_all_the_time_leaves_the_loop_to_others(tmp_path: Path) -> None:
    async def test(loop: ManualLoop) -> None:
        async with AsyncStore.connect(f"embedded:{tmp_path}") as store:
            feed = ChangeFeed(store.transport, own=True)
            hub, versions = Hub(feed), iter(range(10**9))
            feed._version = lambda transport: next(versions)  # type: ignore[method-assign]

            async def read() -> int:
                return 1

            _, reads, news = told_by(hub, Topic("busy", read, every=2.0))
            await first(news)
            await loop.advance(10, 0.001)
            # A pause of 50 ms and a poll of the feed lie between two reads.
            assert 10 < len(reads) <= 10 / 0.05
            await hub.close()

    run_manually(test)


def test_a_topic_that_cannot_be_read_is_tried_again_though_nothing_changes(tmp_path: Path) -> None:
    async def test(loop: ManualLoop) -> None:
        async with AsyncStore.connect(f"embedded:{tmp_path}") as store:
            hub, problems = Hub(ChangeFeed(store.transport, own=True)), [ValueError("no store")]

            async def read() -> int:
                if problems:
                    raise problems.pop()
                return 1

            told, _, news = told_by(hub, Topic("numbers", read, every=2.0))
            await first(news)
            assert isinstance(told[0], ValueError)
            await loop.advance_until(lambda: told[-1] == 1, most=2.1)
            await hub.close()

    run_manually(test)


async def test_a_remote_store_is_polled_once_for_all_followers() -> None:
    reads, news = 0, asyncio.Event()

    async def read() -> int:
        nonlocal reads
        reads += 1
        news.set()
        return reads

    # What `AsyncStore` has for a store that is not embedded.
    class Remote:
        pass

    hub = Hub(ChangeFeed(Remote(), own=True))  # type: ignore[arg-type]
    for _ in range(20):
        hub.watch(Topic("numbers", read, every=0.001), lambda value, error: None)
    for expected in (1, 2, 3):
        await first(news)
        assert reads == expected
    assert hub.sources == 1
    await hub.close()


async def test_a_closed_hub_leaves_no_source(tmp_path: Path) -> None:
    hub = Hub()
    hub.watch(Topic("numbers", partial(asyncio.sleep, 0, 1)), lambda value, error: None)
    assert hub.sources == 1
    await hub.close()
    assert (hub.sources, len(asyncio.all_tasks())) == (0, 1)
