"""Bounds of attributes: the database refuses updates that would break them; reads ignore them."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from gateleg.model import Attr, Entity, Key, Pattern, Record, Table, Version, field, spec_of
from gateleg.model.errors import ExpressionValue
from gateleg.store import AsyncStore, ConditionFailed, ConstraintFailed, LostRace, NotFound, Store, TransactionCanceled, patch

books = Table("Books", hash="shelf", range="isbn")


class Loans(Record):
    """A record with a bounded attribute."""

    open: Attr[int] = field(0, ge=0, le=3)


class Book(Entity, table=books):
    """A book with bounds on nearly everything."""

    shelf: Attr[str]
    isbn: Attr[str]
    available: Attr[int] = field(3, ge=0, le=10)
    price: Attr[float] = field(1.5, gt=0)
    pages: Attr[Annotated[int, Field(ge=1)]] = field(1)
    tags: Attr[list[str]] = field(factory=lambda: list[str](), max_length=2)
    readers: Attr[set[str]] = field(factory=set, max_length=2)
    notes: Attr[dict[str, str]] = field(factory=lambda: dict[str, str](), max_length=1)
    loans: Attr[Loans] = field(factory=lambda: Loans())
    title: Attr[str] = field("", max_length=5)

    key = Key("{shelf}", "{isbn}")
    on_shelf = Pattern(title="The books of a shelf")


copies = Table("Copies", hash="shelf", range="isbn")


class Copy(Entity, table=copies):
    """A copy, with a version."""

    shelf: Attr[str]
    isbn: Attr[str]
    left: Attr[int] = field(3, ge=0)
    version: Attr[Version] = field(0)

    key = Key("{shelf}", "{isbn}")


REF = Book.key(shelf="s", isbn="1")


@pytest.fixture
def shelf(store: Store) -> Store:
    store.create_tables(books, copies)
    store.create(Book(shelf="s", isbn="1"))
    return store


def _write_past_the_model(store: Store, **values: Any) -> None:
    item = spec_of(Book).encode(Book(shelf="s", isbn="1")) | values
    store.transport.call("PutItem", {"TableName": "Books", "Item": item})


@pytest.mark.parametrize(
    ("action", "attribute", "bound"),
    [
        (Book.available.add(-5), "available", "ge=0"),
        (Book.available.add(8), "available", "le=10"),
        (Book.available.set(Book.available - 4), "available", "ge=0"),
        (Book.available.set(Book.available + 8), "available", "le=10"),
        (Book.available.set(Book.available.if_not_exists(0) - 4), "available", "ge=0"),
        (Book.available.set(Book.pages + 10), "available", "le=10"),
        (Book.price.add(-1.5), "price", "gt=0"),
        (Book.pages.add(-1), "pages", "ge=1"),
        (Book.loans[Loans.open].add(4), "loans.open", "le=3"),
    ],
)
def test_an_update_cannot_take_a_number_past_its_bound(shelf: Store, action: Any, attribute: str, bound: str) -> None:
    with pytest.raises(ConstraintFailed, match=bound) as refused:
        shelf.patch(REF, action)
    assert (refused.value.attribute, refused.value.bound) == (attribute, bound)
    assert refused.value.code == "constraint-failed"
    assert shelf.get(REF) == refused.value.current == Book(shelf="s", isbn="1")


def test_a_number_may_go_as_far_as_its_bound(shelf: Store) -> None:
    assert shelf.patch(REF, Book.available.add(-3)).available == 0
    assert shelf.patch(REF, Book.available.add(10)).available == 10
    assert shelf.patch(REF, Book.available.set(Book.available - 10)).available == 0


def test_a_list_set_or_map_does_not_outgrow_its_bound(shelf: Store) -> None:
    shelf.patch(REF, Book.tags.append("a", "b"), Book.readers.add({"x", "y"}), Book.notes["k"].set("v"))
    shelf.patch(REF, Book.readers.add({"x"}), Book.notes["k"].set("w"), Book.tags[0].set("c"))
    for action, attribute in ((Book.tags.append("c"), "tags"), (Book.readers.add({"z"}), "readers"), (Book.notes["l"].set("v"), "notes")):
        with pytest.raises(ConstraintFailed) as refused:
            shelf.patch(REF, action)
        assert refused.value.attribute == attribute
    with pytest.raises(ExpressionValue):
        shelf.patch(REF, Book.tags.append("a", "b", "c"))


def test_two_new_elements_count_together(shelf: Store) -> None:
    with pytest.raises(ConstraintFailed):
        shelf.patch(REF, Book.notes["k"].set("v"), Book.notes["l"].set("v"))


def test_values_are_validated_before_they_are_sent() -> None:
    attempts: list[tuple[Any, Any]] = [
        (Book.available, -1),
        (Book.title, "too long"),
        (Book.tags, ["a", "b", "c"]),
        (Book.loans[Loans.open], 4),
    ]
    for attribute, value in attempts:
        with pytest.raises(ExpressionValue):
            attribute.set(value)


def test_compared_values_need_not_be_within_the_bounds(shelf: Store) -> None:
    assert shelf.patch(REF, Book.pages.set(2), condition=(Book.pages > 0) & (Book.available > -1)).pages == 2


def test_a_broken_bound_is_distinguished_from_a_condition_and_a_version(shelf: Store) -> None:
    with pytest.raises(ConditionFailed) as refused:
        shelf.patch(REF, Book.available.add(-1), condition=Book.title == "other")
    assert refused.value.code == "condition-failed"
    with pytest.raises(ConstraintFailed):
        shelf.patch(REF, Book.available.add(-5), condition=Book.title == "")
    with pytest.raises(NotFound):
        shelf.patch(Book.key(shelf="s", isbn="none"), Book.available.add(-1))
    copy = shelf.create(Copy(shelf="s", isbn="1"))
    shelf.patch(copy, Copy.left.add(-3))
    with pytest.raises(LostRace):
        shelf.patch(copy, Copy.left.add(-1))
    with pytest.raises(ConstraintFailed):
        shelf.patch(shelf.get(copy), Copy.left.add(-1))


def test_an_upsert_counts_an_absent_number_as_zero(shelf: Store) -> None:
    with pytest.raises(ConstraintFailed):
        shelf.upsert(Book.key(shelf="s", isbn="2"), Book.available.add(-1))
    assert shelf.upsert(Book.key(shelf="s", isbn="2"), Book.available.add(1)).available == 1


def test_a_planned_update_guards_every_value_it_is_used_with(shelf: Store) -> None:
    for change in (-1, -1, 2, -3):
        shelf.patch(REF, Book.available.add(change))
    with pytest.raises(ConstraintFailed):
        shelf.patch(REF, Book.available.add(-1))


def test_a_transaction_reports_the_broken_bound(shelf: Store) -> None:
    with pytest.raises(TransactionCanceled) as refused:
        shelf.transact([patch(REF, Book.available.add(-5)), patch(Book.key(shelf="s", isbn="none"), Book.pages.add(1))])
    reason = refused.value.reasons[0]
    assert isinstance(reason, ConstraintFailed)
    assert reason.attribute == "available"


def test_a_value_that_breaks_a_bound_is_read_unchanged(shelf: Store) -> None:
    _write_past_the_model(shelf, available={"N": "-5"}, title={"S": "much too long"}, loans={"M": {"open": {"N": "9"}, "odd": {"S": "x"}}})
    book = shelf.get(REF)
    assert (book.available, book.title, book.loans.open) == (-5, "much too long", 9)
    assert list(shelf.query(Book.on_shelf, shelf="s")) == [book]
    assert shelf.page(Book.on_shelf, shelf="s", limit=5).items == [book]
    assert shelf.batch_get([REF]) == [book]
    assert shelf.transact_get([REF]) == [book]
    assert shelf.get(REF, project=[Book.available]) == {"available": -5}


def test_a_value_that_breaks_a_bound_can_be_moved_towards_it(shelf: Store) -> None:
    _write_past_the_model(shelf, available={"N": "-5"})
    assert shelf.patch(REF, Book.available.add(2)).available == -3
    with pytest.raises(ConstraintFailed):
        shelf.patch(REF, Book.available.add(-1))
    with shelf.edit(shelf.get(REF)) as draft:
        draft.title = "ok"
    assert shelf.patch(REF, Book.available.set(4)).available == 4


async def test_an_async_store_keeps_bounds_too(async_store: AsyncStore) -> None:
    await async_store.create_tables(books)
    scoped = async_store.scope(shelf="s")
    await scoped.create(Book(shelf="s", isbn="1"))
    with pytest.raises(ConstraintFailed):
        await scoped.patch(REF, Book.available.add(-5))
    assert (await scoped.get(Book, isbn="1")).available == 3
