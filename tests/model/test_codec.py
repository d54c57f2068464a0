import copy
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from ipaddress import IPv4Address
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, computed_field
from pydantic.alias_generators import to_camel

from gateleg.model import (
    GSI,
    TTL,
    Attr,
    Compressed,
    Entity,
    JsonText,
    Key,
    Record,
    S3Key,
    Table,
    field,
    required,
    spec_of,
    unknown_attributes,
    upcaster,
)
from gateleg.model.errors import (
    DeclarationError,
    DecodeError,
    EmptyKey,
    EmptySet,
    EncodeError,
    MissingUpcaster,
    UnsupportedType,
    WrongEntity,
)

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Circle(Record, case="camel"):
    kind: Attr[Literal["circle"]] = field("circle")
    outer_radius: Attr[float]


class Square(Record, case="camel"):
    kind: Attr[Literal["square"]] = field("square")
    side_length: Attr[int]


class Node(Record):
    name: Attr[str]
    children: Attr[list["Node"]] = field(factory=list)


class Foreign(BaseModel):
    """A model of another library, with aliases."""

    model_config = ConfigDict(alias_generator=to_camel)

    first_name: str
    born_at: datetime | None = None


things = Table("things", hash="id")


class Thing(Entity, table=things):
    id: Attr[str]
    count: Attr[int] = field(0)
    ratio: Attr[float] = field(0.0)
    price: Attr[Decimal] = field(Decimal(0))
    flag: Attr[bool] = field(False)
    blob: Attr[bytes] = field(b"")
    at: Attr[datetime | None] = field(None)
    day: Attr[date | None] = field(None)
    hour: Attr[time | None] = field(None)
    uid: Attr[UUID | None] = field(None)
    colour: Attr[Colour | None] = field(None)
    level: Attr[Level | None] = field(None)
    mixed: Attr[Mixed | None] = field(None)
    mode: Attr[Literal["a", "b"]] = field("a")
    tags: Attr[set[str]] = field(factory=set)
    numbers: Attr[frozenset[int] | None] = field(None)
    prices: Attr[set[Decimal] | None] = field(None)
    blobs: Attr[set[bytes] | None] = field(None)
    days: Attr[set[date] | None] = field(None)
    names: Attr[list[str]] = field(factory=list)
    holes: Attr[list[int | None]] = field(factory=list)
    pair: Attr[tuple[int, str] | None] = field(None)
    run: Attr[tuple[int, ...]] = field(())
    by_name: Attr[dict[str, int]] = field(factory=dict)
    by_uuid: Attr[dict[UUID, float]] = field(factory=dict)
    loose: Attr[dict[str, Any]] = field(factory=dict)
    anything: Attr[Any] = field(None)
    shape: Attr[Circle | Square | None] = field(None, discriminator="kind")
    shapes: Attr[list[Circle | Square]] = field(factory=list)
    node: Attr[Node | None] = field(None)
    foreign: Attr[Foreign | None] = field(None)
    either: Attr[int | str | None] = field(None)
    text: Attr[JsonText[dict[str, list[int]]] | None] = field(None)
    packed: Attr[Compressed[list[str]] | None] = field(None)
    address: Attr[IPv4Address | None] = field(None)
    length: Attr[timedelta | None] = field(None)
    expires: Attr[TTL | None] = field(None)
    picture: Attr[S3Key | None] = field(None)

    key = Key("{id}")


spec = spec_of(Thing)

small_floats = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)
instants = st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC))
decimals = st.decimals(-(10**20), 10**20, places=6)


@given(
    st.fixed_dictionaries(
        {"id": st.text(min_size=1)},
        optional={
            "count": st.integers(-(10**37), 10**37),
            "ratio": small_floats,
            "price": decimals,
            "flag": st.booleans(),
            "blob": st.binary(),
            "at": st.none() | instants,
            "day": st.dates(),
            "hour": st.times(),
            "uid": st.uuids(),
            "colour": st.sampled_from(Colour),
            "level": st.sampled_from(Level),
            "mixed": st.sampled_from(Mixed),
            "mode": st.sampled_from(["a", "b"]),
            "tags": st.sets(st.text()),
            "numbers": st.frozensets(st.integers(-(10**30), 10**30), min_size=1),
            "prices": st.sets(decimals, min_size=1),
            "blobs": st.sets(st.binary(), min_size=1),
            "days": st.sets(st.dates(), min_size=1),
            "holes": st.lists(st.none() | st.integers(0, 9)),
            "pair": st.tuples(st.integers(0, 9), st.text()),
            "run": st.lists(st.integers(0, 9)).map(tuple),
            "by_uuid": st.dictionaries(st.uuids(), small_floats, max_size=3),
            "loose": st.dictionaries(st.text(), st.none() | st.integers(0, 9) | st.lists(st.text(), max_size=3), max_size=3),
            "shape": st.builds(Circle, outer_radius=small_floats) | st.builds(Square, side_length=st.integers(0, 9)),
            "shapes": st.lists(st.builds(Square, side_length=st.integers(0, 9)), max_size=3),
            "text": st.dictionaries(st.text(), st.lists(st.integers(0, 9), max_size=3), max_size=3),
            "packed": st.lists(st.text(), max_size=3),
            "either": st.integers(0, 9) | st.text(alphabet="xyz"),
            "length": st.timedeltas(timedelta(0), timedelta(days=9)),
            "expires": instants.map(lambda at: at.replace(microsecond=0)),
        },
    )
)
def test_decoding_gives_back_what_was_encoded(values: dict[str, Any]) -> None:
    thing = Thing(**values)
    assert spec.decode(spec.encode(thing)) == thing


def wire_of(**values: Any) -> Any:
    item = spec.encode(Thing(id="1", **values))
    (name,) = values
    return item.get(name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"count": 5}, {"N": "5"}),
        ({"ratio": 0.5}, {"N": "0.5"}),
        ({"price": Decimal("1.10")}, {"N": "1.10"}),
        ({"flag": True}, {"BOOL": True}),
        ({"blob": b"\x00\x01"}, {"B": "AAE="}),
        ({"at": NOW}, {"S": "2026-02-03T04:05:06.000000Z"}),
        ({"at": datetime.fromisoformat("2026-02-03T05:05:06+01:00")}, {"S": "2026-02-03T04:05:06.000000Z"}),
        ({"at": None}, None),
        ({"uid": UUID(int=7)}, {"S": "00000000-0000-0000-0000-000000000007"}),
        ({"colour": Colour.RED}, {"S": "red"}),
        ({"level": Level.HIGH}, {"N": "2"}),
        ({"tags": {"b", "a"}}, {"SS": ["a", "b"]}),
        ({"tags": set()}, None),
        ({"holes": [1, None]}, {"L": [{"N": "1"}, {"NULL": True}]}),
        ({"pair": (1, "a")}, {"L": [{"N": "1"}, {"S": "a"}]}),
        ({"by_name": {"a": 1}}, {"M": {"a": {"N": "1"}}}),
        ({"shape": Circle(outer_radius=1.5)}, {"M": {"kind": {"S": "circle"}, "outerRadius": {"N": "1.5"}}}),
        ({"foreign": Foreign.model_validate({"firstName": "a"})}, {"M": {"firstName": {"S": "a"}}}),
        ({"text": {"a": [1]}}, {"S": '{"a":[1]}'}),
        ({"address": IPv4Address("10.0.0.1")}, {"S": "10.0.0.1"}),
        ({"length": timedelta(hours=1)}, {"S": "PT1H"}),
        ({"expires": NOW}, {"N": "1770091506"}),
    ],
)
def test_types_on_the_wire(values: dict[str, Any], expected: Any) -> None:
    assert wire_of(**values) == expected


def test_models_may_contain_themselves() -> None:
    thing = Thing(id="1", node=Node(name="a", children=[Node(name="b", children=[Node(name="c")])]))
    assert spec.decode(spec.encode(thing)) == thing


def test_a_foreign_model_with_aliases_comes_back() -> None:
    thing = Thing(id="1", foreign=Foreign.model_validate({"firstName": "a", "bornAt": NOW}))
    assert spec.decode(spec.encode(thing)) == thing


def test_an_empty_set_without_an_empty_default_is_refused() -> None:
    with pytest.raises(EmptySet):
        spec.encode(Thing(id="1", numbers=frozenset()))


def test_times_are_turned_to_utc() -> None:
    assert Thing(id="1", at=datetime.fromisoformat("2026-02-03T05:05:06+01:00")).at == NOW
    loaded = spec.decode({"id": {"S": "1"}, "at": {"S": "2026-02-03T05:05:06+01:00"}})
    assert loaded.at is not None
    assert loaded.at.tzinfo is UTC


def test_a_time_without_zone_is_refused_at_construction() -> None:
    with pytest.raises(ValidationError):
        Thing(id="1", at=datetime(2026, 1, 1))


def test_assignment_is_validated() -> None:
    thing = Thing(id="1")
    with pytest.raises(ValidationError):
        thing.count = "many"  # type: ignore[assignment]  # pyright: ignore


def test_a_misspelt_argument_is_refused() -> None:
    with pytest.raises(ValidationError):
        Thing(id="1", cuont=3)  # type: ignore[call-arg]  # pyright: ignore


def test_a_url_is_refused_with_its_attribute_named() -> None:
    with pytest.raises(ValidationError, match="picture"):
        Thing(id="1", picture="https://bucket/a.png")


def test_unknown_attributes_survive_a_round_trip_and_an_assignment() -> None:
    item = spec.encode(Thing(id="1")) | {"newer": {"L": [{"S": "x"}]}}
    thing = spec.decode(item)
    thing.count = 4
    assert spec.encode(thing) == item | {"count": {"N": "4"}}
    assert unknown_attributes(thing) == {"newer": {"L": [{"S": "x"}]}}
    assert spec.encode(copy.deepcopy(thing.model_copy())) == spec.encode(thing)


def test_unknown_attributes_survive_where_derived_ones_are_missing() -> None:
    item = spec_of(Leaf).encode(Leaf(tree="oak", number=3)) | {"newer": {"S": "x"}}
    del item["title"]
    assert spec_of(Leaf).encode(spec_of(Leaf).decode(item))["newer"] == {"S": "x"}


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(EmptyKey):
        spec.encode(Thing(id=""))
    with pytest.raises(EmptyKey):
        Thing.key(id="")


def test_unknown_attributes_of_records_survive() -> None:
    item = spec.encode(Thing(id="1", shape=Square(side_length=1)))
    item["shape"]["M"]["colour"] = {"S": "red"}
    thing = spec.decode(item)
    assert spec.encode(thing) == item


def test_a_null_for_an_optional_attribute_is_none() -> None:
    thing = spec.decode({"id": {"S": "1"}, "at": {"NULL": True}, "foreign": {"M": {"firstName": {"S": "a"}, "bornAt": {"NULL": True}}}})
    assert thing.at is None
    assert thing.foreign is not None
    assert thing.foreign.born_at is None


class Label(Record):
    text: str
    colour: str | None


class Parcel(Entity, table=Table("Parcels", hash="id", indexes=[GSI("by-driver", hash="driver_key")])):
    """Optional attributes without a default, one of them in an index key."""

    id: Attr[str]
    note: Attr[str | None]
    driver: Attr[str | None]
    labels: Attr[list[Label]] = field(factory=list)

    key = Key("{id}")
    driver_key = Key("DRIVER#{driver}", index="by-driver")


@pytest.mark.parametrize("note", [None, "fragile"])
@pytest.mark.parametrize("driver", [None, "nina"])
@pytest.mark.parametrize("colour", [None, "red"])
@pytest.mark.parametrize("unknown", [{}, {"newer": {"S": "x"}}])
def test_none_is_read_back_where_an_optional_attribute_has_no_default(
    note: str | None, driver: str | None, colour: str | None, unknown: dict[str, Any]
) -> None:
    parcel = Parcel(id="1", note=note, driver=driver, labels=[Label(text="to", colour=colour)])
    item = spec_of(Parcel).encode(parcel) | unknown
    read = spec_of(Parcel).decode(item)
    assert read == parcel
    assert read.model_fields_set == parcel.model_fields_set
    assert read.labels[0].model_fields_set == {"text", "colour"}
    assert unknown_attributes(read) == unknown
    assert spec_of(Parcel).encode(read) == item


def test_an_optional_attribute_that_only_a_key_holds_is_read_from_it() -> None:
    item = spec_of(Parcel).encode(Parcel(id="1", note=None, driver="nina"))
    del item["driver"]
    assert spec_of(Parcel).decode(item).driver == "nina"


def test_unknown_attributes_of_a_record_survive_beside_an_absent_one() -> None:
    item = spec_of(Parcel).encode(Parcel(id="1", note=None, driver=None, labels=[Label(text="to", colour=None)]))
    item["labels"]["L"][0]["M"]["newer"] = {"S": "x"}
    read = spec_of(Parcel).decode(item)
    assert read.labels[0].colour is None
    assert spec_of(Parcel).encode(read) == item


def test_a_wrong_wire_type_is_named_as_it_was_found() -> None:
    with pytest.raises(DecodeError, match=r": count has type S, expected N"):
        spec.decode({"id": {"S": "1"}, "count": {"S": "5"}})


def test_an_attribute_with_another_name_in_the_item_is_named_with_both() -> None:
    class Renamed(Entity, table=Table("Renamed", hash="id")):
        id: Attr[str]
        count: Attr[int] = required(name="theCount")
        key = Key("{id}")

    with pytest.raises(DecodeError, match=r"count \(theCount\) has type S, expected N"):
        spec_of(Renamed).decode({"id": {"S": "1"}, "theCount": {"S": "5"}})
    with pytest.raises(DecodeError, match=r"count \(theCount\) is missing"):
        spec_of(Renamed).decode({"id": {"S": "1"}})


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(DecodeError, match=r": id is missing"):
        spec.decode({"count": {"N": "5"}})


def test_an_invalid_value_is_refused_on_reading() -> None:
    with pytest.raises(DecodeError, match="mode"):
        spec.decode({"id": {"S": "1"}, "mode": {"S": "z"}})


def test_every_problem_of_an_item_is_listed() -> None:
    with pytest.raises(DecodeError) as caught:
        spec.decode({"id": {"S": "1"}, "count": {"S": "5"}, "flag": {"N": "1"}})
    assert len(caught.value.problems) == 2


def test_an_instance_that_was_not_validated_is_refused_with_its_attribute() -> None:
    thing = Thing(id="1")
    vars(thing)["colour"] = "red"
    with pytest.raises(EncodeError, match=r"Thing\.colour"):
        spec.encode(thing)


def test_a_projected_item_decodes_to_its_attributes() -> None:
    assert spec.decode_partial({"id": {"S": "1"}, "count": {"N": "5"}, "other": {"S": "x"}}) == {"id": "1", "count": 5}


def test_a_projected_item_is_validated() -> None:
    with pytest.raises(DecodeError, match="mode"):
        spec.decode_partial({"mode": {"S": "z"}})


def test_a_set_of_an_unsupported_type_is_refused_at_import() -> None:
    with pytest.raises(UnsupportedType):

        class _(Entity, table=Table("t", hash="id")):
            id: Attr[str]
            bad: Attr[set[bool]]

            key = Key("{id}")


keyed = Table("keyed", hash="PK", range="SK", tag="kind", indexes=[GSI("inverse", hash="SK", range="PK"), GSI("by", hash="G")])


class Leaf(Entity, table=keyed, tag="leaf"):
    tree: Attr[str]
    number: Attr[int]
    label: Attr[str | None] = field(None)

    key = Key("TREE#{tree}", "LEAF#{number:04d}")
    by = Key("L#{label}", index="by")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def title(self) -> str:
        return f"{self.tree}/{self.number}"


class Branch(Entity, table=keyed, tag="branch"):
    tree: Attr[str]
    name: Attr[str] = field("", hidden=True)

    key = Key("TREE#{tree}", "BRANCH")


def test_keys_and_tag_are_written() -> None:
    assert spec_of(Leaf).encode(Leaf(tree="oak", number=3)) == {
        "PK": {"S": "TREE#oak"},
        "SK": {"S": "LEAF#0003"},
        "kind": {"S": "leaf"},
        "tree": {"S": "oak"},
        "number": {"N": "3"},
        "title": {"S": "oak/3"},
    }


def test_an_optional_component_keeps_the_item_out_of_the_index() -> None:
    assert spec_of(Leaf).encode(Leaf(tree="oak", number=3, label="x"))["G"] == {"S": "L#x"}
    assert "G" not in spec_of(Leaf).encode(Leaf(tree="oak", number=3))


def test_an_item_of_another_entity_is_refused() -> None:
    with pytest.raises(WrongEntity, match="'branch', not a 'leaf'"):
        spec_of(Leaf).decode(spec_of(Branch).encode(Branch(tree="oak")))


def test_components_are_read_from_the_key_if_the_item_has_nothing_else() -> None:
    leaf = spec_of(Leaf).decode({"PK": {"S": "TREE#oak"}, "SK": {"S": "LEAF#0003"}})
    assert leaf == Leaf(tree="oak", number=3)


def test_components_are_decoded_from_a_keys_only_index() -> None:
    assert spec_of(Leaf).decode_partial({"PK": {"S": "TREE#oak"}, "SK": {"S": "LEAF#0003"}, "G": {"S": "L#x"}}) == {
        "tree": "oak",
        "number": 3,
        "label": "x",
    }


def test_hidden_attributes_are_stored_but_not_dumped() -> None:
    branch = Branch(tree="oak", name="secret")
    assert "name" not in branch.model_dump()
    assert "secret" not in repr(branch)
    assert spec_of(Branch).decode(spec_of(Branch).encode(branch)).name == "secret"


aged = Table("aged", hash="id")


class Aged(Entity, table=aged, schema=3):
    id: Attr[str]
    full_name: Attr[str]

    key = Key("{id}")


@upcaster(Aged, to=2)
def rename(item: Any) -> Any:
    return {"id": item["id"], "name": item["nom"]}


@upcaster(Aged, to=3)
def lengthen(item: Any) -> Any:
    return {"id": item["id"], "full_name": item["name"]}


def test_old_items_are_upcast_step_by_step() -> None:
    assert spec_of(Aged).decode({"id": {"S": "1"}, "nom": {"S": "a"}}) == Aged(id="1", full_name="a")
    assert spec_of(Aged).decode({"id": {"S": "1"}, "name": {"S": "a"}, "_schema": {"N": "2"}}) == Aged(id="1", full_name="a")


def test_the_schema_number_is_written_and_read() -> None:
    item = spec_of(Aged).encode(Aged(id="1", full_name="a"))
    assert item["_schema"] == {"N": "3"}
    assert unknown_attributes(spec_of(Aged).decode(item)) == {}


def test_an_old_item_without_an_upcaster_is_refused() -> None:
    class Lost(Entity, table=Table("lost", hash="id"), schema=2):
        id: Attr[str]

        key = Key("{id}")

    with pytest.raises(MissingUpcaster, match="@upcaster"):
        spec_of(Lost).decode({"id": {"S": "1"}})


def test_an_upcaster_that_raises_is_named() -> None:
    with pytest.raises(DecodeError, match="upcaster of Aged to schema 2 failed: KeyError"):
        spec_of(Aged).decode({"id": {"S": "1"}})


def test_an_upcaster_beyond_the_schema_is_refused() -> None:
    with pytest.raises(DeclarationError):
        upcaster(Aged, to=4)
    with pytest.raises(DeclarationError):
        upcaster(Aged, to=2)


class Later(Entity, table=Table("later", hash="id")):
    """A class whose types are defined after it."""

    id: Attr[str]
    other: Attr["DefinedLater | None"] = field(None)

    key = Key("{id}")


class DefinedLater(Record):
    x: Attr[int] = field(0)


def test_an_entity_whose_types_are_defined_later_is_built_at_first_use() -> None:
    later = Later(id="1", other=DefinedLater(x=2))
    assert spec_of(Later).decode(spec_of(Later).encode(later)) == later


def test_plain_annotations_are_attributes_too() -> None:
    class Plain(Entity, table=Table("plain", hash="id")):
        id: str
        n: int = Field(3, ge=0)

        key = Key("{id}")

    assert spec_of(Plain).encode(Plain(id="1")) == {"id": {"S": "1"}, "n": {"N": "3"}}
