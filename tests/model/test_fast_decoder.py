"""The fast decoder has the same results as pydantic."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, PrivateAttr, ValidationInfo, field_validator, model_validator

from gateleg.model import GSI, TTL, Attr, Entity, Key, Record, S3Key, States, Table, Version, field, required, spec_of, stamp, state
from gateleg.model.codec import SlowDecoder
from gateleg.model.errors import DecodeError
from gateleg.plain import is_plain

NOW = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
table = Table("Direct", hash="PK", indexes=[GSI("by-name", hash="G1")])


class Mood(States):
    CALM = state("calm", to=["cross"])
    CROSS = state("cross")


class Address(Record):
    city: Attr[str]


class Person(Entity, table=table):
    ident: Attr[UUID]
    name: Attr[str]
    nick: Attr[str | None] = field(None)
    short: Attr[str] = required(min_length=1, max_length=3)
    age: Attr[int] = required(ge=0, lt=200)
    score: Attr[int] = field(7)
    height: Attr[float | None] = field(None)
    member: Attr[bool] = field(False)
    mood: Attr[Mood] = field(Mood.CALM)
    size: Attr[Literal["s", "m"]] = field("m")
    born: Attr[datetime | None] = field(None)
    gone: Attr[TTL | None] = field(None)
    picture: Attr[S3Key | None] = field(None)
    tags: Attr[list[str]] = field(factory=list)
    limits: Attr[dict[str, int]] = field({"most": 1})
    labels: Attr[dict[str, str]] = field(factory=dict)
    home: Attr[Address | None] = field(None)
    version: Attr[Version] = field(0)
    changed: Attr[datetime] = stamp(on="write")

    key = Key("P#{ident}#{score:03d}")
    name_key = Key("N#{nick}", index="by-name")


IDENT = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
ITEM = spec_of(Person).encode(Person(ident=IDENT, name="Ada", short="A", age=36, changed=NOW))
texts = st.text(st.characters(codec="utf-8"), max_size=5)
numbers = st.one_of(st.integers(-5, 300).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr), st.just("x"))
values = st.one_of(
    texts.map(lambda text: {"S": text}),
    numbers.map(lambda text: {"N": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.sampled_from(["2026-01-01T00:00:00.000000Z", "2026-01-01T02:00:00+02:00", "2026-01-01", "calm", "s", "m"]).map(
        lambda text: {"S": text}
    ),
    st.just({"NULL": True}),
    st.just({"S": 5}),
    st.just({"N": 2.5}),
    st.just({"BOOL": "yes"}),
    st.lists(texts | st.integers()).map(lambda elements: {"L": [{"S": text} for text in elements]}),
    texts.map(lambda text: {"M": {"city": {"S": text}, "more": {"N": "1"}}}),
    (texts | st.integers()).map(lambda text: {"M": {"first": {"S": "a"}, "second": {"S": text}}}),
)
wire_names = sorted({*(attribute.wire for attribute in spec_of(Person).attributes.values()), "PK", "G1", "extra"})


def outcome(read: Any, item: dict[str, Any]) -> Any:
    """Everything observable about a decoded instance, or the error."""
    try:
        found = read(item)
    except DecodeError as error:
        return str(error)
    return [*found.__dict__.items()], found.model_fields_set, found.__pydantic_extra__, found.__pydantic_private__


def test_the_fast_decoder_handles_the_sample() -> None:
    assert ("validate(d)" in spec_of(Person).codec.source) == is_plain("decoder")


@given(st.dictionaries(st.sampled_from(wire_names), st.none() | values, max_size=6))
def test_the_fast_decoder_reads_an_item_as_pydantic_does(changes: dict[str, Any]) -> None:
    item = {name: value for name, value in {**ITEM, **changes}.items() if value is not None}
    spec = spec_of(Person)
    assert outcome(spec.decode, item) == outcome(SlowDecoder(spec).read, item)


@pytest.mark.parametrize("number", ["7", "-7", "1000"])
@pytest.mark.parametrize("ident", [str(IDENT), str(IDENT).upper(), IDENT.hex, IDENT.urn, f"{{{IDENT}}}", str(UUID(int=5))])
def test_a_key_in_any_form_is_remembered_as_the_slow_way_does(ident: str, number: str) -> None:
    spec = spec_of(Person)
    for in_key in (ident, str(IDENT), str(IDENT).upper(), str(UUID(int=6))):
        for padded in (number, number.zfill(3), number.zfill(4)):
            item = {**ITEM, "ident": {"S": ident}, "score": {"N": number}, "PK": {"S": f"P#{in_key}#{padded}"}}
            assert outcome(spec.decode, item) == outcome(SlowDecoder(spec).read, item)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("age", {"N": "1.5"}),
        ("age", {"N": 36.5}),
        ("name", {"S": 5}),
        ("member", {"BOOL": "maybe"}),
        ("mood", {"S": "happy"}),
        ("size", {"S": "l"}),
        ("born", {"S": "2026-01-01T00:00:00"}),
        ("ident", {"S": "5"}),
        ("labels", {"M": {"a": {"S": 5}}}),
        ("labels", {"M": {"a": {"N": "5"}}}),
        ("home", {"M": {}}),
        ("nick", {"N": "5"}),
        ("tags", {"L": [{"S": "a"}, {"S": 5}]}),
        ("tags", {"L": [{"S": "a"}, {"N": "5"}]}),
    ],
)
def test_invalid_values_are_refused(name: str, value: dict[str, Any]) -> None:
    with pytest.raises(DecodeError, match=name):
        spec_of(Person).decode(ITEM | {name: value})


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("short", {"S": ""}, ""),
        ("short", {"S": "long"}, "long"),
        ("age", {"N": "-1"}, -1),
        ("age", {"N": "200"}, 200),
        ("version", {"N": "-1"}, -1),
    ],
)
def test_a_value_that_only_breaks_a_bound_is_read_unchanged(name: str, value: dict[str, Any], read: Any) -> None:
    assert getattr(spec_of(Person).decode(ITEM | {name: value}), name) == read


def test_an_instance_has_its_fields_in_declared_order() -> None:
    found = spec_of(Person).decode(dict(reversed(ITEM.items())))
    assert list(found.__dict__) == list(Person.model_fields)


def test_defaults_are_not_shared_between_instances() -> None:
    item = {name: value for name, value in ITEM.items() if name not in ("tags", "limits")}
    one, other = spec_of(Person).decode(item), spec_of(Person).decode(item)
    one.tags.append("x")
    one.limits["most"] = 2
    assert (other.tags, other.limits) == ([], {"most": 1})


def test_an_instance_can_be_changed_copied_and_compared_like_any_other() -> None:
    found = spec_of(Person).decode(ITEM)
    found.age = 37
    assert found == found.model_copy()
    assert found.model_dump() == Person.model_validate(found.model_dump()).model_dump()


def test_a_fields_own_validator_runs() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value

    class Even(Entity, table=Table("Evens", hash="id")):
        id: Attr[str]
        name: Attr[str]
        count: Attr[Annotated[int, AfterValidator(even)]]
        key = Key("{id}")

    assert ("validate(d)" in spec_of(Even).codec.source) == is_plain("decoder")
    with pytest.raises(DecodeError, match="odd"):
        spec_of(Even).decode({"id": {"S": "a"}, "name": {"S": "b"}, "count": {"N": "1"}})


def test_a_validator_declared_in_the_class_runs() -> None:
    class Loud(Entity, table=Table("Loud", hash="id")):
        id: Attr[str]
        name: Attr[str]
        word: Attr[str]
        key = Key("{id}")

        @field_validator("word")
        @classmethod
        def _raise_voice(cls, value: str) -> str:
            return value.upper()

    assert spec_of(Loud).decode({"id": {"S": "a"}, "name": {"S": "b"}, "word": {"S": "hey"}}).word == "HEY"


def test_a_validator_sees_the_fields_before_it() -> None:
    class Pair(Entity, table=Table("Pairs", hash="id")):
        id: Attr[str]
        low: Attr[int]
        high: Attr[int]
        key = Key("{id}")

        @field_validator("high")
        @classmethod
        def _above(cls, value: int, info: ValidationInfo) -> int:
            if value < info.data["low"]:
                raise ValueError("below low")
            return value

    with pytest.raises(DecodeError, match="below low"):
        spec_of(Pair).decode({"id": {"S": "a"}, "low": {"N": "2"}, "high": {"N": "1"}})


def test_a_validator_of_the_model_runs() -> None:
    class Checked(Entity, table=Table("Checked", hash="id")):
        id: Attr[str]
        low: Attr[int]
        key = Key("{id}")

        @model_validator(mode="after")
        def _positive(self) -> "Checked":
            if self.low < 0:
                raise ValueError("negative")
            return self

    with pytest.raises(DecodeError, match="negative"):
        spec_of(Checked).decode({"id": {"S": "a"}, "low": {"N": "-1"}})


def test_private_attributes_have_their_defaults() -> None:
    class Secretive(Entity, table=Table("Secrets", hash="id")):
        id: Attr[str]
        _seen: list[int] = PrivateAttr(default_factory=list)
        key = Key("{id}")

    assert spec_of(Secretive).decode({"id": {"S": "a"}})._seen == []


def test_post_init_hooks_run() -> None:
    class Eager(Entity, table=Table("Eager", hash="id")):
        id: Attr[str]
        note: Attr[str] = field("")
        key = Key("{id}")

        def model_post_init(self, context: Any, /) -> None:
            object.__setattr__(self, "note", f"after {self.id}")

    assert spec_of(Eager).decode({"id": {"S": "a"}}).note == "after a"
