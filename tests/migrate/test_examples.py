"""Worked examples of migrations, each applied to stored data and undone: a new index, a changed type, a renamed attribute, one table split
into two, two tables joined into one, children that need their parent, and companions of a new layout."""

from __future__ import annotations

from typing import Any

import pytest

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Moving, Phase, check_consistency
from gateleg.migrate.errors import PhaseRefused
from gateleg.model import GSI, Attr, Counter, Entity, Item, Key, Pattern, Table, Unique, field, upcaster
from gateleg.store import Store, UniqueTaken
from tests.migrate.moves.layouts import opened, raw


def migrator(store: Store, *migrations: Migration) -> Migrator:
    return Migrator(store, "shop", migrations, by="ann", options=MoveOptions(segments=2, force=True))


# A new index, and an attribute of another type under another name.

plain_people = Table("people", hash="id")
people = Table("people", hash="id", indexes=[GSI("by-city", hash="city", range="id")])


class Person(Entity, table=people, schema=2):
    """Somebody; schema 1 had `age` as a text and called the city a town."""

    id: Attr[str]
    city: Attr[str]
    age: Attr[int]

    key = Key("{id}")
    in_city = Pattern("by-city", title="The people of a city")


@upcaster(Person, to=2)
def numbers_and_cities(item: Item) -> Item:
    rest = {name: value for name, value in item.items() if name not in ("town", "age")}
    return {**rest, "city": item["town"], "age": {"N": item["age"]["S"]}}


def test_an_index_is_added_and_watched_and_items_get_other_types_and_names() -> None:
    store = opened()
    store.ensure_tables(plain_people)
    for number in range(30):
        item = {"id": {"S": f"{number}"}, "town": {"S": "Ulm"}, "age": {"S": f"{number}"}}
        store.transport.call("PutItem", {"TableName": "people", "Item": item})
    one = migrator(store, Migration(1, "people-by-city", tables=(people,), rewrites=(Person,)))
    assert one.plan()[0][1] == ["people: create the index by-city (city, id)", "rewrite Person"]
    one.apply()
    assert [person.age for person in store.query(Person.in_city, city="Ulm", limit=3)] == [0, 1, 10]
    assert {tuple(sorted(item)) for item in raw(store, plain_people)} == {("_schema", "age", "city", "id")}
    # What was rewritten in place is undone from the backup that the migration has made.
    one.restore(1)
    assert {tuple(sorted(item)) for item in raw(store, plain_people)} == {("age", "id", "town")}


# One table split into two, by what the items are; and two tables joined into one.

documents = Table("documents", hash="id")
invoices, letters = Table("invoices", hash="number"), Table("letters", hash="id")
archive = Table("archive", hash="pk", range="sk", tag="kind")


class Document(Entity, table=documents):
    """An invoice or a letter."""

    id: Attr[str]
    kind: Attr[str]
    text: Attr[str] = field("")
    key = Key("{id}")


class Invoice(Entity, table=invoices):
    """A document that is paid."""

    number: Attr[str]
    text: Attr[str] = field("")
    key = Key("{number}")


class Letter(Entity, table=letters):
    """A document that is read."""

    id: Attr[str]
    text: Attr[str] = field("")
    key = Key("{id}")


split = Migration(
    1,
    "split-documents",
    moves=(
        KeyMove(
            "invoices",
            Document,
            Invoice,
            convert=lambda one: Invoice(number=one.id, text=one.text) if one.kind == "invoice" else None,
            revert=lambda one: Document(id=one.number, kind="invoice", text=one.text),
        ),
        KeyMove(
            "letters",
            Document,
            Letter,
            convert=lambda one: Letter(id=one.id, text=one.text) if one.kind == "letter" else None,
            revert=lambda one: Document(id=one.id, kind="letter", text=one.text),
        ),
    ),
)


def test_one_table_is_split_into_two() -> None:
    store = opened()
    store.ensure_tables(documents, invoices, letters)
    for number in range(10):
        store.put(Document(id=f"{number}", kind="invoice" if number % 2 else "letter", text=f"text {number}"))
    before = raw(store, documents)
    one = migrator(store, split)
    one.apply()
    assert sorted(invoice.number for invoice in store.export(Invoice)) == ["1", "3", "5", "7", "9"]
    assert sorted(letter.id for letter in store.export(Letter)) == ["0", "2", "4", "6", "8"]
    client = store.moving(Moving(split.moves))
    # A document that becomes something else leaves one table for the other.
    client.patch(Document, Document.kind.set("letter"), id="1")
    assert store.find(Invoice, number="1") is None
    assert store.get(Letter, id="1").text == "text 1"
    client.patch(Document, Document.kind.set("invoice"), id="1")
    client.put(Letter(id="new", text="by the new entity"))
    assert store.get(Document, id="new").kind == "letter"
    client.delete(Letter.key(id="new"))
    one.rollback(1)
    assert raw(store, documents) == before
    assert raw(store, invoices) == raw(store, letters) == []


class ArchivedInvoice(Entity, table=archive, tag="invoice"):
    """An invoice in the archive."""

    number: Attr[str]
    text: Attr[str] = field("")
    key = Key("INVOICES", "{number}")


class ArchivedLetter(Entity, table=archive, tag="letter"):
    """A letter in the archive."""

    id: Attr[str]
    text: Attr[str] = field("")
    key = Key("LETTERS", "{id}")


join = Migration(
    2,
    "join-archive",
    moves=(
        KeyMove(
            "archive-invoices",
            Invoice,
            ArchivedInvoice,
            convert=lambda one: ArchivedInvoice(**one.model_dump()),
            revert=lambda one: Invoice(**one.model_dump()),
        ),
        KeyMove(
            "archive-letters",
            Letter,
            ArchivedLetter,
            convert=lambda one: ArchivedLetter(**one.model_dump()),
            revert=lambda one: Letter(**one.model_dump()),
        ),
    ),
)


def test_two_tables_are_joined_into_one() -> None:
    store = opened()
    store.ensure_tables(invoices, letters, archive)
    for number in range(4):
        store.put(Invoice(number=f"{number}", text="i"))
        store.put(Letter(id=f"{number}", text="l"))
    one = migrator(store, join)
    one.apply(until=Phase.CLEAN_UP)
    assert len(raw(store, archive)) == 8
    assert raw(store, invoices) == raw(store, letters) == []
    one.rollback(2)
    assert (len(raw(store, invoices)), len(raw(store, letters)), raw(store, archive)) == (4, 4, [])


# Children whose new key needs their parent's, and companions that only the new layout has.

threads, messages = Table("threads", hash="id"), Table("messages", hash="id")
tenant_data = Table("tenant-data", hash="pk", range="sk", tag="kind")


class Thread(Entity, table=threads):
    """A conversation, which knows its tenant."""

    id: Attr[str]
    tenant: Attr[str]
    key = Key("{id}")


class Message(Entity, table=messages):
    """A message, which knows only its thread."""

    id: Attr[str]
    thread: Attr[str]
    slug: Attr[str] = field("")
    key = Key("{id}")


class TenantThread(Entity, table=tenant_data, tag="thread"):
    """A conversation under its tenant, which counts its messages."""

    tenant: Attr[str]
    thread: Attr[str]
    messages: Attr[int] = field(0)
    key = Key("TENANT#{tenant}", "THREAD#{thread}")


class TenantMessage(Entity, table=tenant_data, tag="message"):
    """A message under its tenant; its slug is unique there."""

    tenant: Attr[str]
    thread: Attr[str]
    id: Attr[str]
    slug: Attr[str] = field("")
    key = Key("TENANT#{tenant}", "MESSAGE#{thread}#{id}")
    one_slug = Unique("tenant", "slug")
    counted = Counter(TenantThread.messages)


def to_tenant_message(message: Message, thread: Thread) -> TenantMessage:
    return TenantMessage(tenant=thread.tenant, thread=message.thread, id=message.id, slug=message.slug)


by_tenant = Migration(
    1,
    "by-tenant",
    moves=(
        KeyMove(
            "threads",
            Thread,
            TenantThread,
            convert=lambda one: TenantThread(tenant=one.tenant, thread=one.id),
            revert=lambda one: Thread(tenant=one.tenant, id=one.thread),
        ),
        KeyMove(
            "messages",
            Message,
            TenantMessage,
            convert=to_tenant_message,
            revert=lambda one: Message(id=one.id, thread=one.thread, slug=one.slug),
            lookup=lambda message: Thread.key(id=message.thread),
        ),
    ),
)


def conversation() -> Store:
    store = opened()
    store.ensure_tables(threads, messages, tenant_data)
    store.put(Thread(id="t1", tenant="acme"))
    store.put(Thread(id="t2", tenant="globex"))
    for number in range(6):
        store.put(Message(id=f"{number}", thread=f"t{1 + number % 2}", slug=f"slug {number}"))
    return store


def test_children_get_their_key_from_their_parent_and_companions_are_made() -> None:
    store = conversation()
    before = raw(store, messages)
    migrator(store, by_tenant).apply()
    assert store.get(TenantThread, tenant="acme", thread="t1").messages == 3
    assert check_consistency(store, [tenant_data]).sound
    client = store.moving(Moving(by_tenant.moves))
    with pytest.raises(UniqueTaken):
        client.put(Message(id="9", thread="t1", slug="slug 0"))
    client.put(Message(id="7", thread="t1", slug="slug 7"))
    assert store.get(TenantThread, tenant="acme", thread="t1").messages == 4
    # Another thread of the same tenant: the copy gets another key, and its unique value and its count go along.
    client.put(Thread(id="t3", tenant="acme"))
    client.patch(Message, Message.thread.set("t3"), id="7")
    assert store.get(TenantThread, tenant="acme", thread="t3").messages == 1
    client.patch(Message, Message.thread.set("t1"), id="7")
    client.delete(Thread.key(id="t3"))
    client.delete(client.get(TenantMessage, tenant="acme", thread="t1", id="7"))
    assert store.get(TenantThread, tenant="acme", thread="t1").messages == 3
    assert check_consistency(store, [tenant_data]).sound
    migrator(store, by_tenant).rollback(1)
    assert raw(store, messages) == before
    assert store.transport.call("Scan", {"TableName": "tenant-data"})["Count"] == 0


def test_children_are_cleaned_up_before_their_parents_and_restored_after_them() -> None:
    store = conversation()
    before = raw(store, threads), raw(store, messages)
    one = migrator(store, by_tenant)
    one.apply(until=Phase.CLEAN_UP)
    assert raw(store, threads) == raw(store, messages) == []
    client = store.moving(Moving(by_tenant.moves))
    client.create(TenantMessage(tenant="acme", thread="t1", id="late", slug="late"))
    assert store.get(TenantThread, tenant="acme", thread="t1").messages == 4
    one.rollback(1, until=Phase.CUT_OVER)
    assert store.get(Message, id="late").thread == "t1"
    store.moving(Moving(by_tenant.moves)).delete(Message.key(id="late"))
    one.rollback(1)
    assert (raw(store, threads), raw(store, messages)) == before
    assert store.transport.call("Scan", {"TableName": "tenant-data"})["Count"] == 0


def test_orphans_are_listed_and_moved_once_they_have_a_parent() -> None:
    store = conversation()
    store.put(Message(id="lost", thread="t9", slug="lost"))
    one = migrator(store, by_tenant)
    with pytest.raises(PhaseRefused, match="t9"):
        one.apply()
    errors: list[dict[str, Any]] = one.status()[0].stages[1]["errors"]
    assert [(error["reason"], error["key"]) for error in errors] == [("orphan", '{"id": {"S": "lost"}}')]
    store.moving(Moving(by_tenant.moves)).put(Thread(id="t9", tenant="acme"))
    one.apply()
    assert store.get(TenantMessage, tenant="acme", thread="t9", id="lost").slug == "lost"
