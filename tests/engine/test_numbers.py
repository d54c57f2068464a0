from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import values
from gateleg.engine.errors import EngineError

#: Numbers that DynamoDB can hold, spelled in many ways.
texts = st.builds(
    lambda sign, digits, point, exponent: f"{sign}{digits[:point] or '0'}.{digits[point:] or '0'}E{exponent}",
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=38),
    st.integers(0, 38),
    st.integers(-90, 80),
)


@given(texts)
def test_canonical_text_keeps_the_value(text: str) -> None:
    assert Decimal(values.canonical_number(text)) == Decimal(text)


@given(texts)
def test_canonical_text_is_its_own_canonical_form(text: str) -> None:
    once = values.canonical_number(text)
    assert values.canonical_number(once) == once


@given(texts, texts)
def test_equal_values_have_one_spelling(one: str, other: str) -> None:
    assert (values.canonical_number(one) == values.canonical_number(other)) == (Decimal(one) == Decimal(other))


@given(texts, texts)
def test_encoded_order_is_numeric_order(one: str, other: str) -> None:
    one, other = values.canonical_number(one), values.canonical_number(other)
    assert (values.encode_number(one) < values.encode_number(other)) == (Decimal(one) < Decimal(other))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("1.0", "1"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("+5", "5"),
        ("007", "7"),
        ("1E-3", "0.001"),
        (".5", "0.5"),
        ("12.50", "12.5"),
        ("100", "100"),
    ],
)
def test_spelling(text: str, spelled: str) -> None:
    assert values.canonical_number(text) == spelled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The parameter cannot be converted to a numeric value"),
        ("abc", "The parameter cannot be converted to a numeric value: abc"),
        ("NaN", "The parameter cannot be converted to a numeric value: NaN"),
        ("Infinity", "The parameter cannot be converted to a numeric value: Infinity"),
        ("1_000", "The parameter cannot be converted to a numeric value: 1_000"),
        ("1" * 39, "Attempting to store more than 38 significant digits in a Number"),
        ("1E126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("-1E126", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
        ("1E-131", "Number underflow. Attempting to store a number with magnitude smaller than supported range"),
        ("1E999999999", "Number overflow. Attempting to store a number with magnitude larger than supported range"),
    ],
)
def test_refused_in_dynamodbs_words(text: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        values.canonical_number(text)
    assert caught.value.message == message


def test_the_limits_themselves_are_allowed() -> None:
    assert len(values.canonical_number("9." + "9" * 37 + "E125")) == 126
    assert values.canonical_number("1E-130").endswith("01")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *[("0", 1), ("1", 2), ("12", 2), ("123", 3), ("-1", 3), ("10", 2), ("1010", 3), ("123456", 4), ("9" * 38, 20)],
        *[("0.5", 2), ("0.15", 2), ("1.5", 3), ("1.234", 4), ("3.14159", 5), ("100.5", 4), ("0.0000001", 2), ("-4.2", 4)],
    ],
)
def test_size(text: str, size: int) -> None:
    assert values.number_size(text) == size
