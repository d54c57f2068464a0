"""Mistakes in declarations that would otherwise go unnoticed: each is an error at import that suggests the closest match."""

from datetime import UTC, datetime
from types import new_class
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, ValidationError, ValidationInfo, field_validator

from gateleg.model import (
    GSI,
    Attr,
    Counter,
    Entity,
    Key,
    KeyPart,
    Pattern,
    States,
    Table,
    Unique,
    field,
    new_uuid,
    required,
    spec_of,
    stamp,
    state,
)
from gateleg.model.errors import (
    BadMark,
    BadOption,
    BadStates,
    BadWhen,
    DuplicateMark,
    ExpressionError,
    OverlappingKeys,
    UnknownComponent,
    UnsupportedType,
)
from gateleg.model.expressions import Placeholders
from gateleg.model.planning import plan_update
from gateleg.model.tables import marker_key


class Phase(States):
    NEW = state("new", to=["old"])
    OLD = state("old")


def pair() -> Table:
    return Table("pairs", hash="PK", range="SK", tag="kind", indexes=[GSI("g", hash="G", range="GS")])


class Simple(Entity, table=pair()):
    name: Attr[str]
    key = Key("SIMPLE#{name}", "SIMPLE")


def counted_by(**options: Any) -> type[Entity]:
    """A child that counts in its parent, as the options say."""
    table = pair()

    class Shelf(Entity, table=table, tag="shelf"):
        shelf: Attr[str]
        books: Attr[int] = field(0)
        label: Attr[str] = field("")
        full: Attr[bool] = field(False)

        key = Key("SHELF#{shelf}", "SHELF")

    attribute = getattr(Shelf, options.pop("attribute", "books"))

    class Book(Entity, table=table, tag="book"):
        shelf: Attr[str]
        book: Attr[str]
        phase: Attr[Phase] = field(Phase.NEW)
        pages: Attr[int] = field(0)

        key = Key("SHELF#{shelf}", "BOOK#{book}")
        counted = Counter(attribute, **options)

    return Book


def test_a_misspelt_state_in_a_counters_when_is_refused_with_the_closest_one() -> None:
    with pytest.raises(BadWhen, match=r"Book.counted: when= has 'nwe', which is not a possible value of phase. Did you mean 'new'\?"):
        counted_by(when={"phase": ["nwe"]})


def test_an_unknown_attribute_in_a_counters_when_is_refused_with_the_closest_one() -> None:
    with pytest.raises(BadWhen, match=r"names 'phaes', which is not an attribute. Did you mean 'phase'\?"):
        counted_by(when={"phaes": ["new"]})


def test_a_value_of_a_wrong_type_in_a_counters_when_is_refused() -> None:
    with pytest.raises(BadWhen, match="'many', which is not a possible value of pages"):
        counted_by(when={"pages": ["many"]})


def test_a_counters_when_without_values_is_refused() -> None:
    with pytest.raises(BadWhen, match="no item would ever match"):
        counted_by(when={"pages": []})


def test_a_text_for_a_list_in_when_is_refused() -> None:
    with pytest.raises(BadWhen, match=r"Write \['new'\]"):
        counted_by(when={"phase": "new"})


def test_the_values_of_a_counters_when_have_the_types_of_their_attributes() -> None:
    assert spec_of(counted_by(when={"phase": ["new"], "pages": ["3"]})).counters["counted"].when == {"phase": (Phase.NEW,), "pages": (3,)}


@pytest.mark.parametrize("attribute", ["label", "full"])
def test_a_counter_counts_in_an_int(attribute: str) -> None:
    with pytest.raises(BadMark, match=f"counts in Shelf.{attribute}, which is not an int"):
        counted_by(attribute=attribute)


def test_a_misspelt_state_in_a_keys_when_is_refused_with_the_closest_one() -> None:
    with pytest.raises(BadWhen, match=r"The key of Task for g: when= has 'nwe'.*Did you mean 'new'\?"):

        class Task(Entity, table=pair()):
            id: Attr[str]
            phase: Attr[Phase] = field(Phase.NEW)
            key = Key("TASK#{id}", "TASK")
            waiting = Key("{phase}", "TASK#{id}", index="g", when={"phase": ["nwe"]})


def test_an_unknown_option_of_a_field_is_refused_with_the_closest_one() -> None:
    with pytest.raises(BadOption, match=r"field\(\) has no option 'defualt'. Did you mean 'default'\?"):
        field(defualt=0)  # type: ignore[call-overload]
    with pytest.raises(BadOption, match="has no option 'zebra'"):
        field(0, zebra=True)  # type: ignore[call-overload]


def test_a_stamp_is_set_on_create_or_on_write() -> None:
    with pytest.raises(BadOption, match=r'no on=\'update\'.*Use on="create" or on="write"'):
        stamp(on="update")  # type: ignore[arg-type]


def test_options_of_tables_and_patterns_are_checked() -> None:
    with pytest.raises(BadOption, match="order='descending'"):
        Pattern(title="x", order="descending")  # type: ignore[arg-type]
    with pytest.raises(BadOption, match="project='kyes'"):
        GSI("g", hash="G", project="kyes")
    with pytest.raises(BadOption, match=r"Did you mean 'NEW_IMAGE'\?"):
        Table("t", hash="PK", stream="NEW_IMGAE")  # type: ignore[arg-type]
    with pytest.raises(BadOption, match="has 'text' for PK"):
        Table("t", hash="PK", types={"PK": "text"})  # type: ignore[dict-item]


class Opaque:
    """A type that pydantic does not support."""


@pytest.mark.parametrize(
    ("kind", "advice"), [(complex, "two attributes"), (object, "or Any for"), (Opaque, "Record"), (list[complex], "two")]
)
def test_a_type_that_cannot_be_stored_is_refused(kind: Any, advice: str) -> None:
    with pytest.raises(UnsupportedType, match=advice):

        class Thing(Entity, table=pair()):
            id: Attr[str]
            value: Attr[kind]
            key = Key("THING#{id}", "THING")


class Place(KeyPart, template="{tenant}#{branch}"):
    tenant: str
    branch: str


class Sealed(KeyPart, template="{land}#{town}", denormalise=False):
    land: str
    town: str


class Member(Entity, table=pair()):
    place: Attr[Place]
    home: Attr[Sealed]
    id: Attr[str]
    email: Attr[str]

    key = Key("PLACE#{place}", "MEMBER#{id}")
    email_once = Unique("place", "email")
    town_once = Unique("home")


def member(**changes: Any) -> Member:
    values: dict[str, Any] = {"place": Place("acme", "main"), "home": Sealed("de", "ulm"), "id": "1", "email": "a@b"}
    return Member(**values | changes)


def test_a_key_part_in_a_unique_constraint_stands_for_its_fields() -> None:
    spec = spec_of(Member)
    assert spec.uniques["email_once"].by == ("tenant", "branch", "email")
    key = marker_key(spec, spec.uniques["email_once"], spec.values(member()))
    assert key == {"PK": {"S": "~unique#Member#email_once#acme#main#a%40b"}, "SK": {"S": "~unique"}}


@pytest.mark.parametrize("by", [("emial",), (), ("tags",), ("score",)])
def test_a_unique_constraint_names_attributes_that_markers_can_hold(by: tuple[str, ...]) -> None:
    with pytest.raises(BadMark, match="once"):

        class Person(Entity, table=pair()):
            id: Attr[str]
            email: Attr[str]
            tags: Attr[set[str]]
            score: Attr[float]
            key = Key("PERSON#{id}", "PERSON")
            once = Unique(*by)


def test_a_field_of_a_key_part_is_an_expression() -> None:
    out = Placeholders()
    assert (getattr(Member, "tenant") == "acme").render(out) == "#tenant = :0"  # noqa: B009 - unknown to type checkers
    assert out.values == {":0": {"S": "acme"}}


def test_comparing_a_field_of_an_undenormalised_key_part_is_an_error_with_advice() -> None:
    with pytest.raises(AttributeError, match=r"Member.town is a field of Sealed.*Compare Member.home as a whole"):
        _ = Member.town  # type: ignore[attr-defined]


def test_a_field_of_a_key_part_is_not_written_by_itself() -> None:
    with pytest.raises(ExpressionError, match=r"Member.tenant is a field of Member.place. Set the whole key part: Member.place.set"):
        plan_update(member(), [getattr(Member, "tenant").set("x")], now=datetime.now(UTC))  # noqa: B009


def test_an_unknown_attribute_names_the_class_and_the_closest_one() -> None:
    with pytest.raises(AttributeError, match=r"Member has no attribute 'emial'. Did you mean 'email'\?"):
        _ = Member.emial  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"Member has no attribute 'zzz'. It has place, home, id, email"):
        _ = Member.zzz  # type: ignore[attr-defined]


def test_an_action_of_another_entity_is_refused_with_advice() -> None:
    with pytest.raises(ExpressionError, match=r"Simple.name is not an attribute of Member.* Use the attributes of Member: "):
        plan_update(member(), [Simple.name.set("x")], now=datetime.now(UTC))


def test_a_text_that_does_not_match_a_key_part_does_not_overlap_with_it() -> None:
    table = pair()

    class Branches(Entity, table=table):
        id: Attr[str]
        key = Key("BRANCHES", "BRANCH#{id}")

    class Lent(Entity, table=table):
        place: Attr[Place]
        id: Attr[str]
        key = Key("{place}", "BRANCH#{id}")

    assert [spec.name for spec in table.specs] == ["Branches", "Lent"]


def test_a_text_that_matches_a_key_part_overlaps_with_it() -> None:
    table = pair()

    class Branches(Entity, table=table):
        id: Attr[str]
        key = Key("ALL#BRANCHES", "BRANCH#{id}")

    with pytest.raises(OverlappingKeys):

        class Lent(Entity, table=table):
            place: Attr[Place]
            id: Attr[str]
            key = Key("{place}", "BRANCH#{id}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "Things"}, r"Thing: table='Things' is not a Table\. Pass a Table object"),
        ({"table": pair(), "tags": "x"}, r"Thing has no class option 'tags'\. Did you mean 'tag'\?"),
    ],
)
def test_a_wrong_class_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):

        class Thing(Entity, **options):
            id: Attr[str]
            key = Key("{id}", "x")


shelves = Table("shelves", hash="pk")

DECLARATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "a default of another type": ({"a": (Attr[int], field("3"))}, "has the default '3', which it would refuse: It is a str"),
    "a factory of another type": ({"a": (Attr[list[str]], field(factory=dict))}, "has the default {}, which it would refuse"),
    "a bound for another type": ({"a": (Attr[str], field("x", ge=3))}, "has the bound ge=3, which str does not have"),
    "a length of a number": ({"a": (Attr[int | None], field(None, max_length=3))}, "has the bound max_length=3, which int does not have"),
    "a bound of a list": ({"a": (Attr[list[str]], required(le=3))}, "has the bound le=3, which list does not have"),
    "bounds in the wrong order": ({"a": (Attr[int], required(ge=3, le=1))}, "bounds that no value satisfies: ge=3, le=1"),
    "bounds that meet": ({"a": (Attr[int], required(ge=3, lt=3))}, "bounds that no value satisfies"),
    "lengths in the wrong order": ({"a": (Attr[str], required(min_length=3, max_length=1))}, "bounds that no value satisfies"),
    "a new UUID that is a text": ({"a": (Attr[str], new_uuid())}, "is a new_uuid() but not a UUID"),
    "a number for a time": ({"a": (Attr[datetime], field(0))}, "It is a int"),
    "a stamp that is not a time": ({"a": (Attr[str], stamp(on="create"))}, "is a stamp but not a datetime"),
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_a_default_that_its_attribute_refuses_is_refused_at_import(case: str) -> None:
    attributes, words = DECLARATIONS[case]
    body: dict[str, Any] = {"__module__": __name__, "__annotations__": {"name": Attr[str]}, "key": Key("ODD#{name}")}
    for name, (kind, value) in attributes.items():
        body["__annotations__"][name] = kind
        body[name] = value
    with pytest.raises((BadOption, BadMark)) as refused:
        new_class("Odd", (Entity,), {"table": Table("odd", hash="pk")}, lambda namespace: namespace.update(body))
    assert words in str(refused.value)


def test_a_factory_that_cannot_be_called_is_refused() -> None:
    empty: Any = []
    with pytest.raises(BadOption, match=r"factory=\[\], which cannot be called\. Give a type or a function: factory=list"):
        field(factory=empty)


def test_a_key_of_a_private_attribute_is_explained() -> None:
    with pytest.raises(UnknownComponent, match="Names with a leading underscore are private"):

        class Hidden(Entity, table=Table("hidden", hash="pk")):
            _id: Attr[str]
            key = Key("HIDDEN#{_id}")


@pytest.mark.filterwarnings("ignore:Field name")
def test_an_attribute_does_not_hide_a_method_of_pydantic() -> None:
    with pytest.raises(BadOption, match=r"Hidden\.model_dump hides .* keep this one in the item with name='model_dump'"):

        class Hidden(Entity, table=Table("hidden", hash="pk")):
            id: Attr[str]
            model_dump: Attr[str] = required()  # type: ignore[assignment]
            key = Key("HIDDEN#{id}")


def test_the_number_of_a_schema_begins_at_one() -> None:
    with pytest.raises(BadOption, match="schema=0 is not the number of a schema"):

        class Numbered(Entity, table=Table("numbered", hash="pk"), schema=0):
            id: Attr[str]
            key = Key("{id}")


def test_an_attribute_is_not_set_in_the_class() -> None:
    class Placed(Entity, table=Table("placed", hash="pk")):
        id: Attr[str]
        at: Attr[int] = field(0)
        key = Key("{id}")

    placed: Any = Placed
    with pytest.raises(AttributeError, match=r"Placed\.at is an attribute of every item"):
        placed.at = 3
    assert Placed(id="1").at == 0


def test_defaults_that_pydantic_converts_to_an_equal_value_stay() -> None:
    class Mild(Entity, table=Table("mild", hash="pk")):
        name: Attr[str]
        ratio: Attr[float] = field(1)
        title: Attr[str] = field("", min_length=1)  # to be given later
        phase: Attr[Phase] = field(Phase.NEW)
        day: Attr[datetime | None] = field(None)
        key = Key("MILD#{name}")

    assert Mild(name="a").ratio == 1


def test_functions_in_annotations_may_refuse_the_default() -> None:
    def check_owner(text: str) -> str:
        if not text:
            raise ValueError("name an owner")
        return text

    class Loaned(Entity, table=Table("loaned", hash="pk")):
        name: Attr[str]
        owner: Attr[Annotated[str, AfterValidator(check_owner)]] = field("")  # to be given later
        key = Key("LOANED#{name}")

    assert Loaned(name="a").owner == ""
    with pytest.raises(ValidationError, match="name an owner"):
        Loaned(name="a", owner="")


TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "one attribute for both keys": ({"hash": "pk", "range": "pk"}, "both the hash and the range"),
    "indexes by name": ({"hash": "pk", "indexes": ["by-owner"]}, "takes a list of indexes"),
    "a single index": ({"hash": "pk", "indexes": GSI("by-owner", hash="owner")}, "takes a list of indexes"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_that_cannot_be_created_is_refused_at_import(case: str) -> None:
    options, words = TABLES[case]
    with pytest.raises(BadOption, match=words):
        Table("odd", **options)


def test_two_states_with_one_value_are_refused() -> None:
    with pytest.raises(BadStates, match=r"Twice\.AGAIN has the value 'on' of ON"):

        class Twice(States):
            ON = state("on")
            AGAIN = state("on")


def test_a_list_of_unique_attributes_is_refused() -> None:
    names: Any = ["tenant", "email"]
    with pytest.raises(BadMark, match="one after another"):
        Unique(names)


ACTIONS: dict[str, tuple[Any, str]] = {
    "add to a text": (lambda shelf: shelf.label.add("x"), "add works on numbers and sets"),
    "append to a number": (lambda shelf: shelf.books.append(1), "append works on lists, and Stock.books is stored as N"),
    "delete from a number": (lambda shelf: shelf.books.delete(1), "Write .remove()"),
    "the beginning of a number": (lambda shelf: shelf.books.begins_with("1"), "begins_with works on text"),
    "a text for several values": (lambda shelf: shelf.label.is_in("abc"), "Write .is_in(['abc'])"),
}


class Stock(Entity, table=shelves):
    name: Attr[str]
    books: Attr[int] = field(0)
    label: Attr[str] = field("")
    key = Key("STOCK#{name}")


@pytest.mark.parametrize("case", ACTIONS)
def test_an_expression_that_the_attributes_type_does_not_have_is_refused(case: str) -> None:
    make, words = ACTIONS[case]
    with pytest.raises(ExpressionError) as refused:
        make(Stock)
    assert words in str(refused.value)


def test_one_child_cannot_be_counted_twice_in_the_same_attribute() -> None:
    table = pair()

    class Shelf(Entity, table=table, tag="shelf"):
        shelf: Attr[str]
        books: Attr[int] = field(0)
        key = Key("SHELF#{shelf}", "SHELF")

    with pytest.raises(DuplicateMark, match=r"Book\.again counts the same as Book\.counted, twice in Shelf\.books"):

        class Book(Entity, table=table, tag="book"):
            shelf: Attr[str]
            title: Attr[str]
            key = Key("SHELF#{shelf}", "BOOK#{title}")
            counted = Counter(Shelf.books)
            again = Counter(Shelf.books)


def test_defaults_are_not_given_to_validators_that_need_other_attributes() -> None:
    class Booking(Entity, table=Table("Bookings", hash="id")):
        id: Attr[str]
        first: Attr[int]
        last: Attr[int] = field(0)
        key = Key("{id}")

        @field_validator("last")
        @classmethod
        def check_last(cls, value: int, info: ValidationInfo) -> int:
            return max(value, int(info.data["first"]))

        def model_post_init(self, context: Any, /) -> None:
            assert self.first >= 0

    assert Booking(id="1", first=3, last=2).last == 3
