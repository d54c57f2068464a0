"""Wire values that are the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.host.items import canonical, same

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9).map(str)
VALUES = st.recursive(
    st.one_of(
        st.text().map(lambda text: {"S": text}),
        NUMBERS.map(lambda text: {"N": text}),
        st.booleans().map(lambda flag: {"BOOL": flag}),
        st.lists(NUMBERS, min_size=1).map(lambda texts: {"NS": texts}),
        st.lists(st.text(), min_size=1).map(lambda texts: {"SS": texts}),
    ),
    lambda inner: st.one_of(
        st.lists(inner).map(lambda values: {"L": values}), st.dictionaries(st.text(), inner).map(lambda values: {"M": values})
    ),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"N": "12"}, {"N": "12.0"}),
        ({"N": "1E+2"}, {"N": "100"}),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2.0"]}, {"NS": ["2", "1"]}),
        ({"a": {"L": [{"N": "1"}]}}, {"a": {"L": [{"N": "1.0"}]}}),
        ({"M": {"N": {"S": "a map with a key called N"}}}, {"M": {"N": {"S": "a map with a key called N"}}}),
    ],
)
def test_what_is_written_otherwise_is_the_same(one: Any, other: Any) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"S": "1"}, {"N": "1"}),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}),
        ({"S": "a"}, None),
        ({"N": "1"}, {"N": "2"}),
    ],
)
def test_what_differs_is_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)


@given(VALUES)
def test_the_canonical_form_is_its_own(value: Any) -> None:
    assert canonical(canonical(value)) == canonical(value)
