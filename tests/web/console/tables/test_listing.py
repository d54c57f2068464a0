"""Surveys of what is deployed, the list of tables, grids of items and diagrams."""

from dataclasses import replace as changed
from xml.etree import ElementTree

import pytest

from gateleg.host.item_keys import item_address, item_label, key_text, read_key
from gateleg.host.items import readable_table, undeclared_table
from gateleg.jobs.tables import TABLES
from gateleg.model import GSI, Item, Table, spec_of
from gateleg.store import AsyncStore
from gateleg.web.console.tables.diagrams import drawing_of, table_svg
from gateleg.web.console.tables.grids import ItemCell, ItemGrid, ItemRow, cell_of, grid_of, item_name
from gateleg.web.console.tables.items_tab import _cells, _columns
from gateleg.web.console.tables.table_snapshots import (
    TableSnapshot,
    row_of,
    search,
    take_snapshots,
    totals,
)
from tests.web.console.tables.library import Book, Loan, books, library, loans, readers

STRAY = Table("Stray", hash="id", range="at", types={"at": "N"}, indexes=[GSI("by-colour", hash="colour", project="keys")])
job_table = TABLES[0]
LOANS = [spec_of(Loan).encode(loan) for loan in loans()]
BOOKS = [spec_of(Book).encode(book) for book in books()]


async def test_a_survey_finds_declared_missing_and_undeclared_tables(store: AsyncStore) -> None:
    await store.create_tables(STRAY)
    other = Table("Library", hash="pk", range="sk", indexes=[GSI("NewIndex", hash="x")])
    snapshots = await take_snapshots(store, [library, readers, Table("Absent", hash="id"), other])
    assert [(entry.name, entry.state) for entry in snapshots] == [
        ("Library", "in sync"),
        ("Readers", "in sync"),
        ("Absent", "missing"),
        ("Library", "differs"),
        ("Stray", "not declared"),
    ]
    assert snapshots[0].items == len(BOOKS) + len(LOANS)
    assert snapshots[0].bytes > 0


async def test_a_survey_keeps_to_the_prefix() -> None:
    async with AsyncStore.embedded() as plain:
        await plain.create_tables(STRAY, Table("dev-Stray", hash="id"))
        prefixed = AsyncStore(plain.transport, prefix="dev-")
        assert [entry.name for entry in await take_snapshots(prefixed, [])] == ["Stray"]


async def test_an_undeclared_table_has_the_keys_of_its_description(store: AsyncStore) -> None:
    await store.create_tables(STRAY)
    (snapshot,) = [entry for entry in await take_snapshots(store, []) if entry.name == "Stray"]
    assert snapshot.description is not None
    table = undeclared_table("Stray", snapshot.description)
    assert table.attributes == ("id", "at")
    assert table.key_types() == {"id": "S", "at": "N", "colour": "S"}
    assert [(index.name, index.hash, index.project) for index in table.indexes] == [("by-colour", ("colour",), "keys")]
    assert row_of(snapshot).indexes == ("by-colour",)


async def test_items_under_another_key_than_the_declared_one_are_read_by_the_deployed_one(store: AsyncStore) -> None:
    await store.create_tables(STRAY)
    (snapshot,) = [entry for entry in await take_snapshots(store, []) if entry.name == "Stray"]
    other = Table("Stray", hash="colour")
    assert readable_table(other, snapshot.description).attributes == ("id", "at")
    assert readable_table(STRAY, snapshot.description) is STRAY
    assert readable_table(other, None) is other


def test_a_search_finds_rows_with_all_words() -> None:
    rows = [
        row_of(TableSnapshot("Library", library, {"ItemCount": 3}, None)),
        row_of(TableSnapshot("Readers", readers, None, trouble="no answer")),
    ]
    assert [row.name for row in search(rows, "book shelfindex")] == ["Library"]
    assert [row.name for row in search(rows, "unknown")] == ["Readers"]
    assert len(search(rows, " ")) == 2
    assert rows[1].means == "no answer"


def test_totals_are_said_in_words() -> None:
    row = row_of(TableSnapshot("Library", library, {"ItemCount": 1, "TableSizeBytes": 1536}, None))
    assert totals([row]) == "1 table; about 1 item, 1.5 kB"
    assert "1 of them not declared" in totals([row, changed(row, declared=False)])


def test_items_of_one_entity_have_a_column_for_each_attribute() -> None:
    grid = grid_of(library, BOOKS)
    assert grid.columns[:4] == ("title", "book_id", "author", "status")
    assert "pk" not in grid.columns
    assert "shelf_title" not in grid.columns


def test_hidden_attributes_have_no_column() -> None:
    assert "secret" not in grid_of(library, LOANS).columns
    assert all("s3cret" not in cell.text for row in grid_of(library, [*BOOKS, *LOANS]).rows for cell in row.cells)


def test_a_mixture_shows_keys_and_the_rest_on_a_line() -> None:
    grid = grid_of(library, [*BOOKS, *LOANS])
    assert grid.columns == ("Entity", "pk", "sk", "Other attributes")
    assert {row.entity for row in grid.rows} == {"Book", "Loan"}


def test_items_of_no_entity_are_marked_as_such() -> None:
    stray: Item = {"pk": {"S": "?"}, "sk": {"S": "?"}}
    assert grid_of(library, [BOOKS[0], stray]).rows[1].cells[0].text == "Unknown"


def test_an_unknown_attribute_has_a_column_after_the_known_ones() -> None:
    assert grid_of(library, [BOOKS[0] | {"donor": {"S": "Ada"}}]).columns[-1] == "donor"


def test_cells_look_like_what_they_hold() -> None:
    assert cell_of({"N": "1.50"}).look == "number"
    assert cell_of({"B": "AAE="}).text == "2 bytes of binary"
    assert cell_of({"M": {"a": {"S": "x"}}}).text == '{"a": "x"}'
    assert cell_of(None).look == "dim"
    long = cell_of({"S": "x" * 500})
    assert len(long.text) == 80
    assert len(long.title) == 500


def test_states_look_like_states() -> None:
    shown = grid_of(library, [BOOKS[0]])
    assert shown.rows[0].cells[shown.columns.index("status")] == ItemCell("shelved", "state")


def test_an_item_is_named_by_the_components_of_its_key() -> None:
    assert item_label(library, spec_of(Loan), LOANS[1]) == f"Loan {LOANS[1]['book_id']['S']}, 1"
    assert item_label(STRAY, None, {"id": {"S": "a"}, "at": {"N": "3"}}) == "a, 3"


def test_times_are_told_as_times() -> None:
    assert cell_of({"S": "2026-11-15T06:00:00.000000Z"}).look == "time"
    assert cell_of({"S": "2026-11-15"}).look == "text"
    assert cell_of({"S": "2026-99-15T06:00:00.000000Z"}).look == "text"


def test_an_item_is_called_by_its_name_where_it_has_one() -> None:
    assert item_name(library, spec_of(Book), BOOKS[0]) == "The Left Hand of Darkness"
    assert item_name(library, spec_of(Loan), LOANS[0]) == f"Loan {LOANS[0]['book_id']['S'][:8]}, 0"


def test_a_key_survives_an_address() -> None:
    item: Item = {"id": {"S": 'ü "#&'}, "at": {"N": "3"}, "x": {"S": "y"}}
    assert read_key(STRAY, key_text(STRAY, item)) == {"id": {"S": 'ü "#&'}, "at": {"N": "3"}}
    assert item_address("Stray", key_text(STRAY, item)).startswith("/tables/Stray/item?key=%7B")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"id":{"S":"a"}}', '{"id":{"S":"a"},"at":{"S":"3"}}', '{"id":"a","at":"3"}'])
def test_what_is_no_key_is_not_read_as_one(text: str) -> None:
    assert read_key(STRAY, text) is None


def test_a_diagram_is_well_formed_and_says_what_it_shows() -> None:
    root = ElementTree.fromstring(table_svg(library))
    assert "holds Book, Loan" in root.attrib["aria-label"]
    text = " ".join(filter(None, root.itertext()))
    assert "BOOK#{book_id}" in text
    assert "global, sparse" not in text


def test_a_diagram_of_an_undeclared_table_has_no_entities() -> None:
    drawing = drawing_of(STRAY)
    assert drawing.left == ()
    assert drawing.middle.rows == (("id", "partition, text"), ("at", "sort, number"))
    assert [box.chip for box in drawing.right] == ["global"]
    ElementTree.fromstring(table_svg(STRAY))


def test_many_indexes_of_one_entity_stand_on_both_sides() -> None:
    drawing = drawing_of(job_table)
    assert (len(drawing.left), len(drawing.right)) == (5, 4)
    assert {box.look for box in (*drawing.left, *drawing.right)} == {"index"}
    assert drawing.middle.chip == "of Job"


def test_a_diagram_says_which_entities_an_index_holds_and_what_of_them() -> None:
    shelf, due = drawing_of(library).right
    assert shelf.notes == ("of Book",)
    assert due.notes == ("projects keys only", "of Loan")


def test_a_long_name_is_left_for_the_page_to_cut() -> None:
    title = "The collected letters of a librarian, with notes and an index of places"
    grid = grid_of(library, [BOOKS[0] | {"title": {"S": title}}])
    assert _cells(grid.columns, grid.rows[0], {}, {})["0"] == title


def test_phones_show_the_first_columns_and_states() -> None:
    row = ItemRow("Loan", (*[ItemCell("x")] * 6, ItemCell("open", "state")), "{}", "Loan x")
    columns = _columns(ItemGrid(tuple("abcdefg"), (row,)))
    assert [column.label for column in columns if column.desk] == ["f"]
