"""Hooks observe every request, count it by pattern, and trace it without its values."""

from typing import Any

import pytest

from gateleg.store import AsyncStore, Call, Metrics, NotFound, Store, Tracing
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from tests.store.doubles import Ticking
from tests.store.notes import Note, notes, shelf


class Recorder:
    """A hook that records calls."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def before(self, call: Call) -> None:
        self.told.append(("before", call.request.operation, call.request.pattern))

    def after(self, call: Call) -> None:
        self.told.append(("after", call.request.operation, call.request.pattern))


def watched(memory: Store, *hooks: Any) -> Store:
    memory.create_tables(shelf)
    return Store(memory.transport, hooks=hooks)


def test_hook_sees_every_request_before_and_after(memory: Store) -> None:
    recorder = Recorder()
    store = watched(memory, recorder)
    store.put(Note(book="b", number=1))
    store.find(Note, book="b", number=1)
    list(store.query(Note.in_book, book="b"))
    assert recorder.told == [
        (moment, *what)
        for what in [("PutItem", "Note.put"), ("GetItem", "Note.get"), ("Query", "Note.in_book")]
        for moment in ("before", "after")
    ]


async def test_awaited_requests_are_seen_too(memory: Store) -> None:
    memory.create_tables(shelf)
    recorder, metrics = Recorder(), Metrics()
    store = AsyncStore(AsyncEmbeddedTransport(memory.transport.engine), hooks=[recorder, metrics])  # type: ignore[attr-defined]
    await store.put(Note(book="b", number=1))
    assert [note.number async for note in store.query(Note.in_book, book="b")] == [1]
    assert len(recorder.told) == 4
    assert metrics.by_pattern()["Note.in_book", "Query"].items == 1
    await store.close()


def test_capacity_and_items_are_counted_by_pattern(memory: Store) -> None:
    metrics = Metrics()
    store = watched(memory, metrics)
    store.batch_write(notes(10))
    list(store.query(Note.in_book, book="b"))
    list(store.query(Note.in_book, book="b"))
    tally = metrics.by_pattern()["Note.in_book", "Query"]
    assert (tally.requests, tally.items, tally.errors) == (2, 20, 0)
    assert tally.units == 1.0
    assert metrics.by_pattern()["batch_write", "BatchWriteItem"].units >= 10


def test_refusals_are_counted_as_errors(memory: Store) -> None:
    metrics = Metrics()
    store = watched(memory, metrics)
    with pytest.raises(NotFound):
        store.patch(Note.key(book="b", number=1), Note.stars.add(1))
    assert metrics.by_pattern()["Note.patch", "UpdateItem"].errors == 1


def test_time_is_taken_from_the_store(memory: Store) -> None:
    clock, metrics = Ticking(), Metrics()

    class Slow:
        def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            clock.now += 2
            return {}

        def close(self) -> None: ...

    Store(Slow(), hooks=[metrics], ticks=clock).find(Note, book="b", number=1)
    assert metrics.by_pattern()["Note.get", "GetItem"].longest == 2


def test_tallies_begin_again_after_a_reset(memory: Store) -> None:
    metrics = Metrics()
    watched(memory, metrics).find(Note, book="b", number=1)
    assert metrics.reset()
    assert metrics.by_pattern() == {}


class FakeSpan:
    def __init__(self, name: str, attributes: dict[str, Any]) -> None:
        self.name = name
        self.attributes = dict(attributes)
        self.events: list[Any] = []
        self.ended = False

    def set_attribute(self, name: str, value: Any) -> None:
        self.attributes[name] = value

    def add_event(self, name: str, attributes: dict[str, Any]) -> None:
        self.events.append(attributes)

    def end(self) -> None:
        self.ended = True


class FakeTracer:
    def __init__(self) -> None:
        self.spans: list[FakeSpan] = []

    def start_span(self, name: str, attributes: dict[str, Any]) -> FakeSpan:
        self.spans.append(FakeSpan(name, attributes))
        return self.spans[-1]


def test_requests_become_spans_without_values(memory: Store) -> None:
    tracer = FakeTracer()
    store = watched(memory, Tracing(tracer))
    store.put(Note(book="secret", number=1))
    with pytest.raises(NotFound):
        store.patch(Note.key(book="secret", number=2), Note.stars.add(1))
    put, patch = tracer.spans
    assert put.name == "PutItem Note.put"
    assert put.attributes["aws.dynamodb.table_names"] == ["Notes"]
    assert put.attributes["gateleg.capacity_units"] >= 1
    assert patch.attributes["error.type"] == "ConditionalCheckFailedException"
    assert put.ended
    assert patch.ended
    assert "secret" not in repr([(span.attributes, span.events) for span in tracer.spans])
