"""Changing items on the condition that they are what was read."""

from typing import Any

import pytest

from gateleg.host.item_writes import (
    TooManyAttributes,
    WriteConflict,
    change_raw,
    create_raw,
    remove,
    remove_raw,
    replace,
    save,
    unchanged_since_read,
)
from gateleg.host.items import read_item
from gateleg.model import Entity, Item, Spec, Table, spec_of
from gateleg.store import AsyncStore, StoreError, UniqueTaken
from tests.web.console.tables.library import Book, BookStatus, Loan, Reader, books, loans

BOOK, LOAN, READER = spec_of(Book), spec_of(Loan), spec_of(Reader)
LOOSE = Table("Loose", hash="id", types={"id": "S"})


async def read(store: AsyncStore, spec: Spec[Any], instance: Entity) -> tuple[Item, Any]:
    """An item as it is stored, and its instance."""
    item = await read_item(store, spec.table, spec.ref(instance).key)
    assert item is not None
    return item, spec.decode(item)


async def test_a_saved_item_has_the_change_a_new_version_and_what_nobody_knows(store: AsyncStore) -> None:
    item, before = await read(store, BOOK, books()[0])
    await change_raw(store, BOOK.table, item, item | {"donor": {"S": "Ada"}})
    item, before = await read(store, BOOK, books()[0])
    await save(store, BOOK, item, before, before.model_copy(update={"title": "Left Hand"}))
    stored, after = await read(store, BOOK, books()[0])
    assert (after.title, after.version) == ("Left Hand", before.version + 1)
    assert stored["donor"] == {"S": "Ada"}
    assert stored["shelf_title"] == {"S": "A4#Left Hand"}


async def test_saving_nothing_writes_nothing(store: AsyncStore) -> None:
    item, before = await read(store, BOOK, books()[0])
    await save(store, BOOK, item, before, before.model_copy())
    assert (await read(store, BOOK, books()[0]))[0] == item


@pytest.mark.parametrize(("spec", "instance", "change"), [(BOOK, books()[0], {"price": 1.0}), (LOAN, loans()[0], {"note": "mine"})])
async def test_who_is_slower_loses_the_race_and_sees_what_won(
    store: AsyncStore, spec: Spec[Any], instance: Entity, change: dict[str, Any]
) -> None:
    item, before = await read(store, spec, instance)
    theirs = {"author": "Somebody"} if spec is BOOK else {"reader": "hedy"}
    await save(store, spec, item, before, before.model_copy(update=theirs))
    with pytest.raises(WriteConflict) as lost:
        await save(store, spec, item, before, before.model_copy(update=change))
    assert lost.value.current == (await read(store, spec, instance))[0]
    assert lost.value.current != item


async def test_an_attribute_that_appeared_meanwhile_is_a_lost_race(store: AsyncStore) -> None:
    item, before = await read(store, LOAN, loans()[0])
    await save(store, LOAN, item, before, before.model_copy(update={"note": "theirs"}))
    with pytest.raises(WriteConflict):
        await save(store, LOAN, item, before, before.model_copy(update={"reader": "mine"}))


async def test_a_deleted_item_is_a_lost_race_without_a_winner(store: AsyncStore) -> None:
    item, before = await read(store, BOOK, books()[0])
    await remove(store, BOOK, item, before)
    for spend in (save(store, BOOK, item, before, before.model_copy(update={"price": 2.0})), remove(store, BOOK, item, before)):
        with pytest.raises(WriteConflict) as lost:
            await spend
        assert lost.value.current is None


async def test_an_item_that_changed_is_not_deleted(store: AsyncStore) -> None:
    for spec, instance, change in ((BOOK, books()[0], {"price": 1.0}), (LOAN, loans()[0], {"note": "theirs"})):
        item, before = await read(store, spec, instance)
        await save(store, spec, item, before, before.model_copy(update=change))
        with pytest.raises(WriteConflict):
            await remove(store, spec, item, before)


async def test_a_state_moves_by_transition(store: AsyncStore) -> None:
    item, before = await read(store, BOOK, books()[0])
    await save(store, BOOK, item, before, before.model_copy(update={"status": BookStatus.LENT}))
    stored, after = await read(store, BOOK, books()[0])
    assert after.status == BookStatus.LENT
    assert stored["shelf_status"] == {"S": "lent"}


async def test_a_whole_item_is_replaced_with_unknown_attributes(store: AsyncStore) -> None:
    item, before = await read(store, BOOK, books()[0])
    after = BOOK.decode(item | {"donor": {"S": "Ada"}, "title": {"S": "Other"}, "version": {"N": "99"}})
    await replace(store, BOOK, item, before, after)
    stored, now = await read(store, BOOK, books()[0])
    assert stored["donor"] == {"S": "Ada"}
    assert now.version == before.version + 1
    with pytest.raises(WriteConflict):
        await replace(store, BOOK, item, before, after)


async def test_a_versioned_item_that_was_never_counted_can_be_replaced(store: AsyncStore) -> None:
    item, _ = await read(store, BOOK, books()[0])
    await change_raw(store, BOOK.table, item, item | {"version": {"N": "0"}})
    old, before = await read(store, BOOK, books()[0])
    await replace(store, BOOK, old, before, before.model_copy(update={"price": 3.0}))
    assert (await read(store, BOOK, books()[0]))[1].price == 3.0
    with pytest.raises(WriteConflict):
        await replace(store, BOOK, old, before, before)


async def test_unique_values_stay_unique_when_an_item_is_replaced(store: AsyncStore) -> None:
    ada = Reader(reader_id="ada", email="ada@example.org", name="Ada")
    item, before = await read(store, READER, ada)
    with pytest.raises(UniqueTaken):
        await replace(store, READER, item, before, before.model_copy(update={"email": "grace@example.org"}))
    await replace(store, READER, item, before, before.model_copy(update={"email": "ada@example.com"}))
    await store.create(Reader(reader_id="third", email="ada@example.org"))


async def test_items_of_no_entity_are_written_and_deleted_conditionally(store: AsyncStore) -> None:
    await store.create_tables(LOOSE)
    item: Item = {"id": {"S": "a"}, "tags": {"SS": ["x", "y"]}, "deep": {"M": {"n": {"N": "1"}}}}
    await create_raw(store, LOOSE, item)
    with pytest.raises(WriteConflict) as lost:
        await create_raw(store, LOOSE, item)
    assert lost.value.current == item
    await change_raw(store, LOOSE, item, {"id": {"S": "a"}, "tags": {"SS": ["y", "z"]}, "more": {"BOOL": True}})
    with pytest.raises(WriteConflict):
        await remove_raw(store, LOOSE, item)
    with pytest.raises(WriteConflict):
        await change_raw(store, LOOSE, item, {"id": {"S": "a"}})
    stored = await read_item(store, LOOSE, {"id": {"S": "a"}})
    assert stored is not None
    assert stored == {"id": {"S": "a"}, "tags": {"SS": ["y", "z"]}, "more": {"BOOL": True}}
    await remove_raw(store, LOOSE, stored)
    assert await read_item(store, LOOSE, {"id": {"S": "a"}}) is None


async def test_what_the_service_refuses_is_no_race(store: AsyncStore) -> None:
    with pytest.raises(StoreError):
        await create_raw(store, LOOSE, {"id": {"S": "a"}})


def test_an_item_too_wide_to_compare_is_refused_before_it_is_written() -> None:
    with pytest.raises(TooManyAttributes, match="250 attributes"):
        unchanged_since_read({f"a{number}": {"N": "1"} for number in range(250)})
    with pytest.raises(TooManyAttributes):
        unchanged_since_read({"a" * 200 + str(number): {"N": "1"} for number in range(30)})
