"""Reading one item."""

import pytest

from gateleg.model import ModelError
from gateleg.store import NotFound, Store, TableMissing
from gateleg.store.operations import find, get
from tests.store.doubles import Scripted
from tests.store.notes import Draft, Note, shelf


def test_text_is_converted_as_an_attribute_is(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.put(Note(book="b", number=1))
    assert memory.get(Note, book="b", number="1").number == 1
    with pytest.raises(ModelError, match="number"):
        memory.get(Note, book="b", number="one")


def test_value_that_the_key_cannot_hold_is_refused(memory: Store) -> None:
    with pytest.raises(ModelError, match="delimiter"):
        memory.get(Note, book="a#b", number=1)


def test_missing_item_is_none_or_an_error_that_names_it(memory: Store) -> None:
    memory.create_tables(shelf)
    assert memory.find(Note, book="b", number=1) is None
    with pytest.raises(NotFound, match=r"no Note\(book='b', number=1\)"):
        memory.get(Note, book="b", number=1)
    with pytest.raises(NotFound):
        memory.get(Note, book="b", number=1, project=[Note.text])


def test_item_is_found_by_components_by_reference_and_by_instance(memory: Store) -> None:
    memory.create_tables(shelf)
    note = memory.put(Note(book="b", number=1))
    assert memory.get(Note, book="b", number=1) == memory.get(note.key) == memory.get(note) == memory.find(note) == note


def test_other_entity_in_the_same_partition_is_not_returned(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.create(Draft(book="b", title="x"))
    assert [*memory.query(Note.in_book, book="b")] == []


def test_consistent_reads_set_the_parameter() -> None:
    assert get(Note, book="b", number=1, consistent=True).params()["ConsistentRead"] is True
    assert "ConsistentRead" not in find(Note, book="b", number=1).params()


def test_projection_of_one_item(memory: Store) -> None:
    memory.create_tables(shelf)
    memory.put(Note(book="b", number=1, text="hello", stars=4))
    assert memory.get(Note, book="b", number=1, project=[Note.text, Note.stars]) == {"text": "hello", "stars": 4}


def test_missing_table_is_an_error_with_and_without_hooks(memory: Store) -> None:
    with pytest.raises(TableMissing) as short:
        memory.get(Note, book="b", number=1)
    with pytest.raises(TableMissing):
        memory.get(Note, book="b", number=1, consistent=True)
    assert short.value.request == {
        "operation": "GetItem",
        "request": {"TableName": "Notes", "Key": {"pk": {"S": "6 characters"}, "sk": {"S": "10 characters"}}},
    }


def test_prefix_stands_before_the_table_name() -> None:
    transport = Scripted({}, {})
    store = Store(transport, "dev-")
    store.find(Note, book="b", number=1)
    store.find(Note, book="b", number=1, consistent=True)
    assert [call[1]["TableName"] for call in transport.calls] == ["dev-Notes", "dev-Notes"]
