"""Declarations that are built later than they are read: annotations that are strings, and entities with `defer_build`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import TYPE_CHECKING
from uuid import UUID  # noqa: TC003

import pytest

from gateleg.model import (
    GSI,
    TTL,
    Attr,
    Counter,
    Entity,
    JsonText,
    Key,
    KeyPart,
    Pattern,
    Record,
    Spec,
    Table,
    field,
    new_uuid,
    required,
    spec_of,
)
from gateleg.model.errors import UnknownComponent
from gateleg.model.expressions import Placeholders

if TYPE_CHECKING:
    from gateleg.model.wire import Item

visits = Table("visits", hash="place_key", range="id", indexes=[GSI("by-time", hash="country", range="at")])


class Place(KeyPart, template="{country}#{city}"):
    country: str
    city: str


class Guest(Record, case="camel"):
    full_name: Attr[str]


class Visit(Entity, table=visits):
    place: Attr[Place] = required(name="place_key")
    id: Attr[UUID] = new_uuid()
    at: Attr[datetime]
    guests: Attr[list[Guest]] = field(factory=list)

    key = Key("{place}", "{id}")
    in_country = Pattern("by-time", title="Visits of a country, in order")


def test_string_annotations_declare_the_same_entity() -> None:
    visit = Visit(place=Place("de", "ulm"), at=datetime(2026, 1, 1, tzinfo=UTC), guests=[Guest(full_name="Ann")])
    item = spec_of(Visit).encode(visit)
    assert item["place_key"] == {"S": "de#ulm"}
    assert item["guests"] == {"L": [{"M": {"fullName": {"S": "Ann"}}}]}
    assert spec_of(Visit).decode(item) == visit


def test_string_annotations_declare_the_same_patterns() -> None:
    (request,) = Visit.in_country(country="de").where(Visit.at > datetime(2026, 1, 1, tzinfo=UTC)).requests()
    assert request["KeyConditionExpression"] == "#country = :0 AND #at > :1"


def test_a_deferred_entity_is_built_at_its_first_use() -> None:
    table = Table("parcels", hash="id")

    class Parcel(Entity, table=table, defer_build=True):
        id: Attr[UUID] = new_uuid()
        weight: Attr[int]

        key = Key("{id}")

    assert not Parcel.__pydantic_complete__
    assert "__own_spec__" not in vars(Parcel)
    parcel = Parcel(weight=3)
    assert spec_of(Parcel).decode(spec_of(Parcel).encode(parcel)) == parcel
    assert Parcel.__pydantic_complete__


def test_expressions_of_a_deferred_entity_do_not_build_it() -> None:
    class Crate(Entity, table=Table("crates", hash="id"), defer_build=True):
        id: Attr[str]
        weight: Attr[int]

        key = Key("{id}")

    out = Placeholders()
    assert (Crate.weight > 3).render(out) == "#weight > :0"
    assert "__own_spec__" not in vars(Crate)


def declared_in_one_table() -> tuple[Table, type[Entity], type[Entity], type[Entity]]:
    table = Table("shared", hash="pk", tag="kind")

    class First(Entity, table=table, tag="first", defer_build=True):
        id: Attr[int]
        until: Attr[TTL]

        key = Key("FIRST#{id}")

    class Second(Entity, table=table, tag="second", defer_build=True):
        id: Attr[int]

        key = Key("SECOND#{id}")

    class Third(Entity, table=table, tag="third", defer_build=True):
        id: Attr[int]

        key = Key("THIRD#{id}")

    return table, First, Second, Third


def test_a_table_knows_its_deferred_entities_in_the_order_of_declaration() -> None:
    table, first, second, third = declared_in_one_table()
    assert spec_of(second).name == "Second"
    assert [spec.entity for spec in table.specs] == [first, second, third]


def test_a_table_is_defined_by_entities_that_are_not_yet_used() -> None:
    table, _, second, _ = declared_in_one_table()
    assert table.ttl() == "until"
    spec = table.spec_for({"pk": {"S": "SECOND#1"}, "kind": {"S": "second"}})
    assert spec is not None
    assert spec.entity is second


def test_a_mistake_in_a_deferred_entity_is_found_at_its_first_use() -> None:
    class Wrong(Entity, table=Table("wrong", hash="id"), defer_build=True):
        id: Attr[str]

        key = Key("{other}")

    for _ in range(2):
        with pytest.raises(UnknownComponent, match="uses 'other'"):
            spec_of(Wrong)


def test_a_deferred_record_keeps_what_it_does_not_know_at_every_depth() -> None:
    class Note(Record, defer_build=True):
        text: Attr[str]

    class Page(Record, defer_build=True):
        notes: Attr[list[Note]] = field(factory=list)

    class Book(Entity, table=Table("noted", hash="id"), defer_build=True):
        id: Attr[str]
        page: Attr[Page]
        last: Attr[Note | None] = field(None)

        key = Key("{id}")

    note = {"M": {"text": {"S": "x"}, "colour": {"S": "red"}}}
    item: Item = {"id": {"S": "1"}, "page": {"M": {"notes": {"L": [note]}, "number": {"N": "3"}}}, "last": note}
    book = spec_of(Book).decode(item)
    assert book.page.notes[0].text == "x"
    assert spec_of(Book).encode(book) == item


def test_a_deferred_record_is_read_within_and_beyond_its_bounds() -> None:
    class Note(Record, defer_build=True):
        text: Attr[str] = required(max_length=3)

    class Card(Entity, table=Table("cards", hash="id"), defer_build=True):
        id: Attr[str]
        note: Attr[Note]
        stored: Attr[JsonText[Note]]

        key = Key("{id}")

    item: Item = {"id": {"S": "1"}, "note": {"M": {"text": {"S": "longer than now"}}}, "stored": {"S": '{"text":"longer than now"}'}}
    card = spec_of(Card).decode(item)
    assert card.note.text == card.stored.text == "longer than now"


def test_a_subclass_of_a_deferred_entity_is_not_deferred() -> None:
    class Base(Entity, table=Table("bases", hash="id"), defer_build=True):
        id: Attr[str]

        key = Key("{id}")

    class Derived(Base, table=Table("derived", hash="id")):
        pass

    assert Derived.__pydantic_complete__
    assert not Base.__pydantic_complete__


def test_a_deferred_entity_that_counts_is_built_at_once_because_its_parent_must_know() -> None:
    class Shelf(Entity, table=Table("shelves", hash="id")):
        id: Attr[str]
        books: Attr[int] = field(0)

        key = Key("{id}")

    class Book(Entity, table=Table("books", hash="id"), defer_build=True):
        id: Attr[str]

        key = Key("{id}")
        counted = Counter(Shelf.books)

    assert spec_of(Shelf).counted == {"books": [Book]}


def test_the_codec_is_built_at_its_first_use() -> None:
    class Plain(Entity, table=Table("plain", hash="id")):
        id: Attr[str]

        key = Key("{id}")

    spec = spec_of(Plain)
    encode = spec.encode
    assert encode(Plain(id="a")) == {"id": {"S": "a"}}
    assert spec.encode is spec.codec.encode is not encode
    assert encode(Plain(id="b")) == {"id": {"S": "b"}}


def test_threads_that_use_an_entity_first_at_the_same_time_get_one_spec() -> None:
    class Ticket(Entity, table=Table("tickets", hash="id"), defer_build=True):
        id: Attr[str]

        key = Key("{id}")

    start = Barrier(8)

    def use(number: int) -> Spec[Ticket]:
        start.wait()
        ticket = Ticket(id=str(number))
        assert spec_of(Ticket).decode(spec_of(Ticket).encode(ticket)) == ticket
        return spec_of(Ticket)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(map(id, threads.map(use, range(8))))) == 1
    assert [spec.name for spec in Ticket.__table__.specs] == ["Ticket"]
