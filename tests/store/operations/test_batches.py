"""Batches: chunks, order, repeats and unprocessed items. Transactions: order, tokens, retries, limits and reasons."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import Backoff
from gateleg.store import (
    AlreadyExists,
    ConditionFailed,
    LostRace,
    NotFound,
    Store,
    Throttled,
    TooLarge,
    TransactionCanceled,
    TransactionConflict,
    UniqueTaken,
    check,
    create,
    delete,
    patch,
    put,
)
from gateleg.store.errors import DuplicateTarget, NotAnOperation, NotBatchable, NotReturned, TooMany
from gateleg.store.flow import Request, Together
from gateleg.store.operations import batch_get, batch_write, transact
from gateleg.store.transports import ServiceError
from tests.store.doubles import Answer, Scripted, play, quiet_setup, refusal
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


@pytest.fixture
def tables(memory: Store) -> Store:
    memory.create_tables(shelf, titles)
    return memory


def test_an_instance_in_a_transaction_is_an_error_with_advice(tables: Store) -> None:
    with pytest.raises(NotAnOperation, match=r"not an instance of Note\. .*create\(item\)"):
        tables.transact(notes(1, "b"))  # type: ignore[arg-type]


def canceled(*codes: str) -> ServiceError:
    return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])


def test_operations_keep_call_order() -> None:
    operations = [
        delete(Note.key(book="b", number=3)),
        put(Note(book="b", number=1)),
        check(Note.key(book="b", number=4), Note.stars > 0),
        patch(Note.key(book="b", number=2), Note.stars.add(1)),
    ]
    played = play(transact(operations).flow(quiet_setup()), [{}])
    assert [next(iter(entry)) for entry in played.requests[0].payload["TransactItems"]] == ["Delete", "Put", "ConditionCheck", "Update"]


def test_every_transaction_has_a_token_that_its_repetitions_share() -> None:
    setup = quiet_setup()
    played = play(transact([put(Note(book="b", number=1))]).flow(setup), [canceled("TransactionConflict"), {}])
    tokens = {request.payload["ClientRequestToken"] for request in played.requests}
    assert len(tokens) == 1
    assert len(played.pauses) == 1
    other = play(transact([put(Note(book="b", number=1))]).flow(setup), [{}])
    assert other.requests[0].payload["ClientRequestToken"] not in tokens


def test_token_can_be_given() -> None:
    played = play(transact([put(Note(book="b", number=1))], token="mine").flow(quiet_setup()), [{}])
    assert played.requests[0].payload["ClientRequestToken"] == "mine"


def test_conflicts_without_end_are_a_transaction_conflict() -> None:
    answers = [canceled("TransactionConflict", "None")] * 3
    store = Store(Scripted(*answers), sleep=lambda seconds: None, backoff=Backoff(tries=2))
    with pytest.raises(TransactionCanceled) as caught:
        store.transact([put(Note(book="b", number=1)), put(Note(book="b", number=2))])
    assert [type(reason) for reason in caught.value.reasons] == [TransactionConflict, type(None)]


def test_reasons_are_typed_and_in_call_order(tables: Store) -> None:
    tables.put(Note(book="b", number=1))
    draft = tables.create(Draft(book="b", title="d"))
    tables.patch(draft, Draft.text.set("newer"))
    with pytest.raises(TransactionCanceled, match="The transaction was refused") as caught:
        tables.transact(
            [
                put(Note(book="b", number=7)),
                create(Note(book="b", number=1)),
                patch(Note.key(book="b", number=404), Note.stars.add(1)),
                patch(draft, Draft.text.set("older")),
                check(Note.key(book="b", number=2), Note.stars > 5),
            ]
        )
    kinds = [type(reason) for reason in caught.value.reasons]
    assert kinds == [type(None), AlreadyExists, NotFound, LostRace, ConditionFailed]
    lost = caught.value.reasons[3]
    assert isinstance(lost, LostRace)
    assert lost.current.text == "newer"
    assert tables.find(Note, book="b", number=7) is None


def test_unique_values_are_named_when_a_transaction_fails_on_them(tables: Store) -> None:
    tables.create(Title(id="1", title="Ulysses"))
    with pytest.raises(TransactionCanceled) as caught:
        tables.transact([put(Note(book="b", number=1)), create(Title(id="2", title="Ulysses"))])
    reason = caught.value.reasons[1]
    assert isinstance(reason, UniqueTaken)
    assert reason.constraint == "Title.once"


def test_single_write_with_companions_raises_its_own_error(tables: Store) -> None:
    tables.create(Title(id="1", title="Ulysses"))
    with pytest.raises(AlreadyExists):
        tables.create(Title(id="1", title="Dubliners"))
    with pytest.raises(UniqueTaken):
        tables.create(Title(id="2", title="Ulysses"))


def test_patch_with_companions_returns_the_stored_item(tables: Store) -> None:
    made = tables.create(Title(id="1", title="Ulysses"))
    assert tables.patch(made, Title.title.set("Dubliners"), Title.text.set("x")).text == "x"
    assert tables.patch(tables.get(made), Title.title.set("Exiles"), returning="none") is None
    with pytest.raises(NotReturned):
        tables.patch(tables.get(made), Title.title.set("Stephen Hero"), returning="old")
    assert tables.delete(tables.get(made), returning="old") is not None


def test_more_than_a_hundred_writes_are_refused_before_sending() -> None:
    with pytest.raises(TooMany, match="101"):
        play(transact([put(note) for note in notes(101)]).flow(quiet_setup()), [])


def test_markers_count_towards_the_limit() -> None:
    with pytest.raises(TooMany, match="102"):
        play(transact([create(Title(id=str(number), title=str(number))) for number in range(51)]).flow(quiet_setup()), [])


def test_more_than_four_megabytes_are_refused_before_sending() -> None:
    large = notes(12, text="x" * 390_000)
    with pytest.raises(TooLarge) as caught:
        play(transact([put(note) for note in large]).flow(quiet_setup()), [])
    assert caught.value.limit == 4 * 1024 * 1024


def test_two_writes_of_one_item_are_refused_before_the_wire() -> None:
    operations = [put(Note(book="b", number=1)), delete(Note.key(book="b", number=1))]
    with pytest.raises(DuplicateTarget, match=r"Operations 1 and 2 both write Note"):
        play(transact(operations).flow(quiet_setup()), [])


def test_nothing_is_written_when_the_block_raises(tables: Store) -> None:
    def fail_inside() -> None:
        with tables.transaction() as tx:
            tx.put(Note(book="b", number=1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_inside()
    assert tables.count(Note.in_book, book="b") == 0


def test_block_has_results_in_call_order(tables: Store) -> None:
    tables.put(Note(book="b", number=1))
    with tables.transaction() as tx:
        tx.patch(Note.key(book="b", number=1), Note.stars.set(3))
        tx.create(Draft(book="b", title="d"))
        tx.check(Note.key(book="b", number=2), Note.book.missing())
        tx.upsert(Note.key(book="b", number=5), Note.stars.set(1), Note.topic.set("t"))
        tx.delete(Note.key(book="b", number=4))
    assert [getattr(result, "version", None) for result in tx.results] == [None, 1, None, None, None]
    assert tables.get(Note, book="b", number=1).stars == 3


def test_items_are_read_in_one_transaction_and_missing_ones_are_none(tables: Store) -> None:
    tables.put(Note(book="b", number=1))
    refs = [Note.key(book="b", number=2), Note.key(book="b", number=1)]
    found = tables.transact_get(refs)
    assert [None if note is None else note.number for note in found] == [None, 1]


def test_single_check_is_a_transaction(tables: Store) -> None:
    tables.put(Note(book="b", number=1, stars=3))
    tables.run(check(Note.key(book="b", number=1), Note.stars == 3))
    with pytest.raises(ConditionFailed):
        tables.run(check(Note.key(book="b", number=1), Note.stars == 4))


def test_empty_transaction_sends_nothing() -> None:
    assert play(transact([]).flow(quiet_setup()), []).result == []


def test_reason_of_the_service_is_kept_as_the_cause(tables: Store) -> None:
    tables.put(Note(book="b", number=1))
    with pytest.raises(TransactionCanceled) as caught:
        tables.transact([create(Note(book="b", number=1)), put(Note(book="b", number=2))])
    cause: Any = caught.value.__cause__
    assert cause.code == "TransactionCanceledException"


def test_transaction_of_one_operation_fails_as_one_of_two_does(tables: Store) -> None:
    tables.create(Note(book="b", number=1))
    for operations in ([create(Note(book="b", number=1))], [create(Note(book="b", number=1)), put(Note(book="b", number=2))]):
        with pytest.raises(TransactionCanceled) as caught:
            tables.transact(operations)
        assert isinstance(caught.value.reasons[0], AlreadyExists)
    with pytest.raises(TransactionCanceled), tables.transaction() as tx:
        tx.create(Note(book="b", number=1))


def test_single_check_fails_with_its_own_error(tables: Store) -> None:
    with pytest.raises(ConditionFailed):
        tables.run(check(Note.key(book="b", number=1), Note.number == 1))
