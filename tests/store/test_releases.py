"""Two releases of a program share a table: each reads the items of the other, and keeps attributes that it does not know.

`Before` and `After` are one entity in two releases. The later one has a new attribute, a new index and a new attribute inside a map, and
keeps in two attributes what was one: for older items it has an upcaster, for older code it goes on writing the one.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.model import GSI, Attr, DecodeError, Entity, Item, Key, Pattern, Record, States, Table, field, spec_of, state, upcaster
from gateleg.store import Store


class Stage(States):
    NEW = state("new", to=["done"])
    DONE = state("done")


class LaterStage(States):
    NEW = state("new", to=["held", "done"])
    HELD = state("held", to=["done"])
    DONE = state("done")


class Home(Record):
    city: Attr[str]


class LaterHome(Record):
    city: Attr[str]
    country: Attr[str | None] = field(None)


old_table = Table("People", hash="PK")
new_table = Table("People", hash="PK", indexes=[GSI("by-email", hash="email")])


class Before(Entity, table=old_table):
    ident: Attr[str]
    name: Attr[str]
    visits: Attr[int] = field(0)
    stage: Attr[Stage] = field(Stage.NEW)
    home: Attr[Home | None] = field(None)
    key = Key("PERSON#{ident}")


class After(Entity, table=new_table, schema=2):
    ident: Attr[str]
    name: Attr[str]
    first: Attr[str]
    last: Attr[str]
    visits: Attr[int] = field(0)
    stage: Attr[LaterStage] = field(LaterStage.NEW)
    email: Attr[str | None] = field(None)
    home: Attr[LaterHome | None] = field(None)
    key = Key("PERSON#{ident}")
    by_email = Pattern("by-email", title="A person by their address")


@upcaster(After, to=2)
def _part_names(item: Item) -> Item:
    first, _, last = item["name"]["S"].partition(" ")
    return {**item, "first": {"S": first}, "last": {"S": last}}


ADA = After(ident="a", name="Ada Byron", first="Ada", last="Byron", email="ada@example.com", home=LaterHome(city="London", country="UK"))


@pytest.fixture
def shared() -> Iterator[Store]:
    with Store.embedded() as store:
        store.create_tables(new_table)
        yield store


def test_old_code_reads_what_new_code_wrote(shared: Store) -> None:
    shared.put(ADA)
    found = shared.get(Before, ident="a")
    assert (found.name, found.home) == ("Ada Byron", Home(city="London"))


def test_new_code_reads_what_old_code_wrote(shared: Store) -> None:
    shared.put(Before(ident="a", name="Ada Byron", visits=3))
    found = shared.get(After, ident="a")
    assert (found.first, found.last, found.visits, found.email) == ("Ada", "Byron", 3, None)


def test_new_code_upgrades_an_item_when_it_writes_it(shared: Store) -> None:
    shared.put(Before(ident="a", name="Ada Byron"))
    shared.put(shared.get(After, ident="a"))
    reply = shared.transport.call("GetItem", {"TableName": "People", "Key": {"PK": {"S": "PERSON#a"}}})
    assert reply["Item"]["first"] == {"S": "Ada"}
    assert reply["Item"][new_table.schema] == {"N": "2"}


@pytest.mark.parametrize("verb", ["put", "patch", "save", "edit"])
def test_attributes_unknown_to_old_code_survive_its_writes(shared: Store, verb: str) -> None:
    shared.put(ADA)
    read = shared.get(Before, ident="a")
    if verb == "put":
        shared.put(read.model_copy(update={"visits": 9}))
    elif verb == "patch":
        shared.patch(read, Before.visits.set(9))
    elif verb == "save":
        shared.save(read.model_copy(update={"visits": 9}), before=read)
    else:
        with shared.edit(read) as draft:
            draft.visits = 9
    assert shared.get(After, ident="a") == ADA.model_copy(update={"visits": 9})


def test_an_item_stays_in_an_index_that_old_code_does_not_know(shared: Store) -> None:
    shared.put(ADA)
    shared.put(shared.get(Before, ident="a").model_copy(update={"visits": 1}))
    assert [found.ident for found in shared.query(After.by_email, email="ada@example.com")] == ["a"]


def test_map_attributes_unknown_to_old_code_survive_too(shared: Store) -> None:
    shared.put(ADA)
    shared.put(shared.get(Before, ident="a"))
    assert shared.get(After, ident="a").home == LaterHome(city="London", country="UK")


def test_a_state_that_old_code_does_not_know_is_refused_and_not_overwritten(shared: Store) -> None:
    held = shared.put(ADA.model_copy(update={"stage": LaterStage.HELD}))
    with pytest.raises(DecodeError, match="stage"):
        shared.get(Before, ident="a")
    shared.patch(Before.key(ident="a"), Before.visits.add(1), returning="none")
    assert shared.get(After, ident="a") == held.model_copy(update={"visits": 1})


def test_new_code_reads_the_items_of_both_releases_together(shared: Store) -> None:
    shared.put(ADA)
    shared.put(Before(ident="b", name="Bob Hope"))
    found = shared.batch_get([After.key(ident="a"), After.key(ident="b")])
    assert [person and person.first for person in found] == ["Ada", "Bob"]


writes = st.lists(
    st.one_of(
        st.tuples(st.just("old"), st.sampled_from(["put", "patch"]), st.integers(0, 9)),
        st.tuples(st.just("new"), st.sampled_from(["put", "patch"]), st.sampled_from([None, "x@example.com", "y@example.com"])),
    ),
    max_size=6,
)


@given(writes, st.booleans())
def test_alternating_releases_keep_each_others_last_write(steps: list[tuple[str, str, Any]], old_first: bool) -> None:
    with Store.embedded() as store:
        store.create_tables(new_table)
        store.put(Before(ident="a", name="Ada Byron") if old_first else ADA.model_copy(update={"email": None, "home": None}))
        visits, email = 0, None
        for release, verb, value in steps:
            kind: Any = Before if release == "old" else After
            attribute = "visits" if release == "old" else "email"
            visits, email = (value, email) if release == "old" else (visits, value)
            read = store.get(kind, ident="a")
            if verb == "put":
                store.put(read.model_copy(update={attribute: value}))
            else:
                store.patch(read, getattr(kind, attribute).set(value))
        found = store.get(After, ident="a")
        assert (found.visits, found.email, found.first) == (visits, email, "Ada")
        assert store.get(Before, ident="a").visits == visits


def test_copies_of_an_instance_keep_unknown_attributes() -> None:
    item = spec_of(After).encode(ADA)
    copied = spec_of(Before).decode(item).model_copy(deep=True)
    assert spec_of(Before).encode(copied) == item
