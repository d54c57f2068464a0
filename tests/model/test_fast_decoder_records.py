"""The fast decoder of nested records has the same results as pydantic."""

from datetime import datetime
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.model import Attr, Entity, Key, Record, Table, field, spec_of
from gateleg.model.codec import SlowDecoder
from gateleg.model.errors import DecodeError
from gateleg.plain import is_plain


class Part(Record, case="camel"):
    label: Attr[str]
    outcome: Attr[Literal["good", "bad"]] = field("good")
    count: Attr[int] = field(0, ge=0)
    ended_at: Attr[datetime | None] = field(None)
    extra: Attr[Any] = field(None)


class Whole(Entity, table=Table("Wholes", hash="PK")):
    ident: Attr[str]
    first: Attr[Part | None] = field(None)
    parts: Attr[list[Part]] = field(factory=list, max_length=2)
    limits: Attr[dict[str, int]] = field(factory=dict)
    numbers: Attr[list[int]] = field(factory=list, min_length=1)
    note: Attr[str | None] = field(None)

    key = Key("W#{ident}")


texts = st.sampled_from([{"S": "good"}, {"S": "x"}, {"S": 5}, {"N": "1"}, {"N": "-1"}, {"NULL": True}, {"M": {}}, {"L": []}])
times = st.sampled_from([{"S": "2026-01-01T00:00:00.000000Z"}, {"S": "2026-01-01T02:00:00+02:00"}, {"S": "soon"}])
contents = st.fixed_dictionaries(
    {"label": texts}, optional={"outcome": texts, "count": texts, "endedAt": times | texts, "extra": texts, "unknown": texts}
)
records = contents.map(lambda content: {"M": content})
items = st.fixed_dictionaries(
    {"PK": st.just({"S": "W#a"}), "ident": st.just({"S": "a"})},
    optional={
        "first": records | texts,
        "parts": st.lists(records | texts, max_size=3).map(lambda members: {"L": members}),
        "limits": st.sampled_from([{"M": {}}, {"M": {"most": {"N": "1"}}}, {"M": {"most": {"S": "x"}}}, {"L": []}]),
        "numbers": st.sampled_from([{"L": []}, {"L": [{"N": "1"}]}]),
        "unknown": texts,
    },
)


def told(value: Any) -> Any:
    """Everything observable about an instance and its nested instances."""
    if isinstance(value, BaseModel):
        inner = {name: told(content) for name, content in value.__dict__.items()}
        return type(value), inner, value.model_fields_set, value.__pydantic_extra__, value.__pydantic_private__
    return [told(member) for member in value] if isinstance(value, list) else value


def outcome(read: Any, item: dict[str, Any]) -> Any:
    try:
        return told(read(item))
    except DecodeError as error:
        return str(error)


@given(items)
def test_the_fast_decoder_reads_records_as_pydantic_does(item: dict[str, Any]) -> None:
    spec = spec_of(Whole)
    assert outcome(spec.decode, item) == outcome(SlowDecoder(spec).read, item)


def test_a_plain_record_needs_no_validator() -> None:
    assert ("read_Part" in spec_of(Whole).codec.source) != is_plain("decoder")


@pytest.mark.parametrize("name", ["limits", "parts"])
def test_empty_collections_are_not_shared_between_instances(name: str) -> None:
    item: dict[str, Any] = {"PK": {"S": "W#a"}, "ident": {"S": "a"}, "limits": {"M": {}}, "parts": {"L": []}}
    one, other = spec_of(Whole).decode(item), spec_of(Whole).decode(item)
    assert getattr(one, name) == getattr(other, name)
    assert getattr(one, name) is not getattr(other, name)
