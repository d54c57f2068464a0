"""Declarations in modules whose annotations are strings."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID  # noqa: TC003

from gateleg.model import GSI, Attr, Entity, Key, KeyPart, Pattern, Record, Table, field, new_uuid, required, spec_of

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
