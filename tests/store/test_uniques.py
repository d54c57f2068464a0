"""Unique constraints over key parts, denormalised or not."""

from typing import Any

import pytest

from gateleg.model import Attr, Entity, Key, KeyPart, Table, Unique
from gateleg.store import Store, UniqueTaken


class Place(KeyPart, template="{tenant}#{branch}"):
    tenant: str
    branch: str


class Home(KeyPart, template="{land}#{town}", denormalise=False):
    land: str
    town: str


members = Table("Members", hash="PK", range="SK")


class Member(Entity, table=members):
    id: Attr[str]
    place: Attr[Place]
    home: Attr[Home]
    email: Attr[str]

    key = Key("MEMBER#{id}", "MEMBER")
    email_once = Unique("place", "email")
    one_per_town = Unique("home")


def member(id: str, **changes: Any) -> Member:
    values: dict[str, Any] = {"place": Place("acme", "main"), "home": Home("de", id), "email": "a@b"}
    return Member(id=id, **values | changes)


@pytest.fixture
def store() -> Store:
    store = Store.embedded()
    store.create_tables(members)
    return store


def test_the_parts_of_a_key_part_and_an_attribute_are_unique_together(store: Store) -> None:
    store.create(member("1"))
    store.create(member("2", place=Place("acme", "north")))
    with pytest.raises(UniqueTaken):
        store.create(member("3"))


def test_a_changed_key_part_frees_its_marker(store: Store) -> None:
    first = store.create(member("1"))
    second = store.patch(first, Member.place.set(Place("acme", "north")))
    third = store.create(member("2"))
    store.patch(second, Member.home.set(Home("de", "bonn")))
    store.patch(third, Member.home.set(first.home))
    with pytest.raises(UniqueTaken):
        store.patch(store.get(third), Member.home.set(Home("de", "bonn")))


def test_an_item_with_markers_over_key_parts_is_replaced_and_deleted(store: Store) -> None:
    first = store.create(member("1"))
    second = store.put(member("1", home=Home("de", "bonn")), replaces=first)
    store.delete(second)
    store.create(member("2", home=Home("de", "bonn")))
