"""Arguments of the wrong type, which type checkers report too, raise a clear error at the call."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.errors import GatelegError
from gateleg.model import GSI, Attr, Collection, Entity, Key, Pattern, Table, field
from gateleg.model.errors import BadName, DeclarationError, ExpressionError, ForeignAttribute, NotAnEntity, NotAQuery, UnknownArgument
from gateleg.store import Store, check, create, patch
from gateleg.store.errors import BadAddress, BadLimit, CannotOpen, InvalidOption, NotAnOperation, OutOfScope

table = Table("Shelves", hash="pk")


class Shelf(Entity, table=table):
    name: Attr[str]
    books: Attr[int] = field(0)
    notes: Attr[list[str]] = field(factory=list)
    key = Key("SHELF#{name}")
    named = Pattern(title="The shelf of a name")


class Room(Entity, table=Table("Rooms", hash="pk")):
    name: Attr[str]
    books: Attr[int] = field(0)
    key = Key("ROOM#{name}")


#: as a program has them that no type checker has read
shelf: Any = Shelf
room: Any = Room


@pytest.fixture
def store() -> Store:
    made = Store.connect("embedded::memory:")
    made.ensure_tables(table)
    made.create(Shelf(name="a"))
    return made


CALLS: dict[str, tuple[Callable[[Any], object], type[GatelegError], str]] = {
    "create": (lambda store: store.create(Shelf), NotAnEntity, "Pass an instance"),
    "put": (lambda store: store.put(Shelf), NotAnEntity, "Pass an instance"),
    "put returning": (lambda store: store.put(Shelf(name="a"), returning="all"), InvalidOption, "'new', 'old', 'none'."),
    "patch returning": (lambda store: store.patch(Shelf, Shelf.books.set(1), name="a", returning="all"), InvalidOption, "'changed'"),
    "delete returning": (lambda store: store.delete(Shelf, name="a", returning="new"), InvalidOption, "'none', 'old'"),
    "patch with a dictionary": (lambda store: store.patch(Shelf(name="a"), {"books": 1}), InvalidOption, "not dict"),
    "project by name": (lambda store: store.get(Shelf, name="a", project=["books"]), InvalidOption, "given 'books'"),
    "transact without a list": (lambda store: store.transact(patch(Shelf(name="a"), Shelf.books.set(1))), NotAnOperation, "([...])"),
    "a key without its values": (lambda store: store.get(Shelf.key, name="a"), NotAnEntity, "Shelf.key(name=...)"),
    "a text in place of an entity": (lambda store: store.get("a", name="a"), NotAnEntity, "str is not an entity"),
    "retrying with a number": (lambda store: store.retrying(Shelf, lambda now: now.books, name="a"), InvalidOption, "returned 0"),
    "scan of an entity": (lambda store: list(store.scan(Shelf)), InvalidOption, "Shelf.__table__"),
    "tables in a list": (lambda store: store.ensure_tables([table]), InvalidOption, "A list of tables"),
    "an address in place of a transport": (lambda store: Store("embedded:./data"), InvalidOption, "Write Store.connect(...)"),  # type: ignore[arg-type]
    "the value of an attribute of another type": (
        lambda store: store.patch(Shelf, shelf.books.set(shelf.name), name="a"),
        ExpressionError,
        "stored as N, and the other as S",
    ),
    "an element of a number": (lambda store: store.patch(Shelf, shelf.books[0].set(1), name="a"), ExpressionError, "[0] works on lists"),
    "a value of a text": (lambda store: store.patch(Shelf, shelf.name["x"].set(1), name="a"), ExpressionError, "['x'] works on maps"),
    "an element from the end": (
        lambda store: store.patch(Shelf, shelf.notes[-1].set("x"), name="a"),
        ExpressionError,
        "Use an index from 0",
    ),
    "edit of an entity": (lambda store: store.edit(Shelf), NotAnEntity, "given the class Shelf"),
    "save of another entity": (lambda store: store.save(Shelf(name="a"), before=Room(name="a")), InvalidOption, "before= is a Room"),
    "retrying with a single action": (
        lambda store: store.retrying(Shelf, lambda _: Shelf.books.set(1), name="a"),
        InvalidOption,
        "a single",
    ),
    "retrying without a decision": (lambda store: store.retrying(Shelf, lambda _: None, name="a"), InvalidOption, "returned None"),
    "retrying without a function": (lambda store: store.retrying(Shelf, Shelf.books.set(1), name="a"), InvalidOption, "takes a function"),
    "batch_get of an entity": (lambda store: store.batch_get([Shelf]), InvalidOption, "given class, Shelf"),
    "batch_get of one": (lambda store: store.batch_get(Shelf.key(name="a")), InvalidOption, "a single Ref"),
    "batch_write of one": (lambda store: store.batch_write(Shelf(name="a", books=1)), InvalidOption, "a single Shelf"),
    "batch_write of operations": (lambda store: store.batch_write([create(Shelf(name="b"))]), InvalidOption, "given Put"),
    "batch_write deletes": (lambda store: store.batch_write(deletes=[Shelf]), InvalidOption, "references or instances"),
    "ensure_tables of an entity": (lambda store: store.ensure_tables(Shelf), InvalidOption, "Shelf.__table__"),
    "ensure_tables of a name": (lambda store: store.ensure_tables("Shelves"), InvalidOption, "'Shelves' is not a table"),
    "health of a name": (lambda store: store.health("Shelves"), InvalidOption, "'Shelves' is not a table"),
    "scope of a text": (lambda store: store.scope("a"), OutOfScope, 'store.scope(tenant="acme")'),
    "scope of nothing": (lambda store: store.scope(name=None), OutOfScope, "name=None"),
    "a negative limit": (lambda store: store.query(Shelf.named, name="a", limit=-1), BadLimit, "and is -1"),
    "a limit as text": (lambda store: store.count(Shelf.named, name="a", limit="3"), BadLimit, "and is '3'"),
    "a page's limit as text": (lambda store: store.page(Shelf.named, name="a", limit="3"), BadLimit, "must be an int"),
    "query of a key": (lambda store: store.query(Shelf.key, name="a"), NotAQuery, "Shelf.key is neither"),
    "collect of a pattern": (lambda store: store.collect(Shelf.named, name="a"), NotAQuery, "Use query"),
    "a collection of nothing": (lambda store: Collection(title="Nothing"), DeclarationError, "at least one entity"),
    "an entity outside a collection": (
        lambda store: store.collect(Collection(Shelf, title="A shelf"), name="a").one(Room),
        UnknownArgument,
        "It has Shelf",
    ),
    "a page's project by name": (lambda store: store.page(Shelf.named, name="a", limit=1, project=["books"]), InvalidOption, "'books'"),
    "project of another entity": (lambda store: store.query(Shelf.named, name="a", project=[Room.books]), InvalidOption, "Room.books"),
    "a condition as text": (
        lambda store: store.patch(Shelf, Shelf.books.set(1), name="a", condition="books > 1"),
        ForeignAttribute,
        "given 'books > 1'",
    ),
    "a filter as text": (lambda store: shelf.named(name="a").filter("books > 1"), ForeignAttribute, ".filter(...) takes"),
    "a condition of another entity": (
        lambda store: store.patch(Shelf, Shelf.books.set(1), name="a", condition=(shelf.books == 0) & ~(room.books.size() > 1)),
        ForeignAttribute,
        "Room.books is not an attribute of Shelf",
    ),
    "a create's condition": (lambda store: store.create(Shelf(name="b"), condition=Room.books == 0), ForeignAttribute, "Room.books"),
    "a put's condition": (lambda store: store.put(Shelf(name="a"), condition=Room.books == 0), ForeignAttribute, "Room.books"),
    "a delete's condition": (lambda store: store.delete(Shelf, name="a", condition=Room.books.is_in([0])), ForeignAttribute, "Room.books"),
    "a check of another entity": (
        lambda store: store.transact([check(Shelf.key(name="a"), room.books.between(0, 1))]),
        ForeignAttribute,
        "Room.books",
    ),
    "a filter of another entity": (
        lambda store: store.query(shelf.named(name="a").filter(room.books == 0)),
        ForeignAttribute,
        "Room.books",
    ),
    "an address that is not set": (lambda store: Store.connect(None), BadAddress, "None is not the address"),  # type: ignore[arg-type]
    "a folder that cannot be created": (lambda store: Store.connect("embedded:/proc/none"), CannotOpen, "The folder of /proc/none"),
    "a short table name": (lambda store: store.ensure_tables(Table("ab", hash="pk")), BadName, "'ab' of a table"),
    "a short index name": (
        lambda store: store.create_tables(Table("Halls", hash="pk", indexes=[GSI("by", hash="owner")])),
        BadName,
        "'by' of an index of Halls",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_explained_and_nothing_is_written(store: Store, call: str) -> None:
    made, error, words = CALLS[call]
    with pytest.raises(error) as refused:
        made(store)
    assert words in str(refused.value)
    assert store.get(Shelf, name="a").books == 0


def test_a_long_value_in_place_of_a_key_is_shown_shortened(store: Store) -> None:
    with pytest.raises(GatelegError) as refused:
        store.get(Shelf, name=["a"] * 1000)
    assert "Shelf.name cannot be ['a', 'a'" in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_short_table_name_may_become_long_enough_with_a_prefix() -> None:
    with Store.connect("embedded::memory:", prefix="test-") as prefixed:
        assert prefixed.ensure_tables(Table("ab", hash="pk")) == ["test-ab"]
