"""The parameters of a request: what goes together, what placeholders may be, and in which order it is all looked at."""

import string
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.errors import EngineError
from gateleg.engine.expressions import EXPRESSION_PARAMETERS, check_parameters, prepare
from gateleg.engine.expressions.nodes import RESERVED
from gateleg.engine.expressions.prepare import _request_plans as kept_plans
from gateleg.plain import is_plain
from tests.engine.expressions.refusal import refused

BOTH = "Can not use both expression and non-expression parameters in the same request: "
CONDITION: dict[str, Any] = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}


@pytest.mark.parametrize(
    ("operation", "request_", "legacy", "expressions"),
    [
        ("PutItem", {"Expected": {}, "ConditionExpression": ""}, "Expected", "ConditionExpression"),
        (
            "UpdateItem",
            {"ConditionalOperator": "AND", "Expected": {}, "AttributeUpdates": {}, "ConditionExpression": "", "UpdateExpression": ""},
            "AttributeUpdates, Expected, ConditionalOperator",
            "UpdateExpression, ConditionExpression",
        ),
        (
            "Query",
            {
                "KeyConditions": {},
                "QueryFilter": {},
                "ConditionalOperator": "OR",
                "KeyConditionExpression": "",
                "FilterExpression": "",
                "ProjectionExpression": "",
            },
            "QueryFilter, ConditionalOperator, KeyConditions",
            "ProjectionExpression, FilterExpression, KeyConditionExpression",
        ),
        ("Scan", {"AttributesToGet": ["a"], "FilterExpression": "a = :v"}, "AttributesToGet", "FilterExpression"),
        ("KeysAndAttributes", {"AttributesToGet": ["a"], "ProjectionExpression": "a"}, "AttributesToGet", "ProjectionExpression"),
    ],
)
def test_expressions_and_legacy_parameters_do_not_mix(operation: str, request_: dict[str, Any], legacy: str, expressions: str) -> None:
    expected = f"{BOTH}Non-expression parameters: {{{legacy}}} Expression parameters: {{{expressions}}}"
    assert refused(operation, **request_) == expected
    with pytest.raises(EngineError):
        check_parameters(request_, operation)


def test_key_conditions_may_stand_beside_other_expressions() -> None:
    prepared = prepare({"KeyConditions": {"p": CONDITION}, "ProjectionExpression": "a"}, "Query")
    assert prepared.key_condition is not None
    assert prepared.projection is not None


@pytest.mark.parametrize("operation", ["PutItem", "GetItem", "Scan", "Get", "Update"])
def test_names_need_an_expression(operation: str) -> None:
    message = refused(operation, ExpressionAttributeNames={"#a": "a"})
    assert message == "ExpressionAttributeNames can only be specified when using expressions"


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("PutItem", "ConditionExpression is null"),
        ("UpdateItem", "UpdateExpression and ConditionExpression are null"),
        ("Query", "FilterExpression and KeyConditionExpression are null"),
        ("Scan", "FilterExpression is null"),
    ],
)
def test_values_need_an_expression_that_can_use_them(operation: str, told: str) -> None:
    request: dict[str, Any] = {"ProjectionExpression": "a"} if operation in ("Query", "Scan") else {}
    message = refused(operation, ExpressionAttributeValues={":a": {"S": "a"}}, **request)
    assert message == f"ExpressionAttributeValues can only be specified when using expressions: {told}"


def test_a_conditional_operator_needs_conditions_to_join() -> None:
    without = "ConditionalOperator cannot be used without Filter or Expected"
    assert refused("Scan", ConditionalOperator="AND") == without
    assert refused("Scan", ConditionalOperator="AND", ScanFilter={}) == without
    assert refused("Query", ConditionalOperator="AND") == without
    assert refused("PutItem", ConditionalOperator="OR", Expected={"a": CONDITION}) == (
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )


def test_a_query_needs_a_key_condition() -> None:
    expected = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    assert refused("Query", TableName="t") == expected
    assert refused("Query", FilterExpression="", ExpressionAttributeNames={}) == expected


@pytest.mark.parametrize(("parameter", "mark"), [("ExpressionAttributeNames", "#"), ("ExpressionAttributeValues", ":")])
def test_placeholders_have_a_syntax_and_a_length(parameter: str, mark: str) -> None:
    def message(key: str) -> str:
        return refused("PutItem", ConditionExpression="", **{parameter: {key: "a" if mark == "#" else {"S": "a"}}})

    for key in ("", mark, f"{mark}a-b", "a", f"{mark}é", f"{mark}{mark}a", ("#" if mark == ":" else ":") + "a"):
        assert message(key) == f'{parameter} contains invalid key: Syntax error; key: "{key}"'
    told = " size of key: 258" if mark == "#" else ""
    assert message(f"{mark}{'a' * 255}-x") == (
        f"{parameter} contains invalid key: The expression attribute map contains a key that is too long;{told}"
    )
    assert message(f"{mark}{'a' * 254}") == "Invalid ConditionExpression: The expression can not be empty;"


def test_placeholders_must_not_be_empty() -> None:
    assert refused("PutItem", ConditionExpression="", ExpressionAttributeNames={}) == "ExpressionAttributeNames must not be empty"
    assert refused("PutItem", ConditionExpression="", ExpressionAttributeValues={}) == "ExpressionAttributeValues must not be empty"
    assert refused("PutItem", ConditionExpression="", ExpressionAttributeNames={"#a": ""}) == (
        "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a"
    )
    assert refused("PutItem", ConditionExpression="", ExpressionAttributeNames={"#a": "x" * 65536}) == (
        "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 bytes for key #a"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"SS": []}, "One or more parameter values were invalid: An string set  may not be empty"),
        ({"N": "12e"}, "The parameter cannot be converted to a numeric value: 12e"),
    ],
)
def test_invalid_values_are_reported_with_their_key(value: dict[str, Any], message: str) -> None:
    assert refused("PutItem", ConditionExpression="", ExpressionAttributeValues={":v": value}) == (
        f"ExpressionAttributeValues contains invalid value: {message} for key :v"
    )


def test_values_come_out_canonical() -> None:
    prepared = prepare({"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {"N": "+01.50"}}}, "Put")
    assert prepared.values == {":v": {"N": "1.5"}}


def test_unused_placeholders_are_refused_names_before_values() -> None:
    request: dict[str, Any] = {
        "ConditionExpression": "#a = :a",
        "ExpressionAttributeNames": {"#a": "a", "#b": "b", "#c": "c"},
        "ExpressionAttributeValues": {":a": {"N": "1"}, ":b": {"N": "1"}},
    }
    assert refused("PutItem", **request) == "Value provided in ExpressionAttributeNames unused in expressions: keys: {#b, #c}"
    del request["ExpressionAttributeNames"]["#b"], request["ExpressionAttributeNames"]["#c"]
    assert refused("PutItem", **request) == "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}"


def test_placeholders_may_be_used_by_any_of_the_expressions() -> None:
    request = {
        "KeyConditionExpression": "#p = :p",
        "FilterExpression": "#a = :a OR b = :b",
        "ProjectionExpression": "#c",
        "ExpressionAttributeNames": {"#p": "p", "#a": "a", "#c": "c"},
        "ExpressionAttributeValues": {":p": {"S": "1"}, ":a": {"S": "1"}, ":b": {"S": "1"}},
    }
    prepared = prepare(request, "Query")
    assert prepared.filter is not None
    assert prepared.projection is not None
    assert prepared.key_condition is not None


def test_expressions_are_read_in_dynamodb_s_order() -> None:
    empty = {"ProjectionExpression": "", "FilterExpression": "", "KeyConditionExpression": ""}
    assert refused("Query", **empty).startswith("Invalid KeyConditionExpression: ")
    assert refused("Query", **{**empty, "KeyConditionExpression": "attribute_exists(a)"}).startswith("Invalid FilterExpression: ")
    assert refused("UpdateItem", UpdateExpression="", ConditionExpression="").startswith("Invalid UpdateExpression: ")


def test_a_request_without_expressions_has_none() -> None:
    prepared = prepare({"TableName": "t", "Key": {}}, "UpdateItem")
    assert (prepared.condition, prepared.update, prepared.projection, prepared.filter, dict(prepared.values)) == (
        None,
        None,
        None,
        None,
        {},
    )


def test_one_text_serves_many_names() -> None:
    for name in [f"n{number}" for number in range(100)]:
        request = {"ConditionExpression": "attribute_exists(#shared)", "ExpressionAttributeNames": {"#shared": name}}
        found = prepare(request, "PutItem").condition
        assert found is not None
        assert found.test({name: {"N": "1"}}, {})
        assert found.attributes == {name}


@pytest.mark.skipif(is_plain("request_plans"), reason="no plans are kept")
def test_what_is_kept_of_a_request_holds_none_of_its_values() -> None:
    prepare({"ConditionExpression": "a = :large", "ExpressionAttributeValues": {":large": {"S": "x" * 1000}}}, "PutItem")
    assert kept_plans
    assert all(not plan.prepared.values and plan.prepared.key_condition is None for plan in kept_plans.values())


def test_there_are_573_reserved_words() -> None:
    assert len(RESERVED) == 573
    assert {"STATUS", "NAME", "TTL", "ZONE", "ABORT"} <= RESERVED


_WORDS = ["a", "#b", ":c", "(", ")", ",", ".", "[0]", "[", "]", "=", "<>", "<", "+", "-", " AND ", " OR ", " NOT ", " IN ", " BETWEEN "]
_WORDS += [" SET ", " REMOVE ", " ADD ", " DELETE ", "size(", "contains(", "if_not_exists(", "list_append(", "f(", "status", "_", "9"]
_TEXTS = st.one_of(
    st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join), st.text(max_size=30), st.text(string.printable, max_size=60)
)
_PARAMETERS = [
    (operation, parameter) for operation in ("UpdateItem", "Query") for parameter in EXPRESSION_PARAMETERS[operation].expressions
]


@given(st.sampled_from(_PARAMETERS), _TEXTS)
def test_no_text_raises_anything_but_dynamodb_s_errors(where: tuple[str, str], text: str) -> None:
    operation, parameter = where
    request = {parameter: text, "ExpressionAttributeNames": {"#b": "b"}, "ExpressionAttributeValues": {":c": {"N": "1"}}}
    with suppress(EngineError):
        assert prepare(request, operation).values


@given(st.text(max_size=40))
def test_a_placeholder_is_accepted_or_refused_but_never_breaks(key: str) -> None:
    with pytest.raises(EngineError):
        prepare({"ConditionExpression": "", "ExpressionAttributeNames": {key: "a"}}, "PutItem")
