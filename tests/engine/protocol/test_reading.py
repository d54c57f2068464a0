from typing import Any

import pytest

from gateleg.engine.errors import EngineError
from gateleg.engine.protocol import check
from gateleg.engine.values import validate
from gateleg.plain import is_plain
from tests.engine.protocol.refusals import refusal

CAST = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base of loader 'bootstrap')"
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "TRUE_VALUE cannot be converted to String"),
        (False, "FALSE_VALUE cannot be converted to String"),
        (23, "NUMBER_VALUE cannot be converted to String"),
        (34.56, "DECIMAL_VALUE cannot be converted to String"),
        ([], "Unrecognized collection type class java.lang.String"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_a_string_is_wanted(value: Any, message: str) -> None:
    error = refusal("PutItem", {"TableName": value})
    assert (error.code, error.message) == ("SerializationException", message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("23", "STRING_VALUE cannot be converted to Integer"),
        (True, "TRUE_VALUE cannot be converted to Integer"),
        (float("inf"), "DECIMAL_VALUE cannot be converted to Integer"),
        ([], "Unrecognized collection type class java.lang.Integer"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_an_integer_is_wanted(value: Any, message: str) -> None:
    assert refusal("ListTables", {"Limit": value}).message == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("23", "Unexpected token received from parser"),
        (23, "NUMBER_VALUE cannot be converted to Boolean"),
        (34.56, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([], "Unrecognized collection type class java.lang.Boolean"),
        ({}, "Start of structure or map found where not expected"),
    ],
)
def test_a_boolean_is_wanted(value: Any, message: str) -> None:
    assert refusal("GetItem", {"ConsistentRead": value}).message == message


@pytest.mark.parametrize(
    ("operation", "request_", "message"),
    [
        ("CreateTable", {"KeySchema": "23"}, "Unexpected field type"),
        ("CreateTable", {"KeySchema": {}}, "Start of structure or map found where not expected"),
        ("CreateTable", {"KeySchema": ["23"]}, "Unexpected value type in payload"),
        ("CreateTable", {"KeySchema": [[]]}, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement"),
        ("CreateTable", {"ProvisionedThroughput": "23"}, "Unexpected field type"),
        ("PutItem", {"Item": 23}, "Unexpected field type"),
        (
            "PutItem",
            {"Item": []},
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        ("PutItem", {"ExpressionAttributeNames": []}, "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"),
        ("PutItem", {"ExpressionAttributeNames": {"#a": 1}}, "NUMBER_VALUE cannot be converted to String"),
        ("PutItem", {"Expected": {"a": 1}}, "Unexpected value type in payload"),
        ("BatchGetItem", {"RequestItems": {"abc": {"Keys": ["23"]}}}, CAST),
        ("BatchWriteItem", {"RequestItems": {"abc": "23"}}, CAST),
        (
            "BatchWriteItem",
            {"RequestItems": []},
            "Unrecognized collection type java.util.Map<java.lang.String, java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
        ),
        ("UpdateItem", {"AttributeUpdates": {"a": {"Value": "x"}}}, "Unexpected field type"),
    ],
)
def test_a_container_is_wanted(operation: str, request_: dict[str, Any], message: str) -> None:
    error = refusal(operation, request_)
    assert (error.code, error.message) == ("SerializationException", message)


@pytest.mark.parametrize("body", [[], "x", 1, None, True])
def test_a_request_is_a_map(body: Any) -> None:
    assert refusal("PutItem", body).code == "SerializationException"


def test_words_that_stand_for_booleans_are_converted() -> None:
    request: dict[str, Any] = {"TableName": "abc", "Key": {}, "ConsistentRead": "no"}
    check("GetItem", request)
    assert request["ConsistentRead"] is False


def test_fractions_are_cut_off_where_an_integer_is_wanted() -> None:
    request: dict[str, Any] = {"Limit": 2.7}
    check("ListTables", request)
    assert request["Limit"] == 2


def test_null_members_count_as_absent() -> None:
    check("GetItem", {"TableName": "abc", "Key": {}, "ConsistentRead": None, "AttributesToGet": None})


def test_unknown_members_are_ignored() -> None:
    check("GetItem", {"TableName": "abc", "Key": {}, "Whatever": [1, {}]})


@pytest.mark.skipif(is_plain("quick_check"), reason="the full checks look into them")
def test_attribute_values_are_not_looked_into() -> None:
    check("PutItem", {"TableName": "abc", "Item": {"a": 1}, "ExpressionAttributeValues": {":a": []}})


def test_types_come_before_constraints() -> None:
    assert refusal("PutItem", {"ReturnValues": "x", "TableName": 1}).code == "SerializationException"


def test_an_unknown_operation_is_refused_as_such() -> None:
    with pytest.raises(EngineError) as caught:
        check("DropTable", {})
    assert str(caught.value) == "UnknownOperationException"


def test_types_of_attribute_values_come_before_constraints_too() -> None:
    error = refusal("PutItem", {"Item": {"a": {"S": 1}}})
    assert (error.code, error.message) == ("SerializationException", "NUMBER_VALUE cannot be converted to String")
    assert refusal("PutItem", {"Item": {"a": "x"}}).message == "Unexpected value type in payload"
    assert refusal("PutItem", {"Expected": {"a": {"Value": "x"}}}).message == "Unexpected field type"


def test_other_faults_of_attribute_values_come_after_constraints() -> None:
    assert refusal("PutItem", {"Item": {"a": {"N": "x"}}}).code == "ValidationException"
    assert "tableName" in (refusal("PutItem", {"Item": {"a": {}}}).message or "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (1, "only base-64-encoded strings are convertible to bytes"),
        (True, "only base-64-encoded strings are convertible to bytes"),
        ("23456", "Base64 encoded length is expected a multiple of 4 bytes but found: 5"),
        ("=+/=", "Invalid last non-pad Base64 character dectected"),
        ("+/+=", "Invalid last non-pad Base64 character dectected"),
    ],
)
def test_bytes_are_wanted(content: Any, message: str) -> None:
    assert refusal("PutItem", {"Item": {"a": {"B": content}}}).message == message


@pytest.mark.parametrize("value", [{"BOOL": "no"}, {"NULL": "Yes"}, {"BOOL": "1"}])
def test_words_may_stand_for_booleans_in_attribute_values(value: dict[str, str]) -> None:
    assert validate(value) == {next(iter(value)): value != {"BOOL": "no"}}
