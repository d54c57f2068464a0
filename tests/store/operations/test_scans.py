"""Whole tables: segments, progress, rates."""

import pytest

from gateleg.store import Store
from gateleg.store.flow import Request, StreamedItems, Together
from gateleg.store.operations import ScanProgress, export, scan
from tests.store.doubles import Answer, Ticking, play, quiet_setup
from tests.store.notes import Draft, Note, Title, notes, shelf, titles


@pytest.fixture
def filled(memory: Store) -> Store:
    memory.create_tables(shelf, titles)
    memory.batch_write(notes(50))
    memory.create(Draft(book="b", title="d"))
    return memory


@pytest.mark.parametrize("segments", [1, 4])
def test_export_gives_every_item_of_the_entity_once(filled: Store, segments: int) -> None:
    found = list(filled.export(Note, segments=segments))
    assert sorted(note.number for note in found) == list(range(50))


def test_scan_returns_all_wire_items(filled: Store) -> None:
    assert len(list(filled.scan(shelf, page_size=7))) == 51


def test_markers_of_unique_values_are_left_out(filled: Store) -> None:
    filled.create(Title(id="1", title="Ulysses"))
    assert [item["id"] for item in filled.scan(titles)] == [{"S": "1"}]
    assert [title.id for title in filled.export(Title)] == ["1"]


def test_scan_can_be_filtered(filled: Store) -> None:
    assert len(list(filled.export(Note, filter=Note.number >= 45))) == 5


def test_interrupted_scan_can_be_resumed(filled: Store) -> None:
    progress = ScanProgress.fresh(2)
    before = []
    for number, item in enumerate(filled.scan(shelf, progress=progress, page_size=5)):
        before.append(item)
        if number == 22:
            break
    assert progress.starts
    after = list(filled.scan(shelf, progress=progress, page_size=5))
    seen = {item["sk"]["S"] for item in before} | {item["sk"]["S"] for item in after}
    assert len(seen) == 51
    assert progress.starts == {}


def test_segments_are_read_concurrently() -> None:
    played = play(scan(shelf, segments=4).flow(quiet_setup(concurrency=4)), lambda request: {"Items": []})
    (step,) = [step for step in played.steps if isinstance(step, Together)]
    assert [request.payload["Segment"] for request in step.requests] == [0, 1, 2, 3]


def test_scan_waits_for_the_capacity_it_has_used() -> None:
    clock = Ticking()
    pages: list[Answer] = [
        {"Items": [], "ConsumedCapacity": {"CapacityUnits": 25.0}, "LastEvaluatedKey": {"pk": {"S": "x"}}},
        {"Items": [], "ConsumedCapacity": {"CapacityUnits": 5.0}},
    ]
    played = play(scan(shelf, read_units=10).flow(quiet_setup(ticks=clock)), pages)
    assert played.pauses == [2.5, 3.0]
    assert played.requests[0].payload["ReturnConsumedCapacity"] == "TOTAL"


def test_time_that_has_passed_is_not_waited_for_again() -> None:
    clock = Ticking()

    def slow(request: Request) -> Answer:
        clock.now += 10
        return {"Items": [], "ConsumedCapacity": {"CapacityUnits": 5.0}} | (
            {} if "ExclusiveStartKey" in request.payload else {"LastEvaluatedKey": {"pk": {"S": "x"}}}
        )

    assert play(scan(shelf, read_units=10).flow(quiet_setup(ticks=clock)), slow).pauses == [0.5, 0.5]


def test_deletes_wait_for_the_capacity_they_have_used(memory: Store) -> None:
    clock = Ticking()
    store = Store(memory.transport, ticks=clock, sleep=clock.sleep)
    store.create_tables(shelf)
    store.batch_write(notes(50))
    store.delete_all(Note.in_book, book="b", write_units=10)
    assert sum(clock.slept) >= 50 / 10
    assert store.count(Note.in_book, book="b") == 0


def test_progress_is_updated_only_after_the_whole_page_was_taken() -> None:
    progress = ScanProgress.fresh()
    flow = export(Note, progress=progress).flow(quiet_setup())
    next(flow)
    found = flow.send([{"Items": [], "LastEvaluatedKey": {"pk": {"S": "x"}}}])
    assert isinstance(found, StreamedItems)
    assert progress.starts == {0: None}
    flow.send(None)
    assert progress.starts == {0: {"pk": {"S": "x"}}}
