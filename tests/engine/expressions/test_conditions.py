"""What conditions mean."""

from itertools import product
from typing import Any

import pytest

from gateleg.engine.expressions import And, Call, Compare, Literal, Not, Or, Path, compile_condition, condition, prepare
from tests.engine.expressions.refusal import holds

ALL_TYPES: list[dict[str, Any]] = [
    {"N": "1"},
    {"S": "hello"},
    {"BOOL": True},
    {"B": "eHl6"},
    {"NULL": True},
    {"L": [{"S": "hello"}, {"N": "42"}]},
    {"M": {"hello": {"S": "world"}}},
    {"SS": ["hello", "world"]},
    {"NS": ["1", "2", "3"]},
    {"BS": ["eHl6", "aGk="]},
]


@pytest.mark.parametrize(("one", "two"), list(product(ALL_TYPES, ALL_TYPES)))
def test_values_are_equal_only_to_themselves(one: dict[str, Any], two: dict[str, Any]) -> None:
    same = one is two
    assert holds("a = :v", {"a": one}, {":v": two}) is same
    assert holds("a <> :v", {"a": one}, {":v": two}) is not same
    assert holds("a = b", {"a": one, "b": two}) is same
    assert holds("a IN (:v)", {"a": one}, {":v": two}) is same


def test_sets_are_equal_in_any_order_at_any_depth() -> None:
    item = {"a": {"M": {"d": {"L": [{"SS": ["g", "h"]}]}, "i": {"NS": ["1", "2"]}, "b": {"BS": ["YQ==", "Yg=="]}}}}
    turned = {"M": {"i": {"NS": ["2", "1"]}, "d": {"L": [{"SS": ["h", "g"]}]}, "b": {"BS": ["Yg==", "YQ=="]}}}
    assert holds("a = :v", item, {":v": turned})
    wrong = {"M": {"i": {"NS": ["2", "1"]}, "d": {"L": [{"SS": ["h", "x"]}]}, "b": {"BS": ["Yg==", "YQ=="]}}}
    assert not holds("a = :v", item, {":v": wrong})


@pytest.mark.parametrize(
    "text", ["q = :v", "q < :v", ":v >= q", "q BETWEEN :v AND :v", "q IN (:v)", "begins_with(q, :v)", "contains(q, :v)", "q = z", "q < z"]
)
def test_what_is_missing_satisfies_no_comparison(text: str) -> None:
    values = {":v": {"S": "x"}} if ":v" in text else None
    assert not holds(text, {}, values)


@pytest.mark.parametrize("text", ["q <> :v", ":v <> q"])
def test_what_is_missing_differs_from_everything(text: str) -> None:
    assert holds(text, {}, {":v": {"S": "x"}})
    assert holds("q <> z", {})


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ({"N": "9"}, {"N": "10"}),
        ({"N": "-10"}, {"N": "-9"}),
        ({"N": "0.00000000000000000000000000000000000001"}, {"N": "0.00000000000000000000000000000000000002"}),
        ({"N": "99999999999999999999999999999999999998"}, {"N": "99999999999999999999999999999999999999"}),
        ({"S": "cat"}, {"S": "dog"}),
        ({"S": ""}, {"S": "\u0000"}),
        ({"S": "\uffff"}, {"S": "\U00010000"}),
        ({"B": "fw=="}, {"B": "gA=="}),
    ],
)
def test_order_is_by_number_by_code_point_and_by_unsigned_byte(low: dict[str, Any], high: dict[str, Any]) -> None:
    item = {"low": low, "high": high}
    assert holds("low < high", item)
    assert not holds("high < low", item)
    assert holds("low <= high", item)
    assert not holds("low > high", item)
    assert holds("high > low", item)
    assert holds("high >= low", item)
    assert holds("low <= :v", item, {":v": low})
    assert not holds("low < :v", item, {":v": low})
    assert holds("low BETWEEN :v AND high", item, {":v": low})
    assert not holds("high BETWEEN :v AND :v", item, {":v": low})


def test_values_of_different_or_orderless_types_have_no_order() -> None:
    assert not holds("a < :v", {"a": {"N": "1"}}, {":v": {"S": "2"}})
    assert not holds("a < :v", {"a": {"L": []}}, {":v": {"N": "2"}})
    assert not holds("a BETWEEN b AND c", {"a": {"N": "1"}, "b": {"L": []}, "c": {"L": []}})
    assert not holds("a > b", {"a": {"BOOL": True}, "b": {"BOOL": False}})


def test_begins_with_works_on_texts_and_bytes_from_either_side() -> None:
    item = {"a": {"S": "hello"}, "b": {"B": "aGkgdGhlcmU="}, "n": {"N": "12"}}
    assert holds("begins_with(a, :v)", item, {":v": {"S": "hell"}})
    assert not holds("begins_with(a, :v)", item, {":v": {"S": "dog"}})
    assert holds("begins_with(b, :v)", item, {":v": {"B": "aGk="}})
    assert holds("begins_with(:v, a)", item, {":v": {"S": "hellohi"}})
    assert not holds("begins_with(n, :v)", item, {":v": {"S": "1"}})


@pytest.mark.parametrize(
    ("value", "sought", "found"),
    [
        ({"S": "hello"}, {"S": "ell"}, True),
        ({"S": "hello"}, {"N": "1"}, False),
        ({"NS": ["2", "4"]}, {"N": "4"}, True),
        ({"NS": ["2", "4"]}, {"S": "4"}, False),
        ({"SS": ["two", "four"]}, {"S": "four"}, True),
        ({"SS": ["two", "four"]}, {"S": "fou"}, False),
        ({"BS": ["YQ=="]}, {"B": "YQ=="}, True),
        ({"B": "aGkgdGhlcmU="}, {"B": "aGVyZQ=="}, True),
        ({"B": "aGkgdGhlcmU="}, {"B": "ZG9n"}, False),
        ({"L": [{"N": "2"}, {"NS": ["1", "2"]}]}, {"NS": ["2", "1"]}, True),
        ({"L": [{"N": "2"}]}, {"N": "3"}, False),
        ({"M": {"a": {"S": "b"}}}, {"S": "a"}, False),
        ({"N": "12"}, {"N": "1"}, False),
    ],
)
def test_contains_finds_parts_and_members(value: dict[str, Any], sought: dict[str, Any], found: bool) -> None:
    assert holds("contains(a, :v)", {"a": value}, {":v": sought}) is found


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "hello"}, "5"),
        ({"B": "aGkgdGhlcmU="}, "8"),
        ({"NS": ["1", "2"]}, "2"),
        ({"L": [{"N": "1"}, {"L": []}, {"S": ""}]}, "3"),
        ({"M": {"x": {"N": "2"}, "y": {"M": {}}}}, "2"),
        ({"S": ""}, "0"),
    ],
)
def test_size_measures_what_has_a_size(value: dict[str, Any], size: str) -> None:
    assert holds("size(a) = :v", {"a": value}, {":v": {"N": size}})
    assert holds("size(:a) = :v", {}, {":v": {"N": size}, ":a": value})


@pytest.mark.parametrize("value", [{"N": "5"}, {"BOOL": True}, {"NULL": True}])
def test_what_has_no_size_only_differs(value: dict[str, Any]) -> None:
    assert not holds("size(a) >= :v", {"a": value}, {":v": {"N": "0"}})
    assert holds("size(a) <> :v", {"a": value}, {":v": {"N": "0"}})


@pytest.mark.parametrize("value", ALL_TYPES)
def test_attribute_type_tells_the_type(value: dict[str, Any]) -> None:
    tag = next(iter(value))
    assert holds("attribute_type(a, :t)", {"a": value}, {":t": {"S": tag}})
    assert not holds("attribute_type(a, :t)", {"a": value}, {":t": {"S": "N" if tag != "N" else "S"}})
    assert not holds("attribute_type(b, :t)", {"a": value}, {":t": {"S": tag}})


def test_paths_reach_into_maps_and_lists() -> None:
    item = {"b": {"M": {"x": {"N": "1"}, "y": {"L": [{"N": "-1"}, {"N": "2"}]}}}}
    assert holds("attribute_exists(b.x)", item)
    assert holds("attribute_not_exists(b.z)", item)
    assert holds("b.x < b.y[1]", item)
    assert not holds("b.x < b.y[0]", item)
    assert not holds("b.z < b.y[100]", item)
    assert not holds("attribute_exists(b[0])", item)
    assert not holds("attribute_exists(b.y.x)", item)
    assert not holds("attribute_exists(b.x.y)", item)


def test_names_stand_in_every_position() -> None:
    item = {"and": {"M": {"or": {"L": [{"M": {"not.it": {"N": "2"}}}]}}}}
    assert holds("#a.#b[0].#c = :two", item, {":two": {"N": "2"}}, {"#a": "and", "#b": "or", "#c": "not.it"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b AND b < c", True),
        ("a < b aNd c < b", False),
        ("b < a oR b < c", True),
        ("b < a OR c < b", False),
        ("nOt b < a", True),
        ("NOT NOT NOT NOT a < b", True),
        ("NOT NOT NOT a < b", False),
        ("a < b OR c < b AND b < c", True),
        ("(a < b OR c < b) AND c < b", False),
        ("NOT a < b AND c < b", False),
        ("NOT (a < b AND c < b)", True),
        ("b between a and c and a < b", True),
        ("b BETWEEN a AND c AND c < b", False),
        ("c < b OR b BETWEEN a AND c", True),
        ("a IN (b, c) OR a IN (:one)", True),
        ("(a) BETWEEN (:one) AND (b)", True),
        ("(b < c AND (a < b OR (c < a))) AND (NOT c < a)", True),
    ],
)
def test_not_binds_closer_than_and_and_closer_than_or(text: str, expected: bool) -> None:
    item = {"a": {"N": "1"}, "b": {"N": "2"}, "c": {"N": "3"}}
    assert holds(text, item, {":one": {"N": "1"}} if ":one" in text else None) is expected


def test_a_condition_knows_its_attributes() -> None:
    request = {"ConditionExpression": "a = b.c OR attribute_exists(#d[0])", "ExpressionAttributeNames": {"#d": "d.e"}}
    found = prepare(request, "PutItem").condition
    assert found is not None
    assert found.attributes == {"a", "b", "d.e"}
    assert found.nested == {"b", "d.e"}


def test_conditions_can_be_built_from_nodes() -> None:
    one = Literal({"N": "1"})
    node = And((Compare("=", Path(("a",)), one), Not(Or((Call("attribute_exists", (Path(("b", 0)),)), Compare("<", one, Path(("a",))))))))
    test = compile_condition(node)
    assert test({"a": {"N": "1"}}, {})
    assert not test({"a": {"N": "1"}, "b": {"L": [{"N": "0"}]}}, {})
    assert condition(node).attributes == {"a", "b"}
