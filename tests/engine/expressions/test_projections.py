from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.expressions import prepare
from tests.engine.expressions.refusal import projected, refused

ITEM: dict[str, Any] = {
    "p": {"S": "1"},
    "a": {"M": {"b": {"L": [{"N": "2"}, {"N": "4"}, {"M": {"x": {"S": "hi"}, "y": {"S": "yo"}}}]}, "c": {"N": "5"}}},
    "b": {"S": "hello"},
    "a.b": {"S": "dotted"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", {"a": ITEM["a"]}),
        (" p  ,   b ", {"p": {"S": "1"}, "b": {"S": "hello"}}),
        ("a.b[0]", {"a": {"M": {"b": {"L": [{"N": "2"}]}}}}),
        ("a.b[2].y", {"a": {"M": {"b": {"L": [{"M": {"y": {"S": "yo"}}}]}}}}),
        ("a.b[1], a.b[0]", {"a": {"M": {"b": {"L": [{"N": "2"}, {"N": "4"}]}}}}),
        ("a.b[0],a.c", {"a": {"M": {"b": {"L": [{"N": "2"}]}, "c": {"N": "5"}}}}),
        ("a.x, a.b[0], x, a.b[3].x", {"a": {"M": {"b": {"L": [{"N": "2"}]}}}}),
        ("x", {}),
        ("a.b[3]", {}),
        ("a.x.y", {}),
        ("a.b.x", {}),
        ("a[0]", {}),
        ("a.b[0].x", {}),
        ("a.b[0][0]", {}),
        ("b.c, p", {"p": {"S": "1"}}),
    ],
)
def test_a_projection_keeps_the_way_to_what_it_wants(text: str, expected: dict[str, Any]) -> None:
    assert projected(text, ITEM) == expected


def test_a_name_with_a_dot_is_one_name() -> None:
    assert projected("#n", ITEM, {"#n": "a.b"}) == {"a.b": {"S": "dotted"}}
    assert projected("#a.#c", ITEM, {"#a": "a", "#c": "c"}) == {"a": {"M": {"c": {"N": "5"}}}}


@pytest.mark.parametrize(
    ("text", "relation", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a.b, a", "overlap", "[a, b]", "[a]"),
        ("a.b, a.b[2]", "overlap", "[a, b]", "[a, b, [2]]"),
        ("a[1], b, a[1]", "overlap", "[a, [1]]", "[a, [1]]"),
        ("a.b, a[1]", "conflict", "[a, b]", "[a, [1]]"),
        ("a.b.c, a.b[1]", "conflict", "[a, b, c]", "[a, b, [1]]"),
        ("a.b, a[1], a.b", "overlap", "[a, b]", "[a, b]"),
    ],
)
def test_paths_may_not_meet(text: str, relation: str, one: str, two: str) -> None:
    assert refused("GetItem", ProjectionExpression=text) == (
        f"Invalid ProjectionExpression: Two document paths {relation} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize("text", ["a, b", "a.b, a.c", "a.b.d, a.b.e", "a[1], a[2]", "a.b, a.c[2]"])
def test_paths_may_share_a_beginning(text: str) -> None:
    assert projected(text, {}) == {}


def test_a_projection_knows_its_attributes() -> None:
    found = prepare({"ProjectionExpression": "a.b, c, d[0]"}, "GetItem").projection
    assert found is not None
    assert found.attributes == {"a", "c", "d"}
    assert found.nested == {"a", "d"}


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True), st.dictionaries(st.sampled_from("abcd"), st.just({"N": "1"})))
def test_a_projection_on_attributes_is_a_selection(names: list[str], item: dict[str, Any]) -> None:
    assert projected(", ".join(names), item) == {name: item[name] for name in names if name in item}
