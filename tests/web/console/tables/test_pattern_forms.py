"""Patterns as forms."""

import shlex
from datetime import datetime
from uuid import UUID

from gateleg.model import spec_of
from gateleg.web.console.tables.patterns_tab import arguments_text, build_query, fields_of, find_access
from gateleg.web.console.tables.snippets import StoreLocation, as_command, as_item_python, as_python, key_of
from tests.web.console.tables.library import Book, Loan, books, library

BOOK_ID = "5eed0000-0000-4000-8000-000000000000"


def test_a_form_has_the_needed_arguments_first() -> None:
    fields = fields_of(Book.on_shelf)
    assert [(entry.name, entry.required) for entry in fields] == [("status", True), ("shelf", False), ("title", False)]


def test_a_field_carries_the_comment_of_its_attribute() -> None:
    assert fields_of(Book.on_shelf)[1].note == "where it stands, such as A4"


def test_filled_in_fields_make_the_question() -> None:
    asked = build_query(Loan.of_book, {"book_id": f" {BOOK_ID} "})
    assert asked.query is not None
    assert asked.query.values == {"book_id": UUID(BOOK_ID)}


def test_an_empty_field_that_is_needed_is_named() -> None:
    assert build_query(Loan.of_book, {"book_id": " "}).problems == {"book_id": "This field is required."}


def test_a_wrong_value_is_told_at_its_field() -> None:
    asked = build_query(Loan.of_reader, {"reader": "ada", "due_at": "soon"})
    assert asked.query is None
    assert list(asked.problems) == ["due_at"]


def test_what_the_model_refuses_is_told_without_the_name_of_the_attribute() -> None:
    problem = build_query(Loan.of_book, {"book_id": "7"}).problems["book_id"]
    assert "UUID" in problem
    assert "Loan.book_id" not in problem


def test_all_wrong_fields_are_told_at_once() -> None:
    assert set(build_query(Loan.of_book, {"book_id": "x", "number": "y"}).problems) == {"book_id", "number"}


def test_a_gap_in_the_sort_key_is_told_where_it_is() -> None:
    asked = build_query(Book.on_shelf, {"status": "lent", "title": "Kindred"})
    assert list(asked.problems) == ["shelf"]


def test_the_order_can_be_turned_around() -> None:
    asked = build_query(Loan.of_reader, {"reader": "ada"}, reverse=True)
    assert asked.query is not None
    assert asked.query.descending


def test_what_a_pattern_asks_by_is_said_in_words() -> None:
    assert arguments_text(Book.on_shelf) == "by status, optionally shelf and title"


def test_a_pattern_is_found_by_its_whole_name() -> None:
    assert find_access(library, "Loan.of_book") is Loan.of_book
    assert find_access(library, "Loan.nothing") is None


def test_the_python_of_a_question_can_be_compiled_and_names_everything() -> None:
    asked = build_query(Loan.of_reader, {"reader": "o'hara", "due_at": "2026-01-31T12:00:00Z"})
    text = as_python(Loan.of_reader, asked.values, limit=20, reverse=True, location=StoreLocation("embedded:./data"))
    compile(text, "snippet", "exec")
    assert "from datetime import datetime" in text
    assert 'reader="o\'hara"' in text
    assert "hydrate=True" in text
    assert "newest_first=True" in text


def test_the_python_of_a_question_runs() -> None:
    asked = build_query(Loan.of_book, {"book_id": BOOK_ID})
    text = as_python(Loan.of_book, asked.values, limit=20, location=StoreLocation("embedded::memory:"))
    scope: dict[str, object] = {}
    exec("\n".join(text.splitlines()[:-2]), scope)
    assert scope["Loan"] is Loan
    assert scope["UUID"] is UUID


def test_the_command_of_a_question_quotes_its_arguments() -> None:
    text = as_command(Loan.of_reader, {"reader": "o'hara smith"}, limit=5, reverse=True, location=StoreLocation(prefix="dev-"))
    assert "'reader=o'\"'\"'hara smith'" in text
    assert text.endswith("--limit 5 --reverse")
    assert "--prefix dev-" in text


def test_the_python_of_an_item_names_its_key() -> None:
    book = books()[0]
    text = as_item_python(spec_of(Book), key_of(book))
    compile(text, "snippet", "exec")
    assert f'store.get(Book, book_id=UUID("{book.book_id}"))' in text


def test_times_in_python_keep_their_zone() -> None:
    asked = build_query(Loan.of_reader, {"reader": "ada", "due_at": "2026-01-31T12:00:00+02:00"})
    text = as_python(Loan.of_reader, asked.values, limit=1)
    assert 'datetime.fromisoformat("2026-01-31T10:00:00+00:00")' in text
    assert datetime.fromisoformat("2026-01-31T10:00:00+00:00").tzinfo is not None


def test_snippets_name_the_table_as_the_settings_of_the_host_do() -> None:
    location = StoreLocation(prefix="dev-", table_names={spec_of(Loan).table.name: "loans of '26", "Else": "else"})
    table = spec_of(Loan).table.name
    asked = build_query(Loan.of_reader, {"reader": "ada"})
    python = as_python(Loan.of_reader, asked.values, limit=1, location=location)
    compile(python, "snippet", "exec")
    assert f"""store = Store.connect("embedded:./data", prefix='dev-', table_names={{'{table}': "loans of '26"}})""" in python
    command = as_command(Loan.of_reader, {"reader": "ada"}, limit=1, location=location)
    first, *rest = shlex.split(command)
    assert first == f"GATELEG_TABLE_NAMES={table}=loans of '26"
    assert rest[:3] == ["gateleg", "tables", "query"]
    assert rest[rest.index("--prefix") + 1] == "dev-"
