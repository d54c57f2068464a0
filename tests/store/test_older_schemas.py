"""Writes to items of an older schema apply to the upcast item.

The law: a verb on an item that is stored in an older schema has the result, the error and the effect that it has on the same item stored in
the present one.
"""

from collections.abc import Callable
from typing import Any

import pytest

from gateleg.model import Attr, Counter, DecodeError, Entity, Item, Key, States, Table, field, spec_of, state, upcaster
from gateleg.store import AsyncStore, Store, StoreError, check, create, delete, patch


class Stage(States):
    NEW = state("new", to=["done"])
    DONE = state("done", to=["gone"])
    GONE = state("gone")


people = Table("People", hash="pk", tag="kind")


class Person(Entity, table=people, tag="person", schema=2):
    ident: Attr[str]
    name: Attr[str]
    visits: Attr[int] = field(0)
    stage: Attr[Stage] = field(Stage.NEW)
    note: Attr[str | None] = field(None)
    pets: Attr[int] = field(0)
    key = Key("PERSON#{ident}")


class Pet(Entity, table=people, tag="pet"):
    pet: Attr[str]
    ident: Attr[str]
    key = Key("PET#{pet}")
    owned = Counter(Person.pets)


@upcaster(Person, to=2)
def _join(item: Item) -> Item:
    """In the older schema, names were in two attributes, and the state `done` was called `finished`."""
    names = {"name": {"S": f"{item['first']['S']} {item['last']['S']}"}}
    stage = {"stage": {"S": "done" if item["stage"]["S"] == "finished" else item["stage"]["S"]}}
    return {wire: value for wire, value in item.items() if wire not in ("first", "last")} | names | stage


ADA = Person(ident="a", name="Ada Byron", visits=3, stage=Stage.DONE)


def stored_old(store: Store) -> None:
    item = {wire: value for wire, value in spec_of(Person).encode(ADA).items() if wire not in ("name", people.schema)}
    item |= {"first": {"S": "Ada"}, "last": {"S": "Byron"}, "stage": {"S": "finished"}}
    store.transport.call("PutItem", {"TableName": store.setup.name_of(people), "Item": item})


def stored_now(store: Store) -> None:
    store.put(ADA)


def _edit(store: Store) -> Any:
    with store.edit(store.get(Person, ident="a")) as person:
        person.name = "Ada King"
    return person


VERBS: dict[str, Callable[[Store], Any]] = {
    "patch by key": lambda store: store.patch(Person, Person.name.set("Ada King"), ident="a"),
    "patch by key, another attribute": lambda store: store.patch(Person, Person.visits.add(1), ident="a"),
    "patch of what was read": lambda store: store.patch(store.get(Person, ident="a"), Person.name.set("Ada King")),
    "patch, nothing returned": lambda store: store.patch(Person, Person.name.set("Ada King"), ident="a", returning="none"),
    "patch, old item returned": lambda store: store.patch(Person, Person.name.set("Ada King"), ident="a", returning="old"),
    "patch on condition": lambda store: store.patch(Person, Person.note.set("x"), ident="a", condition=Person.name == "Ada Byron"),
    "patch on another condition": lambda store: store.patch(Person, Person.note.set("x"), ident="a", condition=Person.name == "Ada"),
    "patch on absence": lambda store: store.patch(Person, Person.note.set("x"), ident="a", condition=Person.name.missing()),
    "transition": lambda store: store.patch(Person, Person.stage.to(Stage.GONE), ident="a"),
    "illegal transition": lambda store: store.patch(Person, Person.stage.to(Stage.DONE), ident="a"),
    "edit": _edit,
    "upsert": lambda store: store.upsert(Person, Person.name.set("Ada King"), ident="a"),
    "put": lambda store: store.put(ADA.model_copy(update={"name": "Ada King"})),
    "put on condition": lambda store: store.put(ADA.model_copy(update={"name": "Ada King"}), condition=Person.name == "Ada Byron"),
    "create": lambda store: store.create(ADA),
    "delete": lambda store: store.delete(Person, ident="a"),
    "delete on condition": lambda store: store.delete(Person, ident="a", condition=Person.name == "Ada Byron"),
    "delete on another condition": lambda store: store.delete(Person, ident="a", condition=Person.name == "Ada"),
    "transaction": lambda store: store.transact([patch(Person, Person.name.set("Ada King"), ident="a"), create(Pet(pet="p", ident="b"))]),
    "check": lambda store: store.transact([check(Person.key(ident="a"), Person.name == "Ada Byron"), create(Pet(pet="p", ident="nobody"))]),
    "failing check": lambda store: store.transact([check(Person.key(ident="a"), Person.name == "Ada"), create(Pet(pet="p", ident="b"))]),
    "delete in a transaction": lambda store: store.transact([delete(Person, ident="a", condition=Person.stage == Stage.DONE)]),
    "count": lambda store: store.create(Pet(pet="p", ident="a")),
}


def outcome(verb: Callable[[Store], Any], prepare: Callable[[Store], None]) -> tuple[Any, Any, Any]:
    """The result or error of an operation, and the stored item afterwards."""
    with Store.embedded() as store:
        store.create_tables(people)
        prepare(store)
        try:
            result = verb(store)
        except StoreError as error:
            result = type(error), error.message
        return result, store.find(Person, ident="a"), store.find(Pet, pet="p")


@pytest.mark.parametrize("verb", VERBS)
def test_methods_have_the_same_effect_on_items_of_an_older_schema(verb: str) -> None:
    assert outcome(VERBS[verb], stored_old) == outcome(VERBS[verb], stored_now)


def test_a_patch_of_an_item_of_an_older_schema_works_on_every_store(store: Store) -> None:
    store.create_tables(people)
    stored_old(store)
    assert store.patch(Person, Person.name.set("Ada King"), ident="a").name == "Ada King"
    assert store.get(Person, ident="a") == ADA.model_copy(update={"name": "Ada King"})


async def test_a_patch_of_an_item_of_an_older_schema_works_on_every_async_store(async_store: AsyncStore) -> None:
    await async_store.create_tables(people)
    item = {"pk": {"S": "PERSON#a"}, "kind": {"S": "person"}, "ident": {"S": "a"}, "stage": {"S": "new"}, "visits": {"N": "0"}}
    item |= {"pets": {"N": "0"}, "first": {"S": "Ada"}, "last": {"S": "Byron"}}
    await async_store.transport.call("PutItem", {"TableName": async_store.setup.name_of(people), "Item": item})
    assert (await async_store.patch(Person, Person.name.set("Ada King"), ident="a")).name == "Ada King"


def test_an_item_of_the_current_schema_needs_one_request(memory: Store) -> None:
    memory.create_tables(people)
    memory.put(ADA)
    sent = []
    call = memory.transport.call
    memory.transport.call = lambda operation, payload, **_: sent.append(operation) or call(operation, payload)  # type: ignore
    memory.patch(Person, Person.name.set("Ada King"), ident="a")
    assert len(sent) <= 1


def test_an_item_that_cannot_be_upcast_is_not_written(memory: Store) -> None:
    memory.create_tables(people)
    broken = {"pk": {"S": "PERSON#a"}, "kind": {"S": "person"}, "ident": {"S": "a"}, "stage": {"S": "new"}}
    memory.transport.call("PutItem", {"TableName": "People", "Item": broken})
    with pytest.raises(DecodeError, match="upcaster of Person to schema 2 failed"):
        memory.patch(Person, Person.visits.set(1), ident="a")
    assert memory.transport.call("GetItem", {"TableName": "People", "Key": {"pk": {"S": "PERSON#a"}}})["Item"] == broken


def test_an_item_of_a_later_schema_is_patched_unchanged(memory: Store) -> None:
    memory.create_tables(people)
    later = spec_of(Person).encode(ADA) | {people.schema: {"N": "7"}, "later": {"S": "kept"}}
    memory.transport.call("PutItem", {"TableName": "People", "Item": later})
    memory.patch(Person, Person.visits.add(1), ident="a")
    found = memory.transport.call("GetItem", {"TableName": "People", "Key": {"pk": {"S": "PERSON#a"}}})["Item"]
    assert found == later | {"visits": {"N": "4"}}
