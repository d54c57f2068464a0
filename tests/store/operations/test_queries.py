"""Queries: lazy, limited, hydrated, projected, counted."""

import pytest

from gateleg.model import DecodeError, spec_of
from gateleg.store import Store
from gateleg.store.errors import NotProjected
from gateleg.store.flow import StreamedItems
from gateleg.store.operations import count, query
from tests.store.doubles import Answer, Scripted, play, quiet_setup
from tests.store.notes import Note, notes, shelf


@pytest.fixture
def filled(memory: Store) -> Store:
    memory.create_tables(shelf)
    memory.batch_write(notes(30, author="ann", text="long"))
    return memory


def item(number: int) -> dict[str, dict[str, str]]:
    return {
        "pk": {"S": "BOOK#b"},
        "sk": {"S": f"NOTE#{number:05}"},
        "book": {"S": "b"},
        "number": {"N": str(number)},
        "kind": {"S": "note"},
    }


def test_no_request_is_sent_before_the_first_item_is_requested() -> None:
    transport = Scripted({"Items": [item(1)], "Count": 1})
    found = Store(transport).query(Note.in_book, book="b")
    assert transport.calls == []
    assert next(found).number == 1
    assert len(transport.calls) == 1


def test_next_page_is_read_only_when_the_first_is_consumed() -> None:
    transport = Scripted({"Items": [item(1), item(2)], "LastEvaluatedKey": {"pk": {"S": "x"}}}, {"Items": [item(3)]})
    found = Store(transport).query(Note.in_book, book="b")
    assert [next(found).number, next(found).number] == [1, 2]
    assert len(transport.calls) == 1
    assert [note.number for note in found] == [3]
    assert transport.calls[1][1]["ExclusiveStartKey"] == {"pk": {"S": "x"}}


def test_empty_page_in_the_middle_is_not_the_end() -> None:
    answers: list[Answer] = [{"Items": [], "LastEvaluatedKey": {"pk": {"S": "x"}}}, {"Items": [item(1)]}]
    found = play(query(Note.in_book(book="b")).flow(quiet_setup()), answers)
    assert [note.number for step in found.steps if isinstance(step, StreamedItems) for note in step.items] == [1]


def test_limit_is_the_number_of_results(filled: Store) -> None:
    assert len(list(filled.query(Note.in_book, book="b", limit=7))) == 7
    picky = Note.in_book(book="b").filter(Note.text == "long")
    assert len(list(filled.query(picky, limit=7))) == 7
    assert list(filled.query(Note.in_book, book="b", limit=0)) == []


def test_limit_saves_reading() -> None:
    played = play(query(Note.in_book(book="b"), limit=2).flow(quiet_setup()), [{"Items": [item(1), item(2)], "LastEvaluatedKey": {}}])
    assert played.requests[0].payload["Limit"] == 2
    assert len(played.requests) == 1


def test_page_size_does_not_change_the_results(filled: Store) -> None:
    assert [note.number for note in filled.query(Note.in_book, book="b", page_size=4)] == list(range(30))


def test_index_of_keys_alone_is_refused_unless_hydrated(filled: Store) -> None:
    with pytest.raises(NotProjected, match="by-author"):
        filled.query(Note.by_author, author="ann")
    found = list(filled.query(Note.by_author, author="ann", hydrate=True))
    assert [note.number for note in found] == list(range(30))
    assert {note.text for note in found} == {"long"}


def test_hydrated_pages_are_whole_and_in_order(filled: Store) -> None:
    first = filled.page(Note.by_author, author="ann", limit=10, hydrate=True)
    second = filled.page(Note.by_author, author="ann", limit=30, hydrate=True, cursor=first.next)
    assert [note.number for note in (*first, *second)] == list(range(30))
    assert {note.text for note in second} == {"long"}


def test_hydrating_leaves_out_items_that_were_deleted_meanwhile() -> None:
    keys = {name: item(1)[name] for name in ("pk", "sk", "number")} | {"author": {"S": "ann"}}
    answers: list[Answer] = [{"Items": [keys]}, {"Responses": {"Notes": []}, "UnprocessedKeys": {}}]
    played = play(query(Note.by_author(author="ann"), hydrate=True).flow(quiet_setup()), answers)
    assert [list(step.items) for step in played.steps if isinstance(step, StreamedItems)] == [[]]


def test_projected_results_are_dictionaries_of_those_attributes(filled: Store) -> None:
    found = next(filled.query(Note.in_book, book="b", project=[Note.text, Note.number]))
    assert found == {"text": "long", "number": 0}


def test_keys_can_be_projected_from_an_index_of_keys(filled: Store) -> None:
    found = list(filled.query(Note.by_author, author="ann", project=[Note.number], limit=2))
    assert found == [{"number": 0}, {"number": 1}]


def test_shards_are_read_concurrently_and_merged(filled: Store) -> None:
    filled.batch_write([Note(book=book, number=number, topic="t") for book in ("x", "y") for number in range(20)])
    assert [note.number for note in filled.query(Note.on_topic, topic="t")] == sorted([*range(20)] * 2)
    assert [note.number for note in filled.query(Note.on_topic, topic="t", newest_first=True, limit=3)] == [19, 19, 18]
    assert filled.count(Note.on_topic, topic="t") == 40


def test_count_adds_up_all_pages() -> None:
    answers: list[Answer] = [{"Count": 3, "LastEvaluatedKey": {"pk": {"S": "x"}}}, {"Count": 4}]
    played = play(count(Note.in_book(book="b")).flow(quiet_setup()), answers)
    assert played.result == 7
    assert played.requests[0].payload["Select"] == "COUNT"


def test_argument_together_with_a_query_is_refused() -> None:
    with pytest.raises(TypeError, match="together with a query"):
        query(Note.in_book(book="b"), number=1)


def test_operation_is_a_dry_run_until_it_is_run() -> None:
    assert query(Note.in_book(book="b"), limit=3).params("dev-") == {
        "TableName": "dev-Notes",
        "KeyConditionExpression": "#pk = :0 AND begins_with(#sk, :1)",
        "ExpressionAttributeNames": {"#pk": "pk", "#sk": "sk"},
        "ExpressionAttributeValues": {":0": {"S": "BOOK#b"}, ":1": {"S": "NOTE#"}},
        "Limit": 3,
    }


def test_a_strict_store_refuses_a_list_with_an_item_that_cannot_be_read(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.batch_write([Note(book="b", number=number) for number in range(3)])
    broken = spec_of(Note).encode(Note(book="b", number=1)) | {"stars": {"S": "many"}}
    memory.transport.call("PutItem", {"TableName": "Notes", "Item": broken})
    found = memory.reading(on_unreadable="raise").query(Note.in_book, book="b", page_size=1)
    assert next(found).number == 0
    with pytest.raises(DecodeError):
        next(found)
