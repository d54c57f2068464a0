"""The sync and async drivers: the same methods and results, timeouts, other transports, closing."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from random import Random
from typing import Any

import pytest

from gateleg.store import (
    AsyncBatch,
    AsyncLoader,
    AsyncStore,
    AsyncTransaction,
    Batch,
    Call,
    Loader,
    NoAnswer,
    Store,
    TimedOut,
    Transaction,
    TransactionCanceled,
    create,
    put,
)
from gateleg.store.operations import get, query, transact
from gateleg.store.operations.operation import batch_write_flow
from gateleg.store.transports import AsyncTransport, Transport, Unreachable
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport, open_embedded
from gateleg.store.transports.http import AsyncWireTransport, WireTransport
from tests.model.seeds.jobs import Job, JobStatus, queue
from tests.store.doubles import Answer, Scripted, Ticking, refusal
from tests.store.notes import Draft, Note, notes, shelf


def _public(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


#: the methods that read and write, each of which both stores define
VERBS = [name for name in _public(Store) if callable(vars(Store).get(name)) and name not in ("drive", "iterate")]
TWINS: list[tuple[type, type]] = [
    (Store, AsyncStore),
    (Loader, AsyncLoader),
    (Transaction, AsyncTransaction),
    (Batch, AsyncBatch),
    (WireTransport, AsyncWireTransport),
    (EmbeddedTransport, AsyncEmbeddedTransport),
]
#: of the sync transport only: workers prepare requests for a group commit with it
ALONE = {"prepare_call"}


@pytest.mark.parametrize(("ours", "theirs"), TWINS, ids=lambda kind: kind.__name__)
def test_sync_and_async_classes_have_the_same_methods(ours: type, theirs: type) -> None:
    assert [name for name in _public(ours) if name not in ALONE] == _public(theirs)
    for name in _public(theirs):
        method, awaited = getattr(ours, name), getattr(theirs, name)
        assert inspect.signature(method).parameters.keys() == inspect.signature(awaited).parameters.keys(), name
        assert inspect.getdoc(method), name
        if ours is Store:
            assert inspect.getdoc(method) == (inspect.getdoc(awaited) or "").replace("async with", "with"), name


class AsyncScripted(Scripted):
    """As `Scripted`, awaited."""

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:  # type: ignore[override]
        return super().call(operation, request, timeout=timeout)


class Watching:
    """A hook that records what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def before(self, call: Call) -> None:
        self.seen.append(("before", call.request.operation, call.request.retries))

    def after(self, call: Call) -> None:
        self.seen.append(("after", call.request.operation, call.items, call.units, type(call.error)))


ITEM = {
    "pk": {"S": "BOOK#b"},
    "sk": {"S": "NOTE#000001"},
    "book": {"S": "b"},
    "number": {"N": "1"},
    "text": {"S": ""},
    "kind": {"S": "note"},
}
MORE = {"Items": [ITEM], "Count": 1, "LastEvaluatedKey": {"pk": {"S": "x"}}}
CONFLICT = refusal("TransactionConflictException")
LOST = Unreachable("connection reset")
REFS = [Note.key(book="b", number=number) for number in range(150)]

#: what to do with a store, and how its transport answers
SCRIPTS: dict[str, tuple[Callable[[Any], Any], list[Answer]]] = {
    "one request": (lambda store: store.put(Note(book="b", number=1)), [{}]),
    "nothing there": (lambda store: store.find(Note, book="b", number=1), [{}]),
    "an error of the operation": (lambda store: store.get(Note, book="b", number=1), [{}]),
    "a refusal": (lambda store: store.create(Note(book="b", number=1)), [refusal("ConditionalCheckFailedException")]),
    "an unknown refusal": (lambda store: store.find(Note, book="b", number=1), [refusal("Odd")]),
    "no answer": (lambda store: store.find(Note, book="b", number=1), [LOST]),
    "retries": (lambda store: store.put(Note(book="b", number=1)), [CONFLICT, CONFLICT, {}]),
    "too many retries": (lambda store: store.put(Note(book="b", number=1)), [CONFLICT] * 20),
    "a lost connection in a retry": (lambda store: store.put(Note(book="b", number=1)), [CONFLICT, LOST]),
    "several requests": (lambda store: store.count(Note.in_book, book="b"), [MORE, {"Items": [], "Count": 0}]),
    "an error of a later request": (lambda store: store.count(Note.in_book, book="b"), [MORE, LOST]),
    "requests at once": (lambda store: store.batch_get(REFS), [{"Responses": {}}, {"Responses": {}}]),
    "an error of one of several": (lambda store: store.batch_get(REFS), [{"Responses": {}}, LOST]),
    "an operation as a value": (lambda store: store.run(transact([put(Note(book="b", number=1))])), [{}]),
    "a stream": (lambda store: store.query(Note.in_book, book="b"), [MORE, {"Items": [ITEM], "Count": 1}]),
    "a stream that fails": (lambda store: store.query(Note.in_book, book="b"), [MORE, refusal("Odd")]),
    "a stream as a value": (lambda store: store.stream(query(Note.in_book(book="b"))), [{"Items": [ITEM], "Count": 1}]),
    "a flow": (lambda store: store.drive(batch_write_flow({}, store.setup, "none")), []),
    "outside of the scope": (lambda store: store.scope(book="c").get(Note, book="b", number=1), []),
}
OPTIONS: dict[str, dict[str, Any]] = {"plain": {}, "timeout": {"timeout": 3}, "short timeout": {"timeout": 0.02}}


async def trace(kind: Any, script: str, options: str, watched: bool) -> tuple[Any, ...]:
    """All that a script does to a store: its items or its result, its error, the requests that were sent, the pauses, what hooks saw."""
    act, answers = SCRIPTS[script]
    hook, clock = Watching(), Ticking()

    async def sleep(seconds: float) -> None:
        clock.sleep(seconds)

    awaited = kind is AsyncStore
    transport: Any = (AsyncScripted if awaited else Scripted)(*answers)
    members: dict[str, Any] = {"clock": clock, "ticks": clock, "random": Random(7), "hooks": [hook] if watched else []}
    store: Any = kind(transport, sleep=sleep if awaited else clock.sleep, **members, **OPTIONS[options])
    items: list[Any] = []
    result: Any = None
    try:
        result = act(store)
        if awaited and isinstance(result, Awaitable):
            result = await result
        elif isinstance(result, AsyncIterator):
            async for item in result:
                items.append(item)  # noqa: PERF401 -- those before an error count too
        elif isinstance(result, Iterator):
            items.extend(result)
    except Exception as error:
        outcome: Any = (type(error), str(error), type(error.__cause__))
    else:
        outcome = items or result
    return items, outcome, transport.calls, transport.answers, clock.slept, hook.seen


@pytest.mark.parametrize("watched", [False, True], ids=["direct", "hooks"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("script", SCRIPTS)
async def test_both_drivers_do_the_same(script: str, options: str, watched: bool) -> None:
    assert await trace(Store, script, options, watched) == await trace(AsyncStore, script, options, watched)


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
