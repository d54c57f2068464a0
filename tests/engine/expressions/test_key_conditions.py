from typing import Any

import pytest

from gateleg.engine.expressions import prepare
from tests.engine.expressions.refusal import refused

ONE: dict[str, Any] = {"N": "1"}
ONE_EACH = "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key"
TWO: dict[str, Any] = {"N": "2"}


def parts(text: str, values: dict[str, Any], names: dict[str, str] | None = None) -> dict[str, Any]:
    request: dict[str, Any] = {"KeyConditionExpression": text, "ExpressionAttributeValues": values}
    if names:
        request["ExpressionAttributeNames"] = names
    prepared = prepare(request, "Query")
    assert prepared.key_condition is not None
    return dict(prepared.key_condition.parts)


@pytest.mark.parametrize(
    ("text", "operator"),
    [
        ("c=:c", "EQ"),
        ("c<:c", "LT"),
        ("c<=:c", "LE"),
        ("c>:c", "GT"),
        ("c>=:c", "GE"),
        (":c=c", "EQ"),
        (":c<c", "GT"),
        (":c<=c", "GE"),
        (":c>c", "LT"),
        (":c>=c", "LE"),
    ],
)
def test_a_comparison_may_be_written_from_either_side(text: str, operator: str) -> None:
    assert parts(f"p = :p AND {text}", {":p": ONE, ":c": TWO}) == {"p": ("EQ", [ONE]), "c": (operator, [TWO])}


def test_between_and_begins_with_keep_their_operands() -> None:
    assert parts("p=:p AnD c BeTwEeN :c aNd :d", {":p": ONE, ":c": ONE, ":d": TWO})["c"] == ("BETWEEN", [ONE, TWO])
    assert parts("begins_with(c, :c) AND p = :p", {":p": ONE, ":c": {"S": "x"}})["c"] == ("BEGINS_WITH", [{"S": "x"}])


def test_parentheses_and_names_are_fine() -> None:
    assert parts("((#c=:c) AND (p=:p))", {":p": ONE, ":c": TWO}, {"#c": "c"}) == {"p": ("EQ", [ONE]), "c": ("EQ", [TWO])}


def test_a_key_may_have_many_attributes() -> None:
    text = " AND ".join(f"k{n} = :v" for n in range(8))
    assert list(parts(text, {":v": ONE})) == [f"k{n}" for n in range(8)]


def test_a_kept_condition_takes_each_request_s_values() -> None:
    assert parts("kept = :v", {":v": {"N": "1.0"}}) == {"kept": ("EQ", [ONE])}
    assert parts("kept = :v", {":v": TWO}) == {"kept": ("EQ", [TWO])}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a > b and size(b) > c or a > c", "Invalid operator used in KeyConditionExpression: OR"),
        ("a in (b, size(c), d)", "Invalid operator used in KeyConditionExpression: IN"),
        ("attribute_exists(a)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("contains(a.d, b)", "Invalid operator used in KeyConditionExpression: contains"),
        ("not a > b", "Invalid operator used in KeyConditionExpression: NOT"),
        ("a <> b", "Invalid operator used in KeyConditionExpression: <>"),
        ("size(b) > a AND a.b > b AND b > c", "KeyConditionExpressions cannot contain nested operations"),
        ("a > size(b.d)", "KeyConditionExpressions cannot contain nested operations"),
        ("b > a.b", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("b between c[1] and d", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("a between b and size(a)", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("begins_with(a, b)", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        ("b.d > a AND c.d > e.f", "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"),
        ("b[0] > a", "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes"),
    ],
)
def test_not_every_condition_is_one_on_a_key(text: str, message: str) -> None:
    assert refused("Query", KeyConditionExpression=text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ":a between size(b) and size(a) and b > :b",
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand",
        ),
        (
            "begins_with(:a, b) and a > :b",
            "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand",
        ),
        (":b > :a AND a < :b", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        ("b > :a AND b < :b and c = :a and d = :a", ONE_EACH),
        ("(a > :a and b > :b) and (b > :a and c > :a)", ONE_EACH),
    ],
)
def test_conditions_with_values_must_be_on_one_key_attribute_each(text: str, message: str) -> None:
    assert refused("Query", KeyConditionExpression=text, ExpressionAttributeValues={":a": {"S": "1"}, ":b": {"S": "1"}}) == message


def test_the_rules_of_all_conditions_come_first() -> None:
    assert refused("Query", KeyConditionExpression="dog(c, :c)") == "Invalid KeyConditionExpression: Invalid function name; function: dog"
    assert refused("Query", KeyConditionExpression="attribute_type(a, b)").startswith(
        "Invalid KeyConditionExpression: Incorrect operand type for operator or function; operator or function: attribute_type"
    )
    values = {":b": {"N": "2"}, ":a": {"N": "1"}}
    assert refused("Query", KeyConditionExpression="a between :b and :a", ExpressionAttributeValues=values) == (
        "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
        "lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}"
    )


def test_unused_placeholders_are_reported_before_what_is_no_key_condition() -> None:
    message = refused("Query", KeyConditionExpression="a <> :a", ExpressionAttributeValues={":a": ONE, ":b": ONE})
    assert message == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"
