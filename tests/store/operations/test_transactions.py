"""Transactions: order, tokens, retries, limits and reasons."""

from typing import Any

import pytest

from gateleg.net import Backoff
from gateleg.store import (
    AlreadyExists,
    ConditionFailed,
    LostRace,
    NotFound,
    Store,
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
from gateleg.store.errors import DuplicateTarget, NotAnOperation, NotReturned, TooMany
from gateleg.store.operations import transact
from gateleg.store.transports import ServiceError
from tests.store.doubles import Scripted, play, quiet_setup, refusal
from tests.store.notes import Draft, Note, Title, notes, shelf, titles


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
