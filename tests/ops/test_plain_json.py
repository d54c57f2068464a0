import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.ops.plain_json import from_plain, plain_text, value_text

_NUMBERS = st.integers(-(10**37), 10**37).map(str) | st.sampled_from(
    ["0.1", "-1.50", "1E+60", "-3.1E-70", ".5", "12345678901234567890.123456789"]
)
_SCALARS = st.one_of(
    st.text().map(lambda text: {"S": text}),
    _NUMBERS.map(lambda number: {"N": number}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
)
_VALUES: st.SearchStrategy[dict[str, Any]] = st.recursive(
    _SCALARS | st.just({"NULL": True}),
    lambda inner: st.lists(inner).map(lambda items: {"L": items}) | st.dictionaries(st.text(), inner).map(lambda items: {"M": items}),
    max_leaves=8,
)


def _exact(value: Any) -> Any:
    """A value with its numbers in one form."""
    from decimal import Decimal

    if isinstance(value, dict) and set(value) == {"N"} and isinstance(value["N"], str):
        return {"N": Decimal(value["N"]).normalize()}
    if isinstance(value, dict):
        return {name: _exact(entry) for name, entry in value.items()}
    return [_exact(entry) for entry in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(min_size=1), _VALUES.filter(lambda value: "NULL" not in value)))
def test_an_item_without_sets_and_binary_comes_back(item: dict[str, Any]) -> None:
    assert _exact(from_plain(plain_text(item), {})) == _exact(item)


@given(st.dictionaries(st.text(min_size=1), _VALUES))
def test_a_line_is_one_line_of_json(item: dict[str, Any]) -> None:
    text = plain_text(item)
    assert "\n" not in text
    assert isinstance(json.loads(text), dict)


def test_sets_and_binary_come_back_where_their_types_are_known() -> None:
    item: dict[str, Any] = {"b": {"B": "AAE="}, "s": {"SS": ["x", "y"]}, "n": {"NS": ["1", "2.5"]}, "t": {"BS": ["AA=="]}}
    assert from_plain(plain_text(item), {"b": "B", "s": "SS", "n": "NS", "t": "BS"}) == item


def test_digits_are_not_lost() -> None:
    number = "12345678901234567890123456789012345678"
    assert plain_text({"n": {"N": number}}) == f'{{"n": {number}}}'


@pytest.mark.parametrize("line", ["[]", "1", '{"n": NaN}', '{"n": Infinity}'])
def test_what_is_no_item_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_plain(line, {})


def test_text_for_people_is_on_one_line() -> None:
    assert value_text({"S": "a\nb"}) == "a↵b"
    assert value_text({"L": [{"N": "1"}, {"S": "a\nb"}]}) == '[1, "a\\nb"]'
