"""One test for each mistake in the declaration of a table, an index or a pattern."""

from typing import Any

import pytest

from gateleg.model import (
    GSI,
    LSI,
    Attr,
    DeclarationError,
    Entity,
    Key,
    ModelError,
    Pattern,
    Table,
    field,
)
from gateleg.model.errors import (
    BadKeyOption,
    BadName,
    IndexMismatch,
    TooManyIndexes,
    UnknownIndex,
    UnservedPattern,
)
from tests.model.sample_tables import pair, single


@pytest.mark.parametrize("name", ["two words", "a/b", "", "x" * 256])
def test_invalid_table_names(name: str) -> None:
    with pytest.raises(BadName, match="letters, digits"):
        Table(name, hash="id")
    with pytest.raises(BadName):
        Table("good", hash="id", indexes=[GSI(name, hash="x")])


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
    with pytest.raises(IndexMismatch, match="Add a range key"):
        Table("t", hash="a", indexes=[LSI("l", range="x")])


def test_an_index_of_five_hash_attributes() -> None:
    with pytest.raises(IndexMismatch, match="1 to 4"):
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


def test_a_sparse_rule_on_an_index_that_every_item_is_in() -> None:
    with pytest.raises(BadKeyOption, match="a separate key attribute"):

        class _(Entity, table=Table("jobs", hash="id", indexes=[GSI("by-queue", hash="queue")])):
            id: Attr[str]
            queue: Attr[str]
            key = Key("{id}")
            ready = Key("{queue}", index="by-queue", when={"queue": ["a"]})


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
