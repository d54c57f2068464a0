"""One unreadable item does not fail a list, and is reported."""

import logging
from typing import TYPE_CHECKING, Any

import pytest

from gateleg.model import Attr, Collection, DecodeError, Entity, Key, Pattern, Table, field, spec_of
from gateleg.store import AsyncStore, NotFound, Store

if TYPE_CHECKING:
    from gateleg.store.setup import Unreadable


books = Table("Books", hash="pk", range="sk")


class Book(Entity, table=books):
    """A book."""

    shelf: Attr[str]
    isbn: Attr[str]
    stars: Attr[int] = field(0)
    title: Attr[str] = field("")

    key = Key("SHELF#{shelf}", "BOOK#{isbn}")
    on_shelf = Pattern(title="The books of a shelf")


class Shelf(Entity, table=books):
    """A shelf."""

    shelf: Attr[str]

    key = Key("SHELF#{shelf}", "SHELF")


whole_shelf = Collection(Shelf, Book, title="A shelf and its books")
REFS = [Book.key(shelf="s", isbn=str(number)) for number in range(3)]
GOOD = [Book(shelf="s", isbn="0"), Book(shelf="s", isbn="2")]
BAD_ITEM: dict[str, Any] = spec_of(Book).encode(Book(shelf="s", isbn="1")) | {"stars": {"S": "many"}}


@pytest.fixture
def shelf(store: Store) -> Store:
    store.create_tables(books)
    store.batch_write([Shelf(shelf="s"), *GOOD])
    store.transport.call("PutItem", {"TableName": "Books", "Item": BAD_ITEM})
    return store


def test_a_list_leaves_out_unreadable_items_and_reports_them(shelf: Store, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "gateleg.store"):
        assert list(shelf.query(Book.on_shelf, shelf="s")) == GOOD
    assert "BOOK#1" in caplog.text
    assert ": stars has type S, expected N" in caplog.text


def test_a_page_lists_unreadable_items_separately(shelf: Store) -> None:
    first = shelf.page(Book.on_shelf, shelf="s", limit=2)
    assert first.items == GOOD[:1]
    (bad,) = first.unreadable
    assert bad.ref == REFS[1]
    assert bad.item == BAD_ITEM
    assert isinstance(bad.error, DecodeError)
    second = shelf.page(Book.on_shelf, shelf="s", limit=2, cursor=first.next)
    assert (second.items, second.next, second.unreadable) == (GOOD[1:], None, ())
    assert shelf.page(Book.on_shelf, shelf="s", limit=2, cursor=second.previous).unreadable == (bad,)


def test_a_limit_counts_results(shelf: Store) -> None:
    assert list(shelf.query(Book.on_shelf, shelf="s", limit=2)) == GOOD


def test_a_collection_lists_unreadable_items_separately(shelf: Store) -> None:
    found = shelf.collect(whole_shelf, shelf="s")
    assert found.of(Book) == GOOD
    assert found.one(Shelf) == Shelf(shelf="s")
    assert [bad.ref for bad in found.unreadable] == [REFS[1]]


def test_batches_and_transactions_list_unreadable_items_separately(shelf: Store) -> None:
    for found in (shelf.batch_get(REFS), shelf.transact_get(REFS)):
        assert found == [GOOD[0], None, GOOD[1]]
        assert [bad.ref for bad in found.unreadable] == [REFS[1]]  # type: ignore[attr-defined]


def test_an_export_continues_after_unreadable_items(shelf: Store) -> None:
    assert sorted(book.isbn for book in shelf.export(Book)) == ["0", "2"]


def test_a_loader_fails_for_the_unreadable_item_only(shelf: Store) -> None:
    loader = shelf.loader(Book)
    assert loader.load_many(REFS) == [GOOD[0], None, GOOD[1]]
    assert loader.load(shelf="s", isbn="0") == GOOD[0]
    with pytest.raises(DecodeError):
        loader.load(shelf="s", isbn="1")


def test_unreadable_items_can_be_collected(shelf: Store) -> None:
    bad: list[Unreadable] = []
    assert list(shelf.reading(on_unreadable=bad.append).query(Book.on_shelf, shelf="s")) == GOOD
    assert [entry.ref for entry in bad] == [REFS[1]]


def test_a_strict_store_raises(shelf: Store) -> None:
    strict = shelf.reading(on_unreadable="raise")
    for ask in (
        lambda: list(strict.query(Book.on_shelf, shelf="s")),
        lambda: strict.page(Book.on_shelf, shelf="s", limit=5),
        lambda: strict.batch_get(REFS),
        lambda: strict.collect(whole_shelf, shelf="s"),
    ):
        with pytest.raises(DecodeError):
            ask()


def test_the_error_of_an_unreadable_item_explains_how_to_repair_it(shelf: Store) -> None:
    for ask in (shelf.get, shelf.find):
        with pytest.raises(DecodeError, match="patch or delete") as refused:
            ask(Book, shelf="s", isbn="1")
        assert refused.value.ref == REFS[1]


def test_an_unreadable_item_can_be_repaired_by_its_reference(shelf: Store) -> None:
    (bad,) = shelf.page(Book.on_shelf, shelf="s", limit=5).unreadable
    with pytest.raises(DecodeError, match="The update succeeded"):
        shelf.patch(bad.ref, Book.title.set("t"))
    assert shelf.patch(bad.ref, Book.stars.set(4)) == Book(shelf="s", isbn="1", stars=4, title="t")
    assert len(list(shelf.query(Book.on_shelf, shelf="s"))) == 3


def test_an_unreadable_item_can_be_deleted_by_its_reference(shelf: Store) -> None:
    (bad,) = shelf.page(Book.on_shelf, shelf="s", limit=5).unreadable
    shelf.delete(bad.ref)
    with pytest.raises(NotFound):
        shelf.get(bad.ref)


async def test_an_async_store_leaves_out_unreadable_items_too(async_store: AsyncStore) -> None:
    await async_store.create_tables(books)
    await async_store.batch_write(GOOD)
    await async_store.transport.call("PutItem", {"TableName": "Books", "Item": BAD_ITEM})
    scoped = async_store.scope(shelf="s")
    assert [book async for book in scoped.query(Book.on_shelf)] == GOOD
    page = await scoped.page(Book.on_shelf, limit=5)
    assert (page.items, [bad.ref for bad in page.unreadable]) == (GOOD, [REFS[1]])
    loader = scoped.loader(Book)
    assert await loader.load_many(REFS) == [GOOD[0], None, GOOD[1]]
    with pytest.raises(DecodeError):
        await loader.load(isbn="1")
