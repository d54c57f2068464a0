"""An item is addressed by the key under which it was read, even if the model would write the key in another form."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from gateleg.model import GSI, Attr, Entity, Item, Key, Pattern, Table, Unique, Version, field, spec_of
from gateleg.store import AsyncStore, NotFound, Store, delete, patch, put

events = Table("Events", hash="source", range="at", indexes=[GSI("by-kind", hash="kind_pk", range="kind_sk")])
AT = datetime(2024, 1, 1, tzinfo=UTC)
FOREIGN = "2024-01-01T00:00:00.000000+0000"


class Event(Entity, table=events):
    """An event whose key is a time."""

    source: Attr[str]
    at: Attr[datetime]
    kind: Attr[str] = field("none")
    seen: Attr[datetime | None] = field(None)
    text: Attr[str] = field("")

    key = Key("{source}", "{at}")
    kind_key = Key("KIND#{kind}", "{seen}#{source}", index="by-kind", shards=3)
    of_source = Pattern(title="The events of a source")
    of_kind = Pattern("by-kind", title="The events of a kind")


visits = Table("Visits", hash="pk", range="sk")


class Visit(Entity, table=visits):
    """A visit with a version, a key template and a unique constraint."""

    user: Attr[UUID]
    at: Attr[datetime]
    name: Attr[str] = field("")
    version: Attr[Version] = field(0)

    key = Key("USER#{user}", "VISIT#{at}")
    once = Unique("name")


EVENT = {"source": {"S": "s"}, "at": {"S": FOREIGN}, "kind": {"S": "none"}, "seen": {"S": FOREIGN}, "text": {"S": "old"}}


@pytest.fixture
def stored(store: Store) -> Store:
    store.create_tables(events, visits)
    store.transport.call("PutItem", {"TableName": "Events", "Item": EVENT})
    return store


def _event(store: Store) -> Event:
    (found,) = store.query(Event.of_source, source="s")
    return found


def _rows(store: Store) -> list[Any]:
    return [item["at"]["S"] for item in store.transport.call("Scan", {"TableName": "Events"})["Items"]]


def test_an_item_is_patched_under_its_stored_key(stored: Store) -> None:
    changed = stored.patch(_event(stored), Event.text.set("new"))
    assert (changed.at, changed.text) == (AT, "new")
    assert _rows(stored) == [FOREIGN]
    assert stored.patch(changed, Event.text.set("newer")).text == "newer"


def test_an_item_is_put_under_its_stored_key(stored: Store) -> None:
    read = _event(stored)
    stored.put(read.model_copy(update={"text": "copy"}))
    stored.put(read.model_copy(deep=True, update={"text": "deep"}))
    stored.batch_write([_event(stored)])
    assert _rows(stored) == [FOREIGN]
    assert _event(stored).text == "deep"


def test_an_item_is_deleted_under_its_stored_key(stored: Store) -> None:
    read = _event(stored)
    stored.delete(read)
    assert _rows(stored) == []
    stored.delete(read)
    with pytest.raises(NotFound):
        stored.delete(read, must_exist=True)


def test_all_ways_to_change_an_item_use_its_stored_key(stored: Store) -> None:
    with stored.edit(_event(stored)) as draft:
        draft.text = "edited"
    read = _event(stored)
    stored.save(read.model_copy(update={"text": "saved"}), before=read)
    assert stored.retrying(_event(stored), lambda event: [Event.text.set(event.text + "!")]).text == "saved!"
    stored.transact([patch(_event(stored), Event.text.set("transacted"))])
    stored.transact([put(_event(stored))])
    assert stored.get(read).text == stored.get(read.key).text == "transacted"
    assert stored.batch_get([read.key]) == stored.transact_get([read.key]) == [_event(stored)]
    assert _rows(stored) == [FOREIGN]
    stored.transact([delete(_event(stored))])
    assert _rows(stored) == []


def test_another_key_is_another_item(stored: Store) -> None:
    stored.put(_event(stored).model_copy(update={"source": "t"}))
    stored.put(Event(**_event(stored).model_dump()))
    assert sorted(_rows(stored)) == sorted([FOREIGN, "2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00.000000Z"])


def test_index_keys_of_the_stored_form_follow(stored: Store) -> None:
    read = _event(stored)
    changed = stored.patch(read, Event.kind.set("visit"))
    assert list(stored.query(Event.of_kind, kind="visit")) == [changed]
    stored.put(changed.model_copy(update={"kind": "put"}))
    assert [event.at for event in stored.query(Event.of_kind, kind="put")] == [AT]
    assert list(stored.query(Event.of_kind, kind="visit")) == []


def test_a_template_a_version_and_a_marker_get_along(stored: Store) -> None:
    user = UUID(int=7)
    visit = stored.create(Visit(user=user, at=AT, name="n"))
    item = spec_of(Visit).encode(visit)
    stored.transport.call("DeleteItem", {"TableName": "Visits", "Key": {name: item[name] for name in ("pk", "sk")}})
    foreign: Item = {**item, "sk": {"S": f"VISIT#{FOREIGN}"}, "pk": {"S": f"USER#{str(user).upper()}"}}
    stored.transport.call("PutItem", {"TableName": "Visits", "Item": foreign})
    (read,) = stored.export(Visit)
    changed = stored.patch(read, Visit.name.set("m"))
    assert changed.version == 2
    stored.put(changed, replaces=changed)
    (again,) = stored.export(Visit)
    stored.delete(again)
    assert stored.transport.call("Scan", {"TableName": "Visits"})["Count"] == 0


def test_an_item_in_the_form_of_the_model_remembers_nothing(stored: Store) -> None:
    event = stored.put(Event(source="x", at=AT, seen=AT))
    assert list(vars(stored.get(event))) == list(Event.model_fields)


async def test_an_async_store_uses_the_stored_key(async_store: AsyncStore) -> None:
    await async_store.create_tables(events)
    await async_store.transport.call("PutItem", {"TableName": "Events", "Item": EVENT})
    scoped = async_store.scope(source="s")
    (read,) = [event async for event in scoped.query(Event.of_source)]
    assert (await scoped.patch(read, Event.text.set("new"))).text == "new"
    await scoped.delete(read)
    assert [event async for event in scoped.query(Event.of_source)] == []
