"""The item that an update leaves is worked out as the database does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.migrate.moves.items import canonical, digest
from gateleg.migrate.moves.update_results import updated
from gateleg.model import Attr, Entity, Key, Table, field
from gateleg.store import Store, patch, upsert

if TYPE_CHECKING:
    from collections.abc import Iterator

things = Table("things", hash="id")


class Thing(Entity, table=things):
    """Something with attributes of every kind that updates treat differently."""

    id: Attr[str]
    number: Attr[int] = field(0)
    other: Attr[int | None] = field(None)
    words: Attr[set[str] | None] = field(None)
    numbers: Attr[set[int] | None] = field(None)
    entries: Attr[list[str]] = field(factory=list)
    details: Attr[dict[str, int]] = field(factory=dict)

    key = Key("{id}")


values = st.integers(-1000, 1000)
texts = st.text("abc", min_size=1, max_size=2)
actions = st.one_of(
    values.map(lambda n: [Thing.number.add(n)]),
    values.map(lambda n: [Thing.number.set(n), Thing.other.remove()]),
    values.map(lambda n: [Thing.other.set(Thing.number + n)]),
    values.map(lambda n: [Thing.number.set(Thing.number - n), Thing.other.set(n)]),
    st.sets(texts, min_size=1, max_size=3).map(lambda s: [Thing.words.add(s)]),
    st.sets(texts, min_size=1, max_size=3).map(lambda s: [Thing.words.delete(s)]),
    st.sets(values, min_size=1, max_size=3).map(lambda s: [Thing.numbers.add(s)]),
    st.lists(texts, min_size=1, max_size=3).map(lambda s: [Thing.entries.append(*s)]),
    st.lists(texts, min_size=1, max_size=3).map(lambda s: [Thing.entries.prepend(*s)]),
    texts.map(lambda t: [Thing.entries[0].set(t)]),
    st.just([Thing.entries[0].remove(), Thing.entries[2].remove()]),
    values.map(lambda n: [Thing.details["a"].set(n)]),
    st.just([Thing.details["a"].remove()]),
)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.embedded() as opened:
        opened.ensure_tables(things)
        yield opened


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(actions, min_size=1, max_size=6), st.sets(texts, max_size=3), st.lists(texts, max_size=4))
def test_updates_are_worked_out_as_the_database_does(store: Store, updates: list[list[Any]], words: set[str], entries: list[str]) -> None:
    store.put(Thing(id="x", words=words or None, entries=entries))
    for some in updates:
        before, write = stored(store, "x"), patch(Thing.key(id="x"), *some).params()
        store.transport.call("UpdateItem", write)
        assert canonical({"M": updated(before, write)}) == canonical({"M": stored(store, "x")})


def stored(store: Store, id: str) -> dict[str, Any]:
    item: dict[str, Any] = store.transport.call("GetItem", {"TableName": "things", "Key": {"id": {"S": id}}})["Item"]
    return item


def test_an_update_of_an_item_that_is_not_there_begins_with_its_key(store: Store) -> None:
    write = upsert(Thing.key(id="y"), Thing.number.add(3), Thing.other.set(2)).params()
    store.transport.call("UpdateItem", write)
    assert canonical({"M": updated(None, write)}) == canonical({"M": stored(store, "y")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": {"N": "1.0"}}, {"a": {"N": "1"}}),
        ({"a": {"SS": ["x", "y"]}}, {"a": {"SS": ["y", "x"]}}),
        ({"a": {"NS": ["1", "2e1"]}}, {"a": {"NS": ["20", "1.00"]}}),
        ({"a": {"M": {"b": {"N": "0"}, "c": {"BOOL": True}}}}, {"a": {"M": {"c": {"BOOL": True}, "b": {"N": "-0"}}}}),
    ],
)
def test_equal_items_have_one_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert digest(one) == digest(other)
    assert digest(one) != digest({"a": {"S": "1"}})
    assert digest({**one, "z": {"S": "mine"}}, frozenset({"z"})) == digest(other)
