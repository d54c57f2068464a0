"""One test for each mistake that a declaration is refused for; the message must name the way out."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest

from gateleg.model import (
    GSI,
    LSI,
    TTL,
    Attr,
    Counter,
    DeclarationError,
    Entity,
    Key,
    KeyPart,
    ModelError,
    Pattern,
    Record,
    States,
    Table,
    Unique,
    Version,
    field,
    required,
    spec_of,
    state,
)
from gateleg.model import errors as model_errors
from gateleg.model.attributes.special_types import TTL_SECONDS
from gateleg.model.errors import (
    BadKeyOption,
    BadMark,
    BadName,
    DuplicateMark,
    IndexMismatch,
    KeyMismatch,
    MissingKey,
    NegativeInKey,
    NumberWithoutWidth,
    OptionalComponent,
    OverlappingKeys,
    StateInKey,
    TooManyIndexes,
    UnknownComponent,
    UnknownIndex,
    UnservedPattern,
    UnsupportedType,
    WireNameClash,
)


class Phase(States):
    NEW = state("new", to=["old"])
    OLD = state("old")


def pair() -> Table:
    return Table("pairs", hash="PK", range="SK", tag="kind", indexes=[GSI("g", hash="G", range="GS")])


def single() -> Table:
    return Table("singles", hash="id")


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


def test_a_sparse_rule_on_an_index_that_every_item_is_in() -> None:
    with pytest.raises(BadKeyOption, match="a key attribute of its own"):

        class _(Entity, table=Table("jobs", hash="id", indexes=[GSI("by-queue", hash="queue")])):
            id: Attr[str]
            queue: Attr[str]
            key = Key("{id}")
            ready = Key("{queue}", index="by-queue", when={"queue": ["a"]})


@pytest.mark.parametrize("name", ["two words", "a/b", "", "x" * 256])
def test_names_that_no_table_can_have(name: str) -> None:
    with pytest.raises(BadName, match="letters, digits"):
        Table(name, hash="id")
    with pytest.raises(BadName):
        Table("good", hash="id", indexes=[GSI(name, hash="x")])


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


def test_an_index_declared_twice() -> None:
    with pytest.raises(IndexMismatch):
        Table("t", hash="id", indexes=[GSI("g", hash="a"), GSI("g", hash="b")])


def test_a_key_attribute_with_two_types() -> None:
    table = pair()

    class First(Entity, table=table, tag="first"):
        id: Attr[str]
        n: Attr[int]
        key = Key("A#{id}", "X")
        g = Key("G#{id}", "{n}", index="g")

    with pytest.raises(IndexMismatch, match="GS of pairs is S in Second and N in First"):

        class Second(Entity, table=table, tag="second"):
            id: Attr[str]
            key = Key("B#{id}", "X")
            g = Key("G#{id}", "{id}", index="g")


def test_a_key_attribute_written_in_two_forms() -> None:
    with pytest.raises(IndexMismatch, match="two forms"):

        class _(Entity, table=Table("t", hash="id", indexes=[GSI("g", hash="G"), GSI("h", hash="G")])):
            id: Attr[str]
            key = Key("{id}")
            g = Key("A#{id}", index="g")
            h = Key("B#{id}", index="h")


def test_too_many_indexes() -> None:
    with pytest.raises(TooManyIndexes):
        Table("t", hash="a", range="b", indexes=[LSI(f"l{n}", range=f"x{n}") for n in range(6)])
    with pytest.raises(TooManyIndexes):
        Table("t", hash="a", indexes=[GSI(f"g{n}", hash=f"x{n}") for n in range(21)])


def test_a_local_index_of_a_table_without_range() -> None:
    with pytest.raises(IndexMismatch, match="hash and range"):
        Table("t", hash="a", indexes=[LSI("l", range="x")])


def test_an_index_of_five_hash_attributes() -> None:
    with pytest.raises(IndexMismatch, match="one to four"):
        GSI("g", hash=list("abcde"))


def test_an_unknown_index() -> None:
    with pytest.raises(UnknownIndex, match="It has g"):

        class _(Entity, table=pair()):
            id: Attr[str]
            key = Key("A#{id}", "X")
            h = Key("{id}", index="h")


def test_two_keys_for_one_index() -> None:
    with pytest.raises(DeclarationError, match="second key"):

        class _(Entity, table=single()):
            id: Attr[str]
            key = Key("{id}")
            other = Key("{id}")


def test_a_pattern_that_no_index_serves_names_the_nearest() -> None:
    with pytest.raises(UnservedPattern, match="the table by id, name"):

        class _(Entity, table=Table("t", hash="id", range="name")):
            id: Attr[str]
            name: Attr[str]
            key = Key("{id}", "{name}")
            named = Pattern(by=["name"], title="By name alone")


def test_a_pattern_on_an_index_where_the_entity_is_not() -> None:
    with pytest.raises(UnservedPattern, match="Declare Key"):

        class _(Entity, table=pair()):
            id: Attr[str]
            key = Key("A#{id}", "X")
            found = Pattern("g", title="By g")


def test_a_pattern_with_another_order_than_the_index() -> None:
    with pytest.raises(UnservedPattern, match="sorted by size"):

        class _(Entity, table=Table("t", hash="id", range="name")):
            id: Attr[str]
            name: Attr[str]
            size: Attr[int]
            key = Key("{id}", "{name}")
            sized = Pattern(by=["id"], sorted_by="size", title="By size")


def test_two_attributes_with_one_wire_name() -> None:
    with pytest.raises(WireNameClash):

        class _(Entity, table=single()):
            id: Attr[str]
            one: Attr[str] = field("", name="two")
            two: Attr[str] = field("")
            key = Key("{id}")


@pytest.mark.parametrize("name", ["PK", "kind"])
def test_an_attribute_with_a_name_that_the_model_writes(name: str) -> None:
    with pytest.raises(WireNameClash):

        class _(Entity, table=pair(), tag="x"):
            id: Attr[str]
            other: Attr[str] = field("", name=name)
            key = Key("A#{id}", "X")


def test_an_attribute_that_is_also_another_key() -> None:
    with pytest.raises(WireNameClash):

        class _(Entity, table=Table("t", hash="id")):
            id: Attr[str]
            name: Attr[str]
            key = Key("{name}")


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


def test_two_versions() -> None:
    with pytest.raises(DuplicateMark):

        class _(Entity, table=single()):
            id: Attr[str]
            one: Attr[Version] = field(0)
            two: Attr[Version] = field(0)
            key = Key("{id}")


def test_two_ttl_attributes() -> None:
    with pytest.raises(DuplicateMark):

        class _(Entity, table=single()):
            id: Attr[str]
            one: Attr[TTL | None] = field(None)
            two: Attr[TTL | None] = field(None)
            key = Key("{id}")


def test_two_ttl_attributes_in_one_table() -> None:
    table = pair()

    class First(Entity, table=table, tag="first"):
        id: Attr[str]
        ends: Attr[TTL | None] = field(None)
        key = Key("A#{id}", "X")

    with pytest.raises(DuplicateMark, match="two TTL"):

        class Second(Entity, table=table, tag="second"):
            id: Attr[str]
            stops: Attr[TTL | None] = field(None)
            key = Key("B#{id}", "X")


def test_a_ttl_that_is_no_datetime() -> None:
    with pytest.raises(BadMark, match=r"Attr\[TTL"):

        class _(Entity, table=single()):
            id: Attr[str]
            ends: Attr[Annotated[int, TTL_SECONDS]] = field(0)
            key = Key("{id}")


def test_a_version_that_does_not_begin_at_zero() -> None:
    with pytest.raises(BadMark, match=r"field\(0\)"):

        class _(Entity, table=single()):
            id: Attr[str]
            version: Attr[Version] = field(1)
            key = Key("{id}")


@pytest.mark.parametrize("kind", [dict[str, Any], list[str], bool])
def test_a_key_that_is_not_text_number_or_binary(kind: Any) -> None:
    with pytest.raises(UnsupportedType):
        type("Bad", (Entity,), {"__annotations__": {"id": Attr[kind]}, "key": Key("{id}"), "__module__": __name__}, table=single())


def test_a_unique_constraint_on_an_unknown_attribute() -> None:
    with pytest.raises(BadMark):

        class _(Entity, table=single()):
            id: Attr[str]
            key = Key("{id}")
            once = Unique("name")


def test_a_unique_constraint_in_a_table_with_number_keys() -> None:
    with pytest.raises(BadMark, match="text keys"):

        class _(Entity, table=single()):
            id: Attr[int]
            name: Attr[str]
            key = Key("{id}")
            once = Unique("name")


def test_a_counter_whose_parent_the_child_cannot_name() -> None:
    class Parent(Entity, table=single()):
        id: Attr[str]
        count: Attr[int] = field(0)
        key = Key("{id}")

    with pytest.raises(BadMark, match="has no id"):

        class _(Entity, table=Table("t", hash="name")):
            name: Attr[str]
            key = Key("{name}")
            counted = Counter(Parent.count)


def test_an_entity_without_a_table_has_no_spec() -> None:
    class Base(Entity):
        id: Attr[str]

    with pytest.raises(DeclarationError, match="table="):
        spec_of(Base)


def test_numbers_and_times_are_keys_of_their_own_type() -> None:
    class Measure(Entity, table=Table("t", hash="sensor", range="at", indexes=[GSI("g", hash="GP", range="GS")])):
        sensor: Attr[int]
        at: Attr[datetime]
        price: Attr[Decimal] = field(Decimal(1))
        key = Key("{sensor}", "{at}")
        g = Key("{at}", "{price}", index="g")

    assert spec_of(Measure).key_types() == {"sensor": "N", "at": "S", "GP": "S", "GS": "N"}


def test_every_error_has_a_code_of_its_own() -> None:
    classes = [value for value in vars(model_errors).values() if isinstance(value, type) and issubclass(value, ModelError)]
    codes = [value.code for value in classes]
    assert len(set(codes)) == len(codes)
    assert all(value.__doc__ for value in classes)


def test_an_error_reads_as_what_and_fix_and_code() -> None:
    error = EmptyError("It is empty.", fix="Fill it.")
    assert str(error) == "It is empty. Fill it. [empty]"


class EmptyError(ModelError):
    code = "empty"


def test_a_legacy_form_of_another_type() -> None:
    with pytest.raises(BadKeyOption, match="new table"):

        class Broken(Entity, table=Table("t", hash="h", range="r")):
            id: Attr[str]
            number: Attr[int]
            key = Key("{id}", "N#{number}", legacy=[("{id}", "{number}")])


@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ({"index": "g", "within": "nothing"}, "number"),
        ({"index": "g", "within": "id"}, "by="),
        ({"index": "k", "within": "number"}, "Project"),
        ({"legacy_indexed": True}, "index"),
    ],
)
def test_arguments_that_an_index_cannot_filter_by(options: Any, way_out: str) -> None:
    indexes = [GSI("g", hash="id"), GSI("k", hash="id", project="keys")]
    with pytest.raises(ModelError, match=way_out):

        class Broken(Entity, table=Table("t", hash="h", indexes=indexes)):
            id: Attr[str]
            number: Attr[int] = field(0)
            key = Key("H#{id}")
            broken = Pattern(title="Broken", **options)


@pytest.mark.parametrize("base", [Entity, Record])
def test_a_naming_convention_that_there_is_not(base: Any) -> None:
    with pytest.raises(model_errors.BadOption, match="Did you mean 'camel'"):

        class Broken(base, case="camle"):  # type: ignore[misc, call-arg]
            id: Attr[str]
