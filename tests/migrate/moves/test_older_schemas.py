"""Items of older schemas that move: their upcasters run on the way, also those that ask for another item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Moving, Phase
from gateleg.model import Attr, Entity, Item, Key, Table, field, upcaster
from tests.migrate.moves.layouts import opened, raw

if TYPE_CHECKING:
    from gateleg.store import Store

shelves, old_books, new_books = Table("shelves", hash="id"), Table("old-books", hash="id"), Table("new-books", hash="room", range="id")


class Shelf(Entity, table=shelves):
    """Where books stand."""

    id: Attr[str]
    room: Attr[str]
    key = Key("{id}")


class OldBook(Entity, table=old_books, schema=3):
    """A book; schema 1 called its title a name, and before schema 3 only its shelf knew the room."""

    id: Attr[str]
    shelf: Attr[str]
    room: Attr[str]
    title: Attr[str] = field("")
    key = Key("{id}")


@upcaster(OldBook, to=2)
def named(item: Item) -> Item:
    return {**{name: value for name, value in item.items() if name != "name"}, "title": item["name"]}


@upcaster(OldBook, to=3, asks=lambda item: Shelf.key(id=item["shelf"]["S"]))
def placed(item: Item, shelf: Shelf | None) -> Item:
    return {**item, "room": {"S": "cellar" if shelf is None else shelf.room}}


class NewBook(Entity, table=new_books):
    """A book under its room."""

    room: Attr[str]
    id: Attr[str]
    shelf: Attr[str]
    title: Attr[str] = field("")
    key = Key("{room}", "{id}")


move = KeyMove(
    "books",
    OldBook,
    NewBook,
    convert=lambda old: NewBook(**old.model_dump()),
    revert=lambda new: OldBook(**new.model_dump()),
)


@pytest.fixture
def store() -> Store:
    store = opened()
    store.ensure_tables(shelves, old_books, new_books)
    store.put(Shelf(id="s1", room="attic"))
    texts = {"id": "1", "shelf": "s1", "name": "Emma"}, {"id": "2", "shelf": "s9", "title": "Persuasion", "_schema": 2}
    for item in texts:
        wire = {name: {"S": value} if isinstance(value, str) else {"N": str(value)} for name, value in item.items()}
        store.transport.call("PutItem", {"TableName": "old-books", "Item": wire})
    store.put(OldBook(id="3", shelf="s1", room="hall", title="Sanditon"))
    return store


def migrator(store: Store) -> Migrator:
    return Migrator(store, "library", [Migration(1, "by-room", moves=(move,))], by="ann", options=MoveOptions(segments=2, force=True))


def test_items_of_every_schema_are_copied_and_verified_and_come_back(store: Store) -> None:
    before = {book.id: book for book in store.export(OldBook)}
    one = migrator(store)
    one.apply()
    assert {(book.room, book.id, book.title) for book in store.export(NewBook)} == {
        ("attic", "1", "Emma"),
        ("cellar", "2", "Persuasion"),
        ("hall", "3", "Sanditon"),
    }
    assert one.verify(1)["books/all"].holds
    one.apply(until=Phase.CLEAN_UP)
    assert raw(store, old_books) == []
    one.rollback(1)
    assert {book.id: book for book in store.export(OldBook)} == before
    assert raw(store, new_books) == []


@pytest.mark.parametrize("phase", [Phase.DUAL_WRITE, Phase.CUT_OVER])
def test_clients_write_items_of_older_schemas(store: Store, phase: Phase) -> None:
    migrator(store).apply(until=phase)
    client = store.moving(Moving([move]))
    assert client.patch(OldBook, OldBook.title.set("Lady Susan"), id="2").room == "cellar"
    assert store.get(NewBook, room="cellar", id="2").title == "Lady Susan"
    client.delete(OldBook.key(id="1"))
    assert store.find(NewBook, room="attic", id="1") is None
    client.put(OldBook(id="3", shelf="s1", room="attic", title="moved"))
    assert [(book.room, book.title) for book in store.export(NewBook) if book.id == "3"] == [("attic", "moved")]
    migrator(store).apply()
    assert migrator(store).verify(1)["books/all"].holds
