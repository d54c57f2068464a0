"""Items as DynamoDB JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model import Item, Table, spec_of
from gateleg.web.console.tables.documents import differences, document_of, format_json, read_document
from tests.web.console.tables.library import Book, Loan, books, library, loans

ITEM = spec_of(Book).encode(books()[0]) | {"donor": {"S": "Ada"}}
LOAN = spec_of(Loan).encode(loans()[0])


def edited(**changes: object) -> str:
    """The text of the item with changes."""
    return json.dumps(ITEM | changes)


def test_a_text_reads_back_as_its_item() -> None:
    written = read_document(library, document_of(ITEM, spec_of(Book)), ITEM)
    assert written.problem == ""
    assert written.item == ITEM


def test_a_document_has_a_line_for_each_attribute_and_more_only_for_long_ones() -> None:
    assert format_json({"a": {"S": "x"}, "b": {"L": [{"S": "y" * 60}, {"S": "z" * 60}]}}).splitlines() == [
        "{",
        '  "a": {"S": "x"},',
        '  "b": {',
        '    "L": [',
        f'      {{"S": "{"y" * 60}"}},',
        f'      {{"S": "{"z" * 60}"}}',
        "    ]",
        "  }",
        "}",
    ]


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_what_is_laid_out_is_the_same_json(value: Any) -> None:
    assert json.loads(format_json(value)) == value


def test_unknown_attributes_can_be_changed() -> None:
    assert read_document(library, edited(donor={"S": "Grace"}), ITEM).item["donor"] == {"S": "Grace"}


def test_derived_keys_follow_a_change() -> None:
    written = read_document(library, edited(title={"S": "Ice"}), ITEM)
    assert written.item["shelf_title"] == {"S": "A4#Ice"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Not valid JSON"),
        ("[]", "An item must be a JSON object"),
        (edited(title="Ice"), "title is not a value in DynamoDB JSON"),
        (edited(sk={"S": "OTHER"}), "key"),
        (edited(shelf={"S": "nowhere"}), "shelf"),
        (edited(shelf_title={"S": "mine"}), "derived from other attributes"),
        (edited(status={"S": "lost"}), "cannot go from shelved to lost"),
        (json.dumps({"title": {"S": "x"}}), "the key attribute"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str) -> None:
    written = read_document(library, text, ITEM)
    assert says in written.problem
    assert not written.item


def test_hidden_attributes_are_neither_shown_nor_lost() -> None:
    text = document_of(LOAN, spec_of(Loan))
    assert "s3cret" not in text
    assert read_document(library, text, LOAN).item["secret"] == {"S": "s3cret"}


def test_items_of_no_entity_are_taken_as_they_are() -> None:
    loose = Table("Loose", hash="id")
    item: Item = {"id": {"S": "a"}, "n": {"N": "1"}}
    assert read_document(loose, json.dumps(item), item).item == item


def test_three_states_of_an_item_are_compared() -> None:
    read: Item = {"a": {"S": "1"}, "b": {"S": "1"}, "c": {"S": "1"}, "v": {"N": "1"}}
    mine: Item = {"a": {"S": "2"}, "b": {"S": "2"}, "c": {"S": "1"}, "v": {"N": "1"}}
    stored: Item = {"a": {"S": "3"}, "b": {"S": "1"}, "v": {"N": "2"}}
    found = differences(read, mine, stored, frozenset({"v"}))
    assert [(entry.name, entry.clash) for entry in found] == [("a", True), ("b", False), ("c", False)]
    assert found[2].stored == ""


def test_an_item_that_cannot_be_read_can_be_mended() -> None:
    broken = ITEM | {"year": {"S": "long ago"}}
    assert "year" in read_document(library, json.dumps(broken), broken).problem
    mended = read_document(library, edited(year={"N": "1900"}), broken)
    assert (mended.problem, mended.item["year"]) == ("", {"N": "1900"})


def test_a_value_beyond_its_bounds_is_not_written_but_may_stay() -> None:
    beyond = {"price": {"N": "-1"}}
    assert "price" in read_document(library, edited(**beyond), ITEM).problem
    stored = ITEM | beyond
    assert read_document(library, json.dumps(stored | {"donor": {"S": "x"}}), stored).problem == ""
