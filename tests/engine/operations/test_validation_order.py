"""Which of two faults of a request DynamoDB reports."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import refusal, table

EMPTY_VALUE = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
DUPLICATES = "Provided list of item keys contains duplicates"

KEYED: dict[str, dict[str, Any]] = {
    "GetItem": {"TableName": "Songs", "Key": {"id": {}}},
    "DeleteItem": {"TableName": "Songs", "Key": {"id": {}}},
    "UpdateItem": {"TableName": "Songs", "Key": {"id": {}}},
    "PutItem": {"TableName": "Songs", "Item": {"id": {}}},
}


@pytest.mark.parametrize("operation", KEYED)
def test_a_broken_value_is_reported_before_a_missing_table(engine: Engine, operation: str) -> None:
    assert refusal(engine, operation, KEYED[operation]).message == EMPTY_VALUE


@pytest.mark.parametrize(
    ("operation", "expression", "legacy"),
    [
        ("GetItem", {"ProjectionExpression": "title"}, {"AttributesToGet": ["title"]}),
        ("PutItem", {"ConditionExpression": "title = title"}, {"Expected": {"title": {"Exists": False}}}),
        ("DeleteItem", {"ConditionExpression": "title = title"}, {"Expected": {"title": {"Exists": False}}}),
        ("UpdateItem", {"UpdateExpression": "REMOVE title"}, {"Expected": {"title": {"Exists": False}}}),
    ],
)
def test_an_expression_beside_a_legacy_parameter_is_reported_before_a_broken_value(
    engine: Engine, operation: str, expression: dict[str, Any], legacy: dict[str, Any]
) -> None:
    message = refusal(engine, operation, {**KEYED[operation], **expression, **legacy}).message
    assert message is not None
    assert message.startswith("Can not use both expression and non-expression parameters in the same request")


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem", "PutItem"])
def test_names_without_an_expression_are_reported_before_a_broken_value(engine: Engine, operation: str) -> None:
    request = {**KEYED[operation], "ExpressionAttributeNames": {"#t": "title"}}
    assert refusal(engine, operation, request).message == "ExpressionAttributeNames can only be specified when using expressions"


@pytest.mark.parametrize("operation", ["DeleteItem", "UpdateItem", "PutItem"])
def test_a_broken_value_is_reported_before_a_broken_expectation(engine: Engine, operation: str) -> None:
    assert refusal(engine, operation, {**KEYED[operation], "Expected": {"title": {}}}).message == EMPTY_VALUE


def test_a_broken_value_is_reported_before_a_broken_expression(engine: Engine) -> None:
    request = {**KEYED["UpdateItem"], "UpdateExpression": "SET", "ExpressionAttributeNames": {}}
    assert refusal(engine, "UpdateItem", request).message == EMPTY_VALUE


def test_an_item_that_is_too_large_is_reported_before_a_broken_expectation(engine: Engine) -> None:
    item = {"id": {"S": "a"}, "text": {"S": "x" * 410_000}}
    request = {"TableName": "Songs", "Item": item, "Expected": {"title": {}}}
    assert refusal(engine, "PutItem", request).message == "Item size has exceeded the maximum allowed size"


def test_return_values_are_reported_before_an_item_that_is_too_large(engine: Engine) -> None:
    request = {"TableName": "Songs", "Item": {"text": {"S": "x" * 410_000}}, "ReturnValues": "ALL_NEW"}
    assert refusal(engine, "PutItem", request).message == "ReturnValues can only be ALL_OLD or NONE"


def test_keys_given_twice_in_another_order_are_reported_before_a_missing_table(engine: Engine) -> None:
    one, other = {"id": {"S": "a"}, "take": {"N": "1"}}, {"take": {"N": "1.0"}, "id": {"S": "a"}}
    assert refusal(engine, "BatchGetItem", {"RequestItems": {"Songs": {"Keys": [one, other]}}}).message == DUPLICATES


def test_attributes_asked_for_twice_are_reported_before_keys_given_twice(engine: Engine) -> None:
    entry = {"Keys": [{"id": {"S": "a"}}, {"id": {"S": "a"}}], "AttributesToGet": ["title", "title"]}
    message = refusal(engine, "BatchGetItem", {"RequestItems": {"Songs": entry}}).message
    assert message == "One or more parameter values were invalid: Duplicate value in attribute name: title"


@pytest.mark.parametrize("item", [{}, {"title": {"S": "a"}}, {"id": {"N": "1"}}, {"id": {"L": []}}])
def test_a_batch_says_of_an_item_without_its_key_what_it_says_of_a_wrong_key(engine: Engine, item: dict[str, Any]) -> None:
    engine.call("CreateTable", table("id", name="Songs"))
    request = {"RequestItems": {"Songs": [{"PutRequest": {"Item": item}}]}}
    assert refusal(engine, "BatchWriteItem", request).message == "The provided key element does not match the schema"


def test_a_batch_says_of_a_key_that_is_too_long_what_put_says(engine: Engine) -> None:
    engine.call("CreateTable", table("id", name="Songs"))
    request = {"RequestItems": {"Songs": [{"PutRequest": {"Item": {"id": {"S": "x" * 2049}}}}]}}
    message = refusal(engine, "BatchWriteItem", request).message
    assert message == "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
