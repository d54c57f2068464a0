from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from gateleg.model.errors import EmptySet, NaiveTime, NumberRefused, UnsupportedType
from gateleg.model.wire import decimal_text, epoch_text, float_text, from_epoch, int_text, iso, number, unwire, uuid_text, wire

aware = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]), min_value=datetime(2, 1, 1))


@given(aware)
def test_times_read_back_as_the_same_instant(value: datetime) -> None:
    assert datetime.fromisoformat(iso(value)) == value


@given(aware)
def test_times_have_one_width_and_end_in_z(value: datetime) -> None:
    assert len(iso(value)) == 27
    assert iso(value).endswith("Z")


@given(aware, aware)
def test_text_order_of_times_is_time_order(one: datetime, other: datetime) -> None:
    assert (iso(one) < iso(other)) == (one < other)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(NaiveTime):
        iso(datetime(2026, 1, 1))


def test_ttl_is_whole_seconds() -> None:
    assert epoch_text(datetime(2026, 1, 1, 0, 0, 1, 999999, tzinfo=UTC)) == "1767225601"
    assert from_epoch("1767225601") == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


@given(st.uuids())
def test_uuid_text_equals_str(value: UUID) -> None:
    assert uuid_text(value) == str(value)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e125, max_value=1e125).filter(lambda x: x == 0 or abs(x) > 1e-129))
def test_floats_read_back_exactly(value: float) -> None:
    assert float(float_text(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e126, 1e-131])
def test_floats_that_dynamodb_does_not_store_are_refused(value: float) -> None:
    with pytest.raises(NumberRefused):
        float_text(value)


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_integers_read_back_exactly(value: int) -> None:
    assert int(int_text(value)) == value


def test_an_integer_of_39_digits_is_refused_unless_it_ends_in_zeros() -> None:
    with pytest.raises(NumberRefused):
        int_text(10**38 + 1)
    assert Decimal(int_text(10**40)) == 10**40


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1E+126", "1E-131", "1.00000000000000000000000000000000000001"])
def test_decimals_that_would_be_rounded_or_refused_are_refused(text: str) -> None:
    with pytest.raises(NumberRefused):
        decimal_text(Decimal(text))


def test_zeros_at_the_end_are_not_digits() -> None:
    assert Decimal(decimal_text(Decimal("1.5" + "0" * 50))) == Decimal("1.5")
    assert decimal_text(Decimal("0E-200")) == "0"


@given(st.decimals(allow_nan=False, allow_infinity=False, places=8, min_value=-(10**20), max_value=10**20))
def test_numbers_of_no_declared_type_stay_exact(value: Decimal) -> None:
    assert number(str(value)) == value or Decimal(repr(number(str(value)))) == value


def test_a_number_that_no_float_holds_comes_back_as_decimal() -> None:
    assert number("0.1234567890123456789") == Decimal("0.1234567890123456789")
    assert number("0.5") == 0.5
    assert number("7") == 7


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_plain_values_survive_the_wire(value: Any) -> None:
    assert unwire(wire(value)) == value


def test_sets_are_sorted_and_typed() -> None:
    assert wire({"b", "a"}) == {"SS": ["a", "b"]}
    assert wire(frozenset({2})) == {"NS": ["2"]}
    assert wire({b"x"}) == {"BS": ["eA=="]}
    assert unwire({"NS": ["2", "3"]}) == {2, 3}
    assert unwire({"BS": ["eA=="]}) == {b"x"}
    assert unwire({"SS": ["a"]}) == {"a"}


def test_empty_and_mixed_sets_are_refused() -> None:
    with pytest.raises(EmptySet):
        wire(set())
    with pytest.raises(UnsupportedType):
        wire({1, "a"})


class Colour(Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    label: str | None = None


class Text(str):
    __slots__ = ()


class Count(int):
    pass


class Ratio(float):
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, {"S": "red"}),
        (Decimal("1.10"), {"N": "1.10"}),
        (date(2026, 1, 2), {"S": "2026-01-02"}),
        (UUID(int=1), {"S": "00000000-0000-0000-0000-000000000001"}),
        (bytearray(b"a"), {"B": "YQ=="}),
        (Point(x=1), {"M": {"x": {"N": "1"}}}),
        (Text("a"), {"S": "a"}),
        (Count(3), {"N": "3"}),
        (Ratio(0.5), {"N": "0.5"}),
        (MappingProxyType({"a": 1}), {"M": {"a": {"N": "1"}}}),
        ({1: "a", Colour.RED: "b"}, {"M": {"1": {"S": "a"}, "red": {"S": "b"}}}),
    ],
)
def test_rare_types_can_be_stored(value: Any, expected: Mapping[str, Any]) -> None:
    assert wire(value) == expected


@pytest.mark.parametrize("value", [object(), {True: 1}, {1.5: 1}])
def test_unsupported_types_are_refused(value: Any) -> None:
    with pytest.raises(UnsupportedType):
        wire(value)


def test_an_unknown_wire_type_is_refused() -> None:
    with pytest.raises(UnsupportedType):
        unwire({"X": 1})
