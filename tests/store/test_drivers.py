"""The sync and async drivers: the same methods and results, timeouts, other transports, closing."""

import asyncio
import inspect
from typing import Any

import pytest

from gateleg.store import AsyncStore, NoAnswer, Store, TimedOut, TransactionCanceled, create, put
from gateleg.store.operations import get, query
from gateleg.store.store import SharedViews
from gateleg.store.transports import AsyncTransport, Transport, Unreachable
from gateleg.store.transports.embedded import open_embedded
from tests.model.seeds.jobs import Job, JobStatus, queue
from tests.store.doubles import Scripted, Ticking, refusal
from tests.store.notes import Draft, Note, notes, shelf

VERBS = [
    name
    for name, member in vars(Store).items()
    if not name.startswith("_") and callable(member) and name not in ("drive", "iterate", "embedded", "connect")
]


@pytest.mark.parametrize("verb", VERBS)
def test_both_stores_have_the_verb_with_the_same_signature(verb: str) -> None:
    ours, theirs = getattr(Store, verb), getattr(AsyncStore, verb)
    assert inspect.signature(ours).parameters.keys() == inspect.signature(theirs).parameters.keys()
    assert inspect.getdoc(ours)
    assert inspect.getdoc(ours) == inspect.getdoc(theirs)


def test_views_are_shared() -> None:
    assert issubclass(Store, SharedViews)
    assert issubclass(AsyncStore, SharedViews)


async def test_async_methods_do_the_same_as_sync_ones(async_store: AsyncStore) -> None:
    store = async_store
    await store.create_tables(shelf, queue)
    await store.batch_write(notes(30))
    assert (await store.get(Note, book="b", number=3)).number == 3
    assert await store.find(Note, book="b", number=300) is None
    assert await store.count(Note.in_book, book="b") == 30
    assert [note.number async for note in store.query(Note.in_book, book="b", limit=3)] == [0, 1, 2]
    first = await store.page(Note.in_book, book="b", limit=20)
    assert len(await store.page(Note.in_book, book="b", limit=20, cursor=first.next)) == 10
    job = await store.create(Job(job_type="PCA", conversation_id="c"))
    assert (await store.patch(job, Job.status.to(JobStatus.CANCELLED))).version == 2
    assert len([item async for item in store.scan(shelf)]) == 30
    assert await store.delete_all(Note.in_book, book="b") == 30


async def test_other_tasks_get_a_turn_between_many_reads() -> None:
    async with AsyncStore.embedded() as store:
        await store.create_tables(shelf)
        await store.put(Note(book="b", number=1))
        turns = 0

        async def read() -> None:
            for _ in range(1_000):
                await store.get(Note, book="b", number=1)

        reading = asyncio.create_task(read())
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1
    assert turns >= 10


async def test_awaited_blocks_send_at_their_end(async_store: AsyncStore) -> None:
    store = async_store
    await store.create_tables(shelf)
    async with store.transaction() as tx:
        tx.create(Draft(book="b", title="t"))
        tx.put(Note(book="b", number=1))
    draft = tx.results[0]
    async with store.batch() as batch:
        batch.put(Note(book="b", number=2))
    async with store.edit(draft) as copy:
        copy.text = "edited"
    assert copy.version == 2
    assert await store.count(Note.in_book, book="b") == 2
    with pytest.raises(TransactionCanceled):
        await store.transact([create(Note(book="b", number=1)), put(Note(book="b", number=3))])
    scoped = store.scope(book="b")
    assert (await scoped.get(Note, number=1)).number == 1


async def test_awaited_operation_is_run_as_a_value(async_store: AsyncStore) -> None:
    await async_store.create_tables(shelf)
    await async_store.run(put(Note(book="b", number=1)))
    assert (await async_store.run(get(Note, book="b", number=1))).number == 1
    assert [note.number async for note in async_store.stream(query(Note.in_book(book="b")))] == [1]


def test_operation_is_run_as_a_value(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.run(put(Note(book="b", number=1)))
    assert memory.run(get(Note, book="b", number=1)).number == 1
    assert [note.number for note in memory.stream(query(Note.in_book(book="b")))] == [1]


def test_remaining_time_is_the_timeout_of_the_transport() -> None:
    clock, transport = Ticking(), Scripted({})
    Store(transport, ticks=clock).within(3).find(Note, book="b", number=1)
    assert transport.calls[0][2] == 3


def test_operation_that_takes_too_long_times_out() -> None:
    clock = Ticking()

    class Slow(Scripted):
        def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            clock.now += 2
            return super().call(operation, request, timeout=timeout)

    more = {"Items": [], "LastEvaluatedKey": {"pk": {"S": "x"}}}
    slow = Slow(more, more, more)
    with pytest.raises(TimedOut, match="3 seconds"):
        list(Store(slow, ticks=clock).within(3).query(Note.in_book, book="b"))
    assert [call[2] for call in slow.calls] == [3, 1]


def test_pause_beyond_the_deadline_is_not_started() -> None:
    clock = Ticking()
    transport = Scripted(*[refusal("TransactionConflictException")] * 20)
    store = Store(transport, ticks=clock, sleep=clock.sleep).within(0.05)
    with pytest.raises(TimedOut):
        store.put(Note(book="b", number=1))
    assert sum(clock.slept) < 0.05


def test_lost_connection_is_a_no_answer_error() -> None:
    with pytest.raises(NoAnswer, match="connection reset") as caught:
        Store(Scripted(Unreachable("connection reset"))).put(Note(book="b", number=1))
    assert isinstance(caught.value.__cause__, Unreachable)


def test_concurrent_requests_keep_their_order(memory: Store) -> None:
    store = Store(memory.transport, concurrency=4)
    store.create_tables(shelf)
    store.batch_write(notes(300))
    found = store.batch_get([Note.key(book="b", number=number) for number in range(300)])
    assert [note.number for note in found if note] == list(range(300))
    assert sorted(note.number for note in store.export(Note, segments=4)) == list(range(300))
    store.close()


def test_store_through_another_transport_has_the_same_setup(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.put(Note(book="b", number=1))
    with open_embedded_store() as other:
        other.create_tables(shelf)
        assert memory.using(other.transport).find(Note, book="b", number=1) is None
        assert memory.using(other.transport).setup is memory.setup


def open_embedded_store() -> Store:
    return Store(open_embedded())


def test_doubles_and_embedded_transports_are_transports(memory: Store) -> None:
    assert isinstance(memory.transport, Transport)
    assert isinstance(AsyncStore.embedded().transport, AsyncTransport)


def test_iteration_can_be_left_early(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.batch_write(notes(30))
    found = memory.query(Note.in_book, book="b", page_size=5)
    assert next(found).number == 0
    found.close()  # type: ignore[attr-defined]
    assert memory.count(Note.in_book, book="b") == 30
