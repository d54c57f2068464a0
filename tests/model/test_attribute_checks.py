"""One test for each mistake in the declaration of an attribute or constraint, and for its error."""

from typing import Annotated, Any

import pytest

from gateleg.model import (
    TTL,
    Attr,
    Counter,
    DeclarationError,
    Entity,
    Key,
    ModelError,
    Record,
    Table,
    Unique,
    Version,
    field,
    spec_of,
)
from gateleg.model import errors as model_errors
from gateleg.model.errors import (
    BadMark,
    DuplicateMark,
    WireNameClash,
)
from gateleg.model.types import TTL_SECONDS
from tests.model.sample_tables import pair, single


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


def test_a_ttl_that_is_not_a_datetime() -> None:
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


def test_a_counter_whose_child_lacks_the_parents_key_attributes() -> None:
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


@pytest.mark.parametrize("base", [Entity, Record])
def test_an_unknown_naming_convention(base: Any) -> None:
    with pytest.raises(model_errors.BadOption, match="Did you mean 'camel'"):

        class Broken(base, case="camle"):  # type: ignore[misc, call-arg]
            id: Attr[str]


def test_every_error_has_a_distinct_code() -> None:
    classes = [value for value in vars(model_errors).values() if isinstance(value, type) and issubclass(value, ModelError)]
    codes = [value.code for value in classes]
    assert len(set(codes)) == len(codes)
    assert all(value.__doc__ for value in classes)


class EmptyError(ModelError):
    code = "empty"


def test_the_text_of_an_error_is_message_fix_and_code() -> None:
    error = EmptyError("It is empty.", fix="Fill it.")
    assert str(error) == "It is empty. Fill it. [empty]"
