"""One test for each mistake in a key that a declaration is refused for; the message must name the way out."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from gateleg.model import (
    GSI,
    Attr,
    Entity,
    Key,
    KeyPart,
    Table,
    field,
    required,
    spec_of,
)
from gateleg.model.errors import (
    BadKeyOption,
    BadMark,
    KeyMismatch,
    KeyValueError,
    MissingKey,
    NegativeInKey,
    NumberWithoutWidth,
    OptionalComponent,
    OverlappingKeys,
    StateInKey,
    UnknownComponent,
    UnsupportedType,
    WireNameClash,
)
from tests.model.sample_tables import Phase, pair, single


def test_an_entity_without_a_key() -> None:
    with pytest.raises(MissingKey, match=r'key = Key\("\{PK\}", "\{SK\}"\)'):

        class _(Entity, table=pair()):
            id: Attr[str]


def test_a_key_without_a_template_for_the_range() -> None:
    with pytest.raises(MissingKey, match="one template for each"):

        class _(Entity, table=pair()):
            id: Attr[str]
            key = Key("A#{id}")


def test_an_unknown_component() -> None:
    with pytest.raises(UnknownComponent, match="It has id"):

        class _(Entity, table=single()):
            id: Attr[str]
            key = Key("{identity}")


def test_an_optional_component_of_the_primary_key() -> None:
    with pytest.raises(OptionalComponent):

        class _(Entity, table=single()):
            id: Attr[str | None] = field(None)
            key = Key("{id}")


def test_a_number_without_width_in_a_sort_key() -> None:
    with pytest.raises(NumberWithoutWidth, match=":03d"):

        class _(Entity, table=pair()):
            id: Attr[str]
            n: Attr[int]
            key = Key("A#{id}", "N#{n}")


def test_a_number_without_width_in_a_hash_is_fine() -> None:
    class Numbered(Entity, table=pair()):
        n: Attr[int]
        key = Key("N#{n}", "X")

    assert Numbered.key(n=5).key["PK"] == {"S": "N#5"}


def test_a_padded_number_that_may_be_negative() -> None:
    with pytest.raises(NegativeInKey, match="ge=0"):

        class _(Entity, table=pair()):
            id: Attr[str]
            n: Attr[int] = required(ge=-5)
            key = Key("A#{id}", "N#{n:03d}")


def test_a_state_in_the_primary_key() -> None:
    with pytest.raises(StateInKey):

        class _(Entity, table=pair()):
            id: Attr[str]
            phase: Attr[Phase] = field(Phase.NEW)
            key = Key("{phase}", "A#{id}")


@pytest.mark.parametrize(("one", "other"), [("SCENE{n}", "SCENE#{n}"), ("{n}", "SCENE#{n}"), ("X", "X"), ("SCENE#{n}", "SCENE#1")])
def test_overlapping_sort_keys(one: str, other: str) -> None:
    table = pair()

    class First(Entity, table=table, tag="first"):
        id: Attr[str]
        n: Attr[str]
        key = Key("P#{id}", one)

    with pytest.raises(OverlappingKeys, match="SCENE# and TAKE#"):

        class Second(Entity, table=table, tag="second"):
            id: Attr[str]
            n: Attr[str]
            key = Key("P#{id}", other)


def test_a_whole_key_and_a_longer_prefix_do_not_overlap() -> None:
    table = pair()

    class First(Entity, table=table, tag="first"):
        id: Attr[str]
        n: Attr[str]
        key = Key("P#{id}", "SCENE#{n}")

    class Second(Entity, table=table, tag="second"):
        id: Attr[str]
        key = Key("P#{id}", "SCENE")

    assert [spec.name for spec in table.specs] == ["First", "Second"]


def test_a_longer_form_below_another_is_told_apart_by_its_tag() -> None:
    table = pair()

    class Team(Entity, table=table, tag="team"):
        org: Attr[str]
        team: Attr[str]
        key = Key("ORG#{org}", "TEAM#{team}")

    class Member(Entity, table=table, tag="member"):
        org: Attr[str]
        team: Attr[str]
        member: Attr[str]
        key = Key("ORG#{org}", "TEAM#{team}#MEMBER#{member}")

    assert [spec.name for spec in table.specs] == ["Team", "Member"]


def test_a_longer_form_below_another_needs_tags() -> None:
    table = Table("pairs", hash="PK", range="SK")

    class Team(Entity, table=table):
        org: Attr[str]
        team: Attr[str]
        key = Key("ORG#{org}", "TEAM#{team}")

    with pytest.raises(OverlappingKeys):

        class Member(Entity, table=table):
            org: Attr[str]
            team: Attr[str]
            member: Attr[str]
            key = Key("ORG#{org}", "TEAM#{team}#MEMBER#{member}")


@pytest.mark.parametrize("options", [{"when": {"id": ["1"]}}, {"shards": 4}])
def test_options_of_an_index_on_a_primary_key(options: dict[str, Any]) -> None:
    with pytest.raises(BadKeyOption, match="belong to the key of an index"):

        class _(Entity, table=pair()):
            id: Attr[str]
            key = Key("A#{id}", "X", **options)


def test_legacy_forms_on_an_index_key() -> None:
    with pytest.raises(BadKeyOption, match="Only primary keys"):

        class _(Entity, table=pair()):
            id: Attr[str]
            key = Key("A#{id}", "X")
            other = Key("B#{id}", "X", index="g", legacy=["{id}"])


def test_entities_with_other_hashes_do_not_overlap() -> None:
    table = pair()

    class First(Entity, table=table, tag="first"):
        id: Attr[str]
        key = Key("A#{id}", "X")

    class Second(Entity, table=table, tag="second"):
        id: Attr[str]
        key = Key("B#{id}", "X")

    assert [spec.name for spec in table.specs] == ["First", "Second"]


def test_two_entities_with_one_tag() -> None:
    table = pair()

    class First(Entity, table=table, tag="same"):
        id: Attr[str]
        key = Key("A#{id}", "X")

    with pytest.raises(OverlappingKeys, match="same tag"):

        class Second(Entity, table=table, tag="same"):
            id: Attr[str]
            key = Key("B#{id}", "X")


def test_a_tag_without_a_tag_attribute() -> None:
    with pytest.raises(BadMark, match='tag="entityType"'):

        class _(Entity, table=single(), tag="x"):
            id: Attr[str]
            key = Key("{id}")


def test_a_field_of_a_key_part_declared_again() -> None:
    class Part(KeyPart, template="{a}#{b}"):
        a: str
        b: str

    with pytest.raises(WireNameClash, match="key part stores it"):

        class _(Entity, table=single()):
            id: Attr[Part]
            a: Attr[str]
            key = Key("{id}")


def test_a_key_part_whose_template_names_no_field() -> None:
    with pytest.raises(KeyMismatch):

        class _(KeyPart, template="{a}#{b}"):
            a: str


class Place(KeyPart, template="{tenant}#{branch}"):
    tenant: str
    branch: int


class Shelf(Entity, table=single()):
    place: Attr[Place]
    key = Key("{place}")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("acme", "Input should have the form '{tenant}#{branch}'"),
        ("acme#main", "Input should have the form '{tenant}#{branch}'"),
        (5, "Input should be of type Place or text of the form '{tenant}#{branch}'"),
    ],
)
def test_a_value_that_is_not_a_key_part_is_one_problem_in_plain_words(value: Any, problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Shelf(place=value)
    assert [found["msg"] for found in refused.value.errors()] == [problem]
    with pytest.raises(
        KeyValueError, match=rf"Shelf.place cannot be {value!r}: {re.escape(problem)}\. Pass a value of the attribute's type\."
    ):
        Shelf.key(place=value)


def test_a_key_part_is_validated_from_an_instance_text_and_json() -> None:
    place = Place(tenant="acme", branch=1)
    assert Shelf(place=place).place is place
    assert Shelf.model_validate({"place": "acme#1"}).place == place
    assert Shelf.model_validate_json('{"place": "acme#1"}').place == place


@pytest.mark.parametrize("kind", [dict[str, Any], list[str], bool])
def test_a_key_that_is_not_text_number_or_binary(kind: Any) -> None:
    with pytest.raises(UnsupportedType):
        type("Bad", (Entity,), {"__annotations__": {"id": Attr[kind]}, "key": Key("{id}"), "__module__": __name__}, table=single())


def test_numbers_and_times_are_keys_of_their_own_type() -> None:
    class Measure(Entity, table=Table("t", hash="sensor", range="at", indexes=[GSI("g", hash="GP", range="GS")])):
        sensor: Attr[int]
        at: Attr[datetime]
        price: Attr[Decimal] = field(Decimal(1))
        key = Key("{sensor}", "{at}")
        g = Key("{at}", "{price}", index="g")

    assert spec_of(Measure).key_types() == {"sensor": "N", "at": "S", "GP": "S", "GS": "N"}


def test_a_legacy_form_of_another_type() -> None:
    with pytest.raises(BadKeyOption, match="new table"):

        class Broken(Entity, table=Table("t", hash="h", range="r")):
            id: Attr[str]
            number: Attr[int]
            key = Key("{id}", "N#{number}", legacy=[("{id}", "{number}")])
