"""Batches: chunks, order, repeats and unprocessed items."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import Backoff
from gateleg.store import Store, Throttled
from gateleg.store.errors import NotBatchable
from gateleg.store.flow import Request, Together
from gateleg.store.operations import batch_get, batch_write
from tests.store.doubles import Answer, play, quiet_setup, refusal
from tests.store.notes import Draft, Note, Title, notes, shelf, titles


def stored(request: Request) -> dict[str, Any]:
    """A response with all requested items, in reverse order."""
    keys = request.payload["RequestItems"]["Notes"]["Keys"]
    items = [{**key, "book": {"S": "b"}, "number": {"N": str(int(key["sk"]["S"][5:]))}, "kind": {"S": "note"}} for key in keys]
    return {"Responses": {"Notes": items[::-1]}, "UnprocessedKeys": {}}


def numbers(found: list[Note | None]) -> list[int | None]:
    return [None if note is None else note.number for note in found]


def test_keys_are_read_by_the_hundred_and_returned_in_order() -> None:
    refs = [note.key for note in notes(250)]
    played = play(batch_get(refs).flow(quiet_setup()), stored)
    assert [len(request.payload["RequestItems"]["Notes"]["Keys"]) for request in played.requests] == [100, 100, 50]
    assert numbers(played.result) == list(range(250))


def test_requests_are_sent_concurrently_up_to_the_limit() -> None:
    played = play(batch_get([note.key for note in notes(500)]).flow(quiet_setup(concurrency=3)), stored)
    assert [len(step.requests) for step in played.steps if isinstance(step, Together)] == [3, 2]


def test_repeated_keys_are_read_once() -> None:
    refs = [notes(1)[0].key] * 3
    played = play(batch_get(refs).flow(quiet_setup()), stored)
    assert len(played.requests[0].payload["RequestItems"]["Notes"]["Keys"]) == 1
    assert numbers(played.result) == [0, 0, 0]


def test_unprocessed_keys_are_retried_after_a_pause() -> None:
    def half(request: Request) -> dict[str, Any]:
        keys = request.payload["RequestItems"]["Notes"]["Keys"]
        answer = stored(request)
        if len(keys) > 1:
            answer["Responses"]["Notes"] = answer["Responses"]["Notes"][len(keys) // 2 :]
            answer["UnprocessedKeys"] = {"Notes": {"Keys": keys[len(keys) - len(keys) // 2 :]}}
        return answer

    played = play(batch_get([note.key for note in notes(8)]).flow(quiet_setup()), half)
    assert numbers(played.result) == list(range(8))
    assert len(played.pauses) == len(played.requests) - 1 == 3


def test_batch_without_progress_is_an_error() -> None:
    def nothing(request: Request) -> dict[str, Any]:
        return {"Responses": {}, "UnprocessedKeys": request.payload["RequestItems"]}

    with pytest.raises(Throttled, match="3 of 3") as caught:
        play(batch_get([note.key for note in notes(3)]).flow(quiet_setup(backoff=Backoff(tries=2))), nothing)
    assert caught.value.unprocessed == 3


def test_throttled_chunk_counts_as_unprocessed() -> None:
    answers: list[Answer] = [refusal("ProvisionedThroughputExceededException"), {"UnprocessedItems": {}}]
    played = play(batch_write(notes(2)).flow(quiet_setup()), answers)
    assert played.result == 2
    assert len(played.pauses) == 1


def test_writes_are_sent_in_batches_of_twenty_five() -> None:
    played = play(batch_write(notes(60)).flow(quiet_setup()), lambda request: {"UnprocessedItems": {}})
    assert [len(request.payload["RequestItems"]["Notes"]) for request in played.requests] == [25, 25, 10]


def test_unprocessed_writes_are_retried() -> None:
    def once(request: Request) -> dict[str, Any]:
        entries = request.payload["RequestItems"]["Notes"]
        return {"UnprocessedItems": {"Notes": entries[1:]} if len(entries) > 1 else {}}

    played = play(batch_write(notes(3), deletes=[Note.key(book="b", number=9)]).flow(quiet_setup()), once)
    assert [len(request.payload["RequestItems"]["Notes"]) for request in played.requests] == [4, 3, 2, 1]
    assert played.requests[-1].payload["RequestItems"]["Notes"][0]["DeleteRequest"]["Key"]["sk"] == {"S": "NOTE#00009"}


@given(count=st.integers(0, 120), seed=st.integers(), concurrency=st.integers(1, 4))
def test_with_any_unprocessed_writes_all_are_written_once(count: int, seed: int, concurrency: int) -> None:
    chance = random.Random(seed)
    done: list[str] = []

    def answer(request: Request) -> Answer:
        if chance.random() < 0.1:
            return refusal("ThrottlingException")
        entries = request.payload["RequestItems"]["Notes"]
        kept = chance.randint(1, len(entries))
        chance.shuffle(entries)
        done.extend(entry["PutRequest"]["Item"]["sk"]["S"] for entry in entries[:kept])
        return {"UnprocessedItems": {"Notes": entries[kept:]} if kept < len(entries) else {}}

    setup = quiet_setup(concurrency=concurrency, backoff=Backoff(tries=1000, longest=0.001))
    assert play(batch_write(notes(count)).flow(setup), answer).result == count
    assert sorted(done) == [f"NOTE#{number:05}" for number in range(count)]


def test_last_write_of_an_item_counts(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.batch_write([Note(book="b", number=1, text="old"), Note(book="b", number=1, text="new")])
    assert memory.get(Note, book="b", number=1).text == "new"


def test_several_tables_go_into_one_batch(memory: Store) -> None:
    memory.create_tables(shelf, titles)
    memory.create(Title(id="t"))
    memory.put(Note(book="b", number=1))
    found = memory.batch_get([Title.key(id="t"), Note.key(book="b", number=1), Title.key(id="none")])
    assert [type(each) for each in found] == [Title, Note, type(None)]


def test_versioned_items_go_into_a_batch_only_unchecked(memory: Store) -> None:
    memory.create_tables(shelf)
    with pytest.raises(NotBatchable):
        memory.batch_write([Draft(book="b", title="t")])
    assert memory.batch_write([Draft(book="b", title="t")], check_version=False) == 1


def test_nothing_of_a_batch_is_sent_when_the_block_raises(memory: Store) -> None:
    memory.create_tables(shelf)
    batch = memory.batch()

    def fail_inside() -> None:
        with batch:
            batch.put(Note(book="b", number=1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    assert memory.count(Note.in_book, book="b") == 0
    assert batch.results is None


def test_batch_block_sends_puts_and_deletes_at_its_end(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.put(Note(book="b", number=1))
    with memory.batch() as batch:
        batch.put(Note(book="b", number=2))
        batch.delete(Note.key(book="b", number=1))
    assert batch.results == 2
    assert [note.number for note in memory.query(Note.in_book, book="b")] == [2]


def test_empty_batches_send_nothing() -> None:
    assert play(batch_get([]).flow(quiet_setup()), []).result == []
    assert play(batch_write([]).flow(quiet_setup()), []).result == 0
