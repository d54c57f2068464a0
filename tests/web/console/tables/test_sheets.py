"""Items as sheets of fields."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from gateleg.jobs import Job
from gateleg.model import spec_of, unknown_attributes
from gateleg.web.console.tables.sheets import Line, Sheet, fill, new_sheet, object_keys, split, stored_sheet
from tests.web.console.tables.library import Book, BookStatus, Cover, Loan, Reader, books

BOOK = spec_of(Book)


def stored(book: Book | None = None) -> tuple[Book, Sheet]:
    """A book with an attribute that nobody knows, and its sheet."""
    item = BOOK.encode(book or books()[0]) | {"donor": {"S": "Ada"}}
    read = BOOK.decode(item)
    return read, stored_sheet(BOOK, read, item)


def line(sheet: Sheet, name: str) -> Line:
    """One line of a sheet."""
    return next(entry for entry in sheet.lines if entry.input.name == name)


def test_the_key_comes_first_and_cannot_change() -> None:
    _, sheet = stored()
    assert sheet.lines[0].input.name == "book_id"
    assert "duplicate the item" in sheet.lines[0].locked


@pytest.mark.parametrize("name", ["created_at", "updated_at", "version"])
def test_what_the_model_sets_cannot_be_changed(name: str) -> None:
    _, sheet = stored()
    assert line(sheet, name).locked


def test_a_state_offers_only_what_may_follow() -> None:
    _, sheet = stored()
    assert line(sheet, "status").input.options == ("shelved", "lent", "mended")


def test_derived_keys_are_shown_with_how_they_are_made() -> None:
    _, sheet = stored()
    shown = {entry.name: (entry.text, entry.form) for entry in sheet.derived}
    assert shown["shelf_title"] == ("A4#The Left Hand of Darkness", "{shelf}#{title}")
    assert shown["sk"] == ("BOOK", "BOOK")
    assert "kind" in shown


def test_unknown_attributes_are_shown() -> None:
    _, sheet = stored()
    assert sheet.unknown == {"donor": "Ada"}


def test_hidden_attributes_are_not_shown() -> None:
    assert "secret" not in [entry.input.name for entry in new_sheet(spec_of(Loan)).lines]


def test_a_changed_field_makes_a_changed_instance_that_keeps_all_else() -> None:
    before, sheet = stored()
    filled = fill(BOOK, sheet, {"title": "Left Hand", "year": "1970"}, before)
    assert not filled.problems
    assert (filled.instance.title, filled.instance.year, filled.instance.author) == ("Left Hand", 1970, before.author)
    assert unknown_attributes(filled.instance) == {"donor": {"S": "Ada"}}


def test_an_untouched_sheet_is_the_same_instance() -> None:
    before, sheet = stored()
    filled = fill(BOOK, sheet, {entry.input.name: entry.text for entry in sheet.lines}, before)
    assert filled.instance == before


def test_an_emptied_optional_field_is_absent() -> None:
    before, sheet = stored()
    assert fill(BOOK, sheet, {"year": ""}, before).instance.year is None


def test_an_emptied_field_that_is_needed_is_refused() -> None:
    before, sheet = stored()
    assert fill(BOOK, sheet, {"shelf": ""}, before).problems == {"shelf": "This field is required."}


def test_what_the_entity_refuses_is_told_at_the_field() -> None:
    before, sheet = stored()
    problems = fill(BOOK, sheet, {"shelf": "nowhere", "year": "12"}, before).problems
    assert set(problems) == {"shelf", "year"}
    assert "1000" in problems["year"]


def test_nested_values_are_changed_as_json() -> None:
    before, sheet = stored()
    filled = fill(BOOK, sheet, {"cover": '{"colour": "red"}', "subjects": '["ice"]'}, before)
    assert filled.instance.cover == Cover(colour="red")
    assert filled.instance.subjects == ["ice"]


def test_what_is_wrong_inside_a_nested_value_is_told_with_its_place() -> None:
    before, sheet = stored()
    assert "colour" in fill(BOOK, sheet, {"cover": '{"colour": 7}'}, before).problems["cover"]


def test_a_nested_value_with_unknown_attributes_is_left_to_json() -> None:
    item = BOOK.encode(books()[0])
    item["cover"]["M"]["foil"] = {"BOOL": True}
    read = BOOK.decode(item)
    sheet = stored_sheet(BOOK, read, item)
    assert "DynamoDB JSON" in line(sheet, "cover").locked
    assert BOOK.encode(fill(BOOK, sheet, {"title": "x"}, read).instance)["cover"] == item["cover"]


def test_a_new_sheet_has_the_defaults() -> None:
    sheet = new_sheet(BOOK)
    assert line(sheet, "status").text == "shelved"
    assert line(sheet, "status").input.options == ("shelved", "lent", "mended", "lost")
    assert line(sheet, "book_id").default == "a new UUID"
    assert not line(sheet, "book_id").locked


def test_a_new_item_takes_defaults_for_what_is_left_empty() -> None:
    sheet = new_sheet(BOOK)
    filled = fill(BOOK, sheet, {"title": "Emma", "author": "Jane Austen", "shelf": "A1", "book_id": ""})
    assert isinstance(filled.instance.book_id, UUID)
    assert filled.instance.subjects == []
    assert filled.instance.created_at <= datetime.now(UTC)


def test_a_new_item_says_what_is_missing() -> None:
    assert set(fill(BOOK, new_sheet(BOOK), {}).problems) == {"title", "author", "shelf"}


def test_a_copy_has_the_values_but_not_the_identity() -> None:
    book = books()[1].model_copy(update={"version": 7})
    sheet = new_sheet(BOOK, book)
    assert line(sheet, "title").text == book.title
    assert line(sheet, "book_id").text == ""
    copy = fill(BOOK, sheet, {}).instance
    assert (copy.title, copy.status, copy.version) == (book.title, BookStatus.LENT, 0)
    assert copy.book_id != book.book_id


def test_a_key_that_cannot_be_made_is_told_for_the_whole() -> None:
    spec = spec_of(Loan)
    texts = {"book_id": str(UUID(int=1)), "number": "100000", "reader": "ada", "due_at": "2026-01-31"}
    problems = fill(spec, new_sheet(spec), texts).problems
    assert list(problems) == [""]
    assert "100000" in problems[""]


def test_text_with_a_default_can_be_made_empty() -> None:
    spec = spec_of(Reader)
    reader = Reader(reader_id="r", email="a@b", name="Ada")
    sheet = stored_sheet(spec, reader, spec.encode(reader))
    assert fill(spec, sheet, {"name": ""}, reader).instance.name == ""


def test_objects_that_an_item_names_are_found() -> None:
    book = books()[0].model_copy(update={"cover": Cover(colour="red", picture="covers/left-hand.png")})
    assert object_keys(BOOK, book) == ["covers/left-hand.png"]
    assert object_keys(BOOK, books()[1]) == []


def test_many_absent_attributes_are_set_apart() -> None:
    _, sheet = stored(books()[1])
    assert split(sheet.lines) == (list(sheet.lines), [])
    job = Job(job_type="REEL")
    spec = spec_of(Job)
    present, absent = split(stored_sheet(spec, job, spec.encode(job)).lines)
    assert "worker_id" in [line.input.name for line in absent]
    assert "job_type" in [line.input.name for line in present]
    assert all(line.text == "" for line in absent)
