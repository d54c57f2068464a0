"""Arguments of the wrong type, which type checkers report too, raise a clear error at the call."""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.errors import GatelegError
from gateleg.model import GSI, Attr, Entity, Key, Table, field
from gateleg.model.errors import BadName, NotAnEntity
from gateleg.store import Store, patch
from gateleg.store.errors import InvalidOption, NotAnOperation

table = Table("Shelves", hash="pk")


class Shelf(Entity, table=table):
    name: Attr[str]
    books: Attr[int] = field(0)
    key = Key("SHELF#{name}")


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


def test_a_short_table_name_may_become_long_enough_with_a_prefix() -> None:
    with Store.connect("embedded::memory:", prefix="test-") as prefixed:
        assert prefixed.ensure_tables(Table("ab", hash="pk")) == ["test-ab"]
