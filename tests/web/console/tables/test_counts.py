"""Counts of other items in the console: shown, never changed."""

import json
from collections.abc import AsyncIterator

import pytest

from gateleg.host.item_writes import WriteConflict, remove, replace, save
from gateleg.host.items import read_item
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from gateleg.web.console.tables.documents import read_document
from gateleg.web.console.tables.sheets import fill, new_sheet, stored_sheet
from tests.store.counting import Case, Map, Shelf, Volume, shelves

SHELF, CASE = spec_of(Shelf), spec_of(Case)


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as opened:
        await opened.create_tables(shelves)
        await opened.create(Shelf(shelf="a"))
        await opened.create(Case(case_id="c"))
        yield opened


def test_count_is_locked_on_the_sheets_of_old_and_new_items() -> None:
    shelf = Shelf(shelf="a", volumes=3)
    for sheet in (stored_sheet(SHELF, shelf, SHELF.encode(shelf)), new_sheet(SHELF), new_sheet(SHELF, shelf)):
        line = next(line for line in sheet.lines if line.input.name == "volumes")
        assert "Counts other items" in line.locked


def test_text_for_a_count_is_not_taken_from_a_form() -> None:
    shelf = Shelf(shelf="a", volumes=3)
    filled = fill(SHELF, stored_sheet(SHELF, shelf, SHELF.encode(shelf)), {"volumes": "77", "room": "east"}, shelf)
    assert (filled.instance.volumes, filled.instance.room) == (3, "east")
    copied = fill(SHELF, new_sheet(SHELF, shelf), {"shelf": "b", "volumes": "77"})
    assert copied.instance.volumes == 0


def test_count_cannot_be_changed_as_json() -> None:
    item = SHELF.encode(Shelf(shelf="a", volumes=3))
    written = read_document(shelves, json.dumps(item | {"volumes": {"N": "77"}}), item)
    assert "volumes counts other items" in written.problem
    assert read_document(shelves, json.dumps(item | {"room": {"S": "east"}}), item).problem == ""


async def test_child_that_is_written_meanwhile_is_no_race_and_stays_counted(store: AsyncStore) -> None:
    for spec, ref, child, name in (
        (SHELF, Shelf.key(shelf="a"), Volume(shelf="a", number=1), "volumes"),
        (CASE, Case.key(case_id="c"), Map(map_id="m", case_id="c"), "maps"),
    ):
        item = await read_item(store, shelves, ref.key)
        assert item is not None
        before = spec.decode(item)
        await store.create(child)
        edited = {"room": "east"} if spec is SHELF else {"label": "x"}
        saved = await save(store, spec, item, before, before.model_copy(update=edited))
        assert getattr(saved, name) == 1


async def test_whole_item_is_replaced_around_its_counts(store: AsyncStore) -> None:
    item = await read_item(store, shelves, Shelf.key(shelf="a").key)
    assert item is not None
    await store.create(Volume(shelf="a", number=1))
    before = SHELF.decode(item)
    replaced = await replace(store, SHELF, item, before, before.model_copy(update={"room": "east"}))
    assert (replaced.room, replaced.volumes) == ("east", 1)
    with pytest.raises(WriteConflict):
        await replace(store, SHELF, item, before, before)
    now = await read_item(store, shelves, Shelf.key(shelf="a").key)
    assert now is not None
    await remove(store, SHELF, now, SHELF.decode(now))
    assert await store.find(Shelf, shelf="a") is None
