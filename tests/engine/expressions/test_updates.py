"""What updates do to an item."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import Add, Call, Literal, Path, Remove, Set, prepare, update
from tests.engine.expressions.refusal import update_failed, updated

INVALID_PATH = "The document path provided in the update expression is invalid for update"
MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"


def numbers(*members: int) -> dict[str, Any]:
    return {"L": [{"N": str(member)} for member in members]}


def test_set_writes_and_keeps_the_rest() -> None:
    assert updated("sEt b=:v, c = :v", {"a": {"S": "hi"}, "b": {"S": "x"}}, {":v": {"N": "1"}}) == {
        "a": {"S": "hi"},
        "b": {"N": "1"},
        "c": {"N": "1"},
    }


def test_right_hand_sides_read_the_old_item() -> None:
    assert updated("SET a = b, b = a", {"a": {"N": "1"}, "b": {"N": "2"}}) == {"a": {"N": "2"}, "b": {"N": "1"}}
    assert updated("REMOVE a SET b = a", {"a": {"N": "1"}}) == {"b": {"N": "1"}}
    assert update_failed("SET x = :v, y = x", {}, {":v": {"N": "1"}}) == MISSING


def test_what_is_missing_cannot_be_read() -> None:
    assert update_failed("SET a = z", {}) == MISSING
    assert update_failed("SET a = z + :v", {}, {":v": {"N": "1"}}) == MISSING
    assert update_failed("SET a = list_append(z, :v)", {}, {":v": {"L": []}}) == MISSING
    assert update_failed("SET a = b.c[3]", {"b": {"M": {}}}) == MISSING
    assert update_failed("SET a = if_not_exists(b, c)", {}) == MISSING


def test_sums_and_differences_are_exact() -> None:
    assert updated("SET b = :v + :w", {}, {":v": {"N": "1"}, ":w": {"N": "10000000000000000000000"}})["b"] == {
        "N": "10000000000000000000001"
    }
    assert updated("SET b = :w - a", {"a": {"N": "0.1"}}, {":w": {"N": "0.3"}})["b"] == {"N": "0.2"}
    assert updated("SET b = a - :w", {"a": {"N": "5"}}, {":w": {"N": "5.0"}})["b"] == {"N": "0"}
    assert updated("SET b = ((a) + (:w))", {"a": {"N": "9E+125"}}, {":w": {"N": "9E124"}})["b"] == {"N": "99" + "0" * 124}


@pytest.mark.parametrize(("one", "two"), [("9E125", "9E125"), ("1E50", "1"), ("1E125", "1E-130"), ("9" * 38, "0.1")])
def test_a_sum_that_does_not_fit_is_an_overflow(one: str, two: str) -> None:
    values = {":v": {"N": one}, ":w": {"N": two}}
    assert update_failed("SET b = :v + :w", {}, values) == OVERFLOW
    assert update_failed("ADD b :w", {"b": {"N": prepare_number(one)}}, {":w": {"N": two}}) == OVERFLOW


def prepare_number(text: str) -> str:
    prepared = prepare({"UpdateExpression": "SET a = :v", "ExpressionAttributeValues": {":v": {"N": text}}}, "UpdateItem")
    number: str = prepared.values[":v"]["N"]
    return number


@given(st.integers(-(10**37), 10**37), st.integers(-(10**37), 10**37))
def test_sums_of_integers_are_those_of_integers(one: int, two: int) -> None:
    values = {":v": {"N": str(one)}, ":w": {"N": str(two)}}
    assert updated("SET s = :v + :w, d = :v - :w", {}, values) == {"s": {"N": str(one + two)}, "d": {"N": str(one - two)}}


@given(st.decimals(-(10**9), 10**9, places=6), st.decimals(-(10**9), 10**9, places=6))
def test_what_is_added_can_be_taken_away(one: Any, two: Any) -> None:
    first = prepare_number(f"{one:f}")
    values = {":v": {"N": f"{two:f}"}}
    there = updated("SET a = a + :v", {"a": {"N": first}}, values)
    assert updated("SET a = a - :v", there, values) == {"a": {"N": first}}


def test_operands_from_the_item_must_have_the_right_type() -> None:
    assert update_failed("SET a = b + :v", {"b": {"S": "1"}}, {":v": {"N": "1"}}) == WRONG_TYPE
    assert update_failed("SET a = list_append(b, :v)", {"b": {"SS": ["1"]}}, {":v": {"L": []}}) == WRONG_TYPE
    assert update_failed("ADD b :v", {"b": {"S": "1"}}, {":v": {"N": "1"}}) == WRONG_TYPE
    assert update_failed("ADD b :v", {"b": {"L": []}}, {":v": {"NS": ["1"]}}) == WRONG_TYPE
    assert update_failed("DELETE b :v", {"b": {"NS": ["1"]}}, {":v": {"SS": ["1"]}}) == WRONG_TYPE


def test_list_append_joins_lists_in_order() -> None:
    values = {":v": numbers(8)}
    assert updated("SET a = list_append(a, :v)", {"a": numbers(1, 2)}, values)["a"] == numbers(1, 2, 8)
    assert updated("SET a = list_append(:v, a)", {"a": numbers(1, 2)}, values)["a"] == numbers(8, 1, 2)
    assert updated("SET a = list_append(if_not_exists(a, :e), :v)", {}, {**values, ":e": {"L": []}})["a"] == numbers(8)


def test_if_not_exists_falls_back() -> None:
    values = {":v": {"N": "3"}}
    assert updated("SET a = if_not_exists(a, :v)", {}, values)["a"] == {"N": "3"}
    assert updated("SET a = if_not_exists(a, :v)", {"a": {"N": "1"}}, values)["a"] == {"N": "1"}
    assert updated("SET a = if_not_exists(a, :v)", {"a": {"NULL": True}}, values)["a"] == {"NULL": True}
    assert updated("SET x = if_not_exists(b, if_not_exists(a, :v))", {"a": {"N": "1"}}, values)["x"] == {"N": "1"}
    assert updated("SET b = if_not_exists(b, :v) + :v", {}, values)["b"] == {"N": "6"}


def test_remove_takes_attributes_members_and_elements() -> None:
    item = {"a": {"M": {"b": {"N": "3"}, "c": numbers(1, 2, 3)}}, "d": {"N": "1"}}
    assert updated("REMOVE d, a.b, a.c[1]", item) == {"a": {"M": {"c": numbers(1, 3)}}}
    assert updated("REMOVE x, a.x, a.c[7]", item) == item
    assert updated("REMOVE a.b, a.c", item)["a"] == {"M": {}}
    assert updated("REMOVE a[0]", {"a": numbers(1)})["a"] == {"L": []}


@pytest.mark.parametrize("text", ["REMOVE a[1] SET a[3] = :v", "SET a[3] = :v REMOVE a[1]"])
def test_positions_are_those_of_the_old_list(text: str) -> None:
    assert updated(text, {"a": numbers(2, 3, 4, 5, 6, 7)}, {":v": {"N": "17"}})["a"] == numbers(2, 4, 17, 6, 7)


def test_several_elements_go_at_once() -> None:
    assert updated("REMOVE a[0], a[2], a[1]", {"a": numbers(1, 2, 3, 4)})["a"] == numbers(4)


def test_what_is_set_beyond_the_end_is_appended_in_order_of_position() -> None:
    values = {f":v{n}": {"N": str(n)} for n in (1, 2, 3, 4)}
    assert updated("SET a[84] = :v1, a[37] = :v2, a[17] = :v3, a[50] = :v4", {"a": numbers(0)}, values)["a"] == numbers(0, 3, 2, 4, 1)


def test_nested_writes_leave_their_neighbours() -> None:
    item = {"a": {"M": {"x": {"N": "3"}, "y": {"N": "4"}, "c": {"M": {"y": {"N": "3"}}}}}, "b": {"M": {"x": {"N": "1"}, "y": {"N": "2"}}}}
    text = "SET a.b = :v, a.c.d = :v, b.x = a.y REMOVE a.x, b.y"
    assert updated(text, item, {":v": {"N": "9"}}) == {
        "a": {"M": {"y": {"N": "4"}, "b": {"N": "9"}, "c": {"M": {"y": {"N": "3"}, "d": {"N": "9"}}}}},
        "b": {"M": {"x": {"N": "4"}}},
    }


@pytest.mark.parametrize("path", ["a.c", "b.c", "c.c", "a[0]", "m[0]", "m.x.y", "b[0].x", "b[9].x"])
def test_a_path_that_leads_nowhere_cannot_be_written(path: str) -> None:
    item = {"a": {"S": "hello"}, "b": {"L": [{"S": "hi"}]}, "m": {"M": {"k": {"N": "1"}}}}
    assert update_failed(f"SET {path} = :v", item, {":v": {"N": "7"}}) == INVALID_PATH
    assert update_failed(f"REMOVE {path}", item) == INVALID_PATH
    assert update_failed(f"ADD {path} :v", item, {":v": {"N": "7"}}) == INVALID_PATH


def test_remove_from_an_item_that_does_not_exist_may_lead_nowhere() -> None:
    found = prepare({"UpdateExpression": "REMOVE x.y, z[0]"}, "UpdateItem").update
    assert found is not None
    assert found.apply({"id": {"S": "1"}}, {}, exists=False) == {"id": {"S": "1"}}


def test_add_counts_and_unites() -> None:
    assert updated("ADD a :v", {"a": {"N": "3"}}, {":v": {"N": "-4.5"}})["a"] == {"N": "-1.5"}
    assert updated("ADD a :v", {}, {":v": {"N": "7"}})["a"] == {"N": "7"}
    assert updated("ADD a :v", {"a": {"SS": ["x", "y"]}}, {":v": {"SS": ["y", "z"]}})["a"] == {"SS": ["x", "y", "z"]}
    assert updated("ADD a.b :v", {"a": {"M": {}}}, {":v": {"BS": ["YQ=="]}})["a"] == {"M": {"b": {"BS": ["YQ=="]}}}


def test_delete_takes_members_and_the_attribute_with_the_last() -> None:
    item = {"a": {"SS": ["x", "y"]}, "m": {"M": {"s": {"NS": ["1"]}}}}
    assert updated("DELETE a :v", item, {":v": {"SS": ["y", "z"]}})["a"] == {"SS": ["x"]}
    assert "a" not in updated("DELETE a :v", item, {":v": {"SS": ["y", "x"]}})
    assert updated("DELETE m.s :v", item, {":v": {"NS": ["1.0"]}})["m"] == {"M": {}}
    assert updated("DELETE q :v", item, {":v": {"SS": ["y"]}}) == item


def test_only_the_written_paths_are_copied() -> None:
    item: dict[str, Any] = {"a": {"M": {"big": {"L": []}, "n": {"N": "1"}}}, "other": {"M": {}}}
    new = updated("SET a.n = :v", item, {":v": {"N": "2"}})
    assert new["other"] is item["other"]
    assert new["a"]["M"]["big"] is item["a"]["M"]["big"]
    assert item["a"]["M"]["n"] == {"N": "1"}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET a.b = :v", {"a": {"M": {"b": {"S": "dog"}}}}, {"a": {"M": {"b": {"N": "9"}}}}),
        ("SET a.c[1] = :v", {"a": {"M": {"c": numbers(2)}}}, {"a": {"M": {"c": numbers(9)}}}),
        ("SET a.c[1] = :v, d = :v", {"a": {"M": {"c": numbers(2)}}, "d": {"S": "cat"}}, {"a": {"M": {"c": numbers(9)}}, "d": {"N": "9"}}),
        ("SET a.x = :v", {}, {"a": {"M": {"x": {"N": "9"}}}}),
        ("SET a.c[100] = :v", {}, {}),
        ("REMOVE a.c[1], a.c[3]", {"a": {"M": {"c": numbers(2)}}}, {"a": {"M": {"c": numbers(3)}}}),
        ("REMOVE d", {"d": {"S": "cat"}}, {}),
        ("SET e = :v REMOVE q", {}, {"e": {"N": "9"}}),
    ],
)
def test_touched_shows_the_written_paths_before_and_after(text: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    item = {"id": {"S": "1"}, "a": {"M": {"b": {"S": "dog"}, "c": numbers(1, 2, 3)}}, "d": {"S": "cat"}}
    request: dict[str, Any] = {"UpdateExpression": text}
    if ":v" in text:
        request["ExpressionAttributeValues"] = {":v": {"N": "9"}}
    prepared = prepare(request, "UpdateItem")
    assert prepared.update is not None
    assert prepared.update.written_paths(item) == old
    assert prepared.update.written_paths(prepared.update.apply(item, prepared.values)) == new


@pytest.mark.parametrize(
    ("text", "creates_item"),
    [("SET a = :v", True), ("ADD a :v", True), ("REMOVE a", False), ("DELETE a :v", False), ("REMOVE a ADD b :v", True)],
)
def test_only_set_and_add_create_an_item(text: str, creates_item: bool) -> None:
    request: dict[str, Any] = {"UpdateExpression": text}
    if ":v" in text:
        request["ExpressionAttributeValues"] = {":v": {"NS": ["9"]}}
    found = prepare(request, "UpdateItem").update
    assert found is not None
    assert found.creates_item is creates_item


def test_an_update_knows_what_it_writes_and_looks_into() -> None:
    found = prepare({"UpdateExpression": "SET a = b.c, d.e = a REMOVE #f", "ExpressionAttributeNames": {"#f": "f"}}, "UpdateItem").update
    assert found is not None
    assert found.attributes == {"a", "d", "f"}
    assert found.nested == {"b", "d"}


def test_updates_can_be_built_from_nodes() -> None:
    one = Literal({"N": "1"})
    built = update([Set(Path(("a", "b")), Call("if_not_exists", (Path(("x",)), one))), Remove(Path(("c",))), Add(Path(("n",)), one)])
    assert built.apply({"a": {"M": {}}, "c": {"N": "0"}}, {}) == {"a": {"M": {"b": {"N": "1"}}}, "n": {"N": "1"}}


_SCALARS = st.one_of(st.builds(lambda n: {"N": str(n)}, st.integers(-9, 9)), st.builds(lambda s: {"S": s}, st.text(max_size=3)))
_WIRE = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda m: {"L": m}, st.lists(inner, max_size=3)),
        st.builds(lambda m: {"M": m}, st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    ),
    max_leaves=8,
)
_ITEMS = st.dictionaries(st.sampled_from("abc"), _WIRE, max_size=3)
_UPDATES = [
    "SET a.b = :v, c = :v",
    "SET a[1] = :v REMOVE a[0], b",
    "REMOVE a.b.c, b[0]",
    "SET a = if_not_exists(b.c, :v) REMOVE c[1]",
    "SET a.b[7] = a.b[0]",
]


@given(_ITEMS, st.sampled_from(_UPDATES))
def test_an_update_never_changes_the_old_item(item: dict[str, Any], text: str) -> None:
    request: dict[str, Any] = {"UpdateExpression": text}
    if ":v" in text:
        request["ExpressionAttributeValues"] = {":v": {"L": [{"N": "1"}]}}
    prepared = prepare(request, "UpdateItem")
    assert prepared.update is not None
    before = deepcopy(item)
    with suppress(EngineError):
        prepared.update.apply(item, prepared.values)
    assert item == before
