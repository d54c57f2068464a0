"""Consuming streams: every change at least once and in order, by one process at a time, from where the last one stopped."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine import Engine
from gateleg.engine.changelog import SHARD_SECONDS
from gateleg.jobs import ManualClock
from gateleg.jobs.errors import BadHandler, HandlerTaken
from gateleg.jobs.table_streams import ShardLease, StreamConsumer, TableStreams, stream_table
from gateleg.jobs.table_streams.shards import LeaseTaken
from gateleg.model import TTL, Attr, Change, Entity, Key, Table, field
from gateleg.store import AsyncStore
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from tests.store import libraries
from tests.store.transports.openers import ASYNC_NETWORK

orders = Table("Orders", hash="order", stream="NEW_AND_OLD_IMAGES")


class Order(Entity, table=orders):
    order: Attr[str]
    state: Attr[str] = field("new")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{order}")


class Heard:
    """Handlers that note what they are called with."""

    def __init__(self, **options: Any) -> None:
        self.changes: list[Change] = []
        self.refused: Callable[[Change], bool] = lambda change: False
        self.streams = TableStreams(**options)
        self.streams.on(Order)(self.note)

    async def note(self, change: Change) -> None:
        if self.refused(change):
            raise ConnectionError("not now")
        self.changes.append(change)

    @property
    def told(self) -> list[tuple[str, str, str | None]]:
        return [(one.kind, one.key["order"]["S"], getattr(one.after, "state", None)) for one in self.changes]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(clock: ManualClock) -> Any:
    with Engine(":memory:", clock=clock, background=False) as opened:
        yield opened


@pytest.fixture
async def store(engine: Engine, clock: ManualClock) -> AsyncIterator[AsyncStore]:
    async with AsyncStore(AsyncEmbeddedTransport(engine), clock=clock, ticks=clock) as opened:
        await opened.create_tables(orders, stream_table)
        yield opened


async def no_pause(seconds: float) -> None:
    """Nobody waits in a test."""


def consumer(store: AsyncStore, heard: Heard, process: str = "p1", **options: Any) -> StreamConsumer:
    return StreamConsumer(store, heard.streams, "shop", process=process, sleep=no_pause, **options)


async def write(store: AsyncStore, *numbers: int) -> None:
    for number in numbers:
        await store.put(Order(order=f"o{number}"))


async def lease(store: AsyncStore) -> ShardLease:
    (found,) = [one async for one in store.query(ShardLease.of_consumer, consumer="shop")]
    return found


async def test_changes_come_in_order_with_what_was_and_what_is(store: AsyncStore) -> None:
    heard = Heard()
    order = await store.put(Order(order="a"))
    await store.patch(order, Order.state.set("paid"))
    await store.delete(order)
    assert await consumer(store, heard).round() == 3
    assert heard.told == [("created", "a", "new"), ("changed", "a", "paid"), ("deleted", "a", None)]
    assert [getattr(one.before, "state", None) for one in heard.changes] == [None, "new", "paid"]
    assert len({one.event_id for one in heard.changes} - {""}) == 3


async def test_another_run_goes_on_after_the_checkpoint(store: AsyncStore) -> None:
    first, second = Heard(), Heard()
    await write(store, 1, 2)
    await consumer(store, first).round()
    await write(store, 3)
    assert await consumer(store, second).round() == 1
    assert [name for _, name, _ in second.told] == ["o3"]
    assert (await lease(store)).handled == 3


async def test_two_names_read_the_same_stream_independently(store: AsyncStore) -> None:
    one, other = Heard(), Heard()
    await write(store, 1)
    await consumer(store, one).round()
    await StreamConsumer(store, other.streams, "audit").round()
    assert one.told == other.told


async def test_a_shard_has_one_reader(store: AsyncStore, clock: ManualClock) -> None:
    one, other = Heard(), Heard()
    first, second = consumer(store, one), consumer(store, other, "p2")
    await write(store, 1)
    await first.round()
    await second.round()
    await write(store, 2)
    clock.advance(20)
    assert await second.round() == 0
    await first.round()
    assert ([name for _, name, _ in one.told], other.told) == (["o1", "o2"], [])


async def test_a_shard_whose_reader_is_lost_is_taken_and_the_lost_one_changes_nothing(store: AsyncStore, clock: ManualClock) -> None:
    one, other = Heard(), Heard()
    first, second = consumer(store, one), consumer(store, other, "p2")
    await write(store, 1)
    await first.round()
    assert await second.round() == 0
    (held,) = first._held.values()
    await write(store, 2)
    clock.advance(31)
    assert await second.round() == 1
    assert (await lease(store)).owner == "p2"
    with pytest.raises(LeaseTaken):
        await first._leases.checkpoint(held, "1", 1)
    await write(store, 3)
    assert await first.round() == 0
    await second.round()
    assert [name for _, name, _ in other.told] == ["o2", "o3"]


async def test_the_parent_shard_is_read_before_its_child(store: AsyncStore, engine: Engine, clock: ManualClock) -> None:
    heard = Heard()
    await write(store, 1)
    clock.advance(SHARD_SECONDS + 1)
    await write(store, 2)
    described = engine.call("ListStreams", {})["Streams"][0]["StreamArn"]
    shards = engine.call("DescribeStream", {"StreamArn": described})["StreamDescription"]["Shards"]
    assert len(shards) == 2
    await consumer(store, heard, batch=1).round()
    assert [name for _, name, _ in heard.told] == ["o1", "o2"]
    leases = {one.shard: one async for one in store.query(ShardLease.of_consumer, consumer="shop")}
    assert [leases[one["ShardId"]].done for one in shards] == [True, False]


async def test_a_child_waits_while_another_process_reads_its_parent(store: AsyncStore, clock: ManualClock) -> None:
    one, other = Heard(), Heard()
    first = consumer(store, one)
    await write(store, 1)
    await first._take_free()
    clock.advance(SHARD_SECONDS + 1)
    await write(store, 2)
    second = consumer(store, other, "p2", lease_seconds=10 * SHARD_SECONDS)
    assert await second.round() == 0


async def test_a_change_that_a_handler_refuses_is_kept_and_repeated(store: AsyncStore, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard(attempts=2)
    tries = 0

    def refused(change: Change) -> bool:
        nonlocal tries
        bad = bool(change.key["order"]["S"] == "o2")
        tries += bad
        return bad

    heard.refused = refused
    await write(store, 1, 2, 3)
    reading = consumer(store, heard)
    with caplog.at_level(logging.CRITICAL, "gateleg.jobs.streams"):
        assert await reading.round() == 3
        assert ([name for _, name, _ in heard.told], tries) == (["o1", "o3"], 2)
        (kept,) = [one async for one in reading.failed()]
        assert (kept.handler, kept.attempts, kept.error) == ("note", 2, "ConnectionError: not now")
        assert await reading.repeat_failed() == 0
        assert [one.attempts async for one in reading.failed()] == [3]
    heard.refused = lambda change: False
    assert await reading.repeat_failed(kept.event_id) == 1
    assert heard.told[-1] == ("created", "o2", "new")
    assert [one async for one in reading.failed()] == []


async def test_a_change_that_cannot_be_read_is_kept_too(store: AsyncStore, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    await store.transport.call("PutItem", {"TableName": "Orders", "Item": {"order": {"S": "bad"}, "state": {"N": "1"}}})
    await write(store, 1)
    reading = consumer(store, heard)
    with caplog.at_level(logging.CRITICAL, "gateleg.jobs.streams"):
        await reading.round()
    assert [name for _, name, _ in heard.told] == ["o1"]
    assert ["state" in one.error async for one in reading.failed()] == [True]


async def test_deletions_by_ttl_reach_their_handlers_and_are_marked(store: AsyncStore, engine: Engine, clock: ManualClock) -> None:
    heard, expired, deleted = Heard(), [], []

    async def on_expiry(change: Change) -> None:
        expired.append(change)

    async def on_deletion(change: Change) -> None:
        deleted.append(change)

    heard.streams.on(Order, expired=True)(on_expiry)
    heard.streams.on(Order, expired=False)(on_deletion)
    await store.put(Order(order="a", expires_at=store.setup.now() + timedelta(seconds=5)))
    await store.delete(await store.put(Order(order="b")))
    clock.advance(60)
    engine.maintain()
    await consumer(store, heard).round()
    assert [(one.key["order"]["S"], one.expired, getattr(one.before, "state", None)) for one in expired] == [("a", True, "new")]
    assert [one.key["order"]["S"] for one in deleted] == ["b"]


@pytest.mark.parametrize(("hours", "reported"), [(25, "changes of Orders after"), (40, "a shard of Orders has expired unread")])
async def test_records_that_are_gone_are_reported_and_the_rest_is_read(
    store: AsyncStore, engine: Engine, clock: ManualClock, caplog: pytest.LogCaptureFixture, hours: int, reported: str
) -> None:
    heard = Heard()
    await write(store, 1)
    await consumer(store, heard).round()
    await write(store, 2)
    clock.advance(timedelta(hours=hours).total_seconds())
    await write(store, 3)
    with caplog.at_level(logging.ERROR, "gateleg.jobs.streams"):
        await consumer(store, heard).round()
        await consumer(store, heard).round()
    assert [name for _, name, _ in heard.told] == ["o1", "o3"]
    (record,) = caplog.records
    assert reported in record.getMessage()


async def test_a_move_to_the_present_key_is_no_deletion(clock: ManualClock) -> None:
    heard: list[Change] = []
    table = libraries.documents
    object.__setattr__(table, "stream", "NEW_AND_OLD_IMAGES")
    try:
        streams = TableStreams()

        @streams.on(libraries.Document)
        async def note(change: Change) -> None:
            heard.append(change)

        async with AsyncStore.embedded(clock=clock, ticks=clock) as store:
            await store.create_tables(table, libraries.repositories, stream_table)
            await store.put(libraries.Repository(repository_id="r", model="titan"))
            one = libraries.Document(document_id="d", repository_id="r", collection_id="titan", upload_date=1)
            await store.transport.call("PutItem", {"TableName": "Documents", "Item": libraries.old_item(one)})
            await store.patch(one, libraries.Document.note.set("x"))
            await StreamConsumer(store, streams, "c").round()
    finally:
        object.__setattr__(table, "stream", None)
    assert [(change.kind, getattr(change.after, "collection_id", None)) for change in heard] == [
        ("created", "titan"),
        ("created", "titan"),
        ("changed", "titan"),
    ]


async def test_a_consumer_runs_over_the_wire_until_it_is_stopped(tmp_path: Path) -> None:
    heard = Heard()
    with ExitStack() as stack:
        async with ASYNC_NETWORK["wire"](stack, tmp_path) as store:
            await store.create_tables(orders)
            await write(store, 1, 2)
            running = StreamConsumer(store, heard.streams, "shop")

            async def stop_at_the_last(change: Change) -> None:
                if change.key["order"]["S"] == "o2":
                    running.stop()

            heard.streams.on(Order)(stop_at_the_last)
            await running.run()
            assert [name for _, name, _ in heard.told] == ["o1", "o2"]
            assert ((await lease(store)).owner, (await lease(store)).handled) == ("", 2)


async def test_a_consumer_that_is_stopped_in_the_middle_leaves_the_rest(store: AsyncStore) -> None:
    heard, rest = Heard(), Heard()
    await write(store, 1, 2, 3)
    running = consumer(store, heard)

    async def stop(change: Change) -> None:
        running.stop()

    heard.streams.on(Order)(stop)
    await running.run()
    assert [name for _, name, _ in heard.told] == ["o1"]
    await consumer(store, rest, "p2").round()
    assert [name for _, name, _ in rest.told] == ["o2", "o3"]


def test_handlers_that_cannot_work_are_refused() -> None:
    class Plain(Entity, table=Table("Plain", hash="id")):
        id: Attr[str]
        key = Key("{id}")

    streams = TableStreams()

    async def handle(change: Change) -> None:
        """Do nothing."""

    with pytest.raises(BadHandler, match="stream="):
        streams.on(Plain)(handle)
    with pytest.raises(BadHandler, match="async"):
        streams.on(Order)(lambda change: None)  # type: ignore[type-var]
    streams.on(Order)(handle)
    with pytest.raises(HandlerTaken, match="name="):
        streams.on(Order)(handle)
