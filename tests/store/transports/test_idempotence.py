from typing import Any

import pytest

from gateleg.store.transports.messages import is_idempotent


@pytest.mark.parametrize(
    "operation", ["GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "DescribeTable", "ListTables", "GetRecords"]
)
def test_reads_may_be_repeated(operation: str) -> None:
    assert is_idempotent(operation, {})


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {"Item": {}}),
        ("PutItem", {"Item": {}, "ConditionExpression": "attribute_not_exists(a)", "ReturnValues": "NONE"}),
        ("DeleteItem", {"Key": {}}),
        ("BatchWriteItem", {"RequestItems": {}}),
        ("TransactWriteItems", {"ClientRequestToken": "t"}),
        ("ExecuteTransaction", {"ClientRequestToken": "t"}),
        ("ExecuteStatement", {"Statement": " select * from t"}),
    ],
)
def test_idempotent_requests_may_be_repeated(operation: str, request_: dict[str, Any]) -> None:
    assert is_idempotent(operation, request_)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("PutItem", {"ReturnValues": "ALL_OLD"}),
        ("DeleteItem", {"ReturnValues": "ALL_OLD"}),
        ("TransactWriteItems", {}),
        ("ExecuteStatement", {"Statement": "INSERT INTO t VALUE {}"}),
        ("BatchExecuteStatement", {}),
        ("CreateTable", {}),
        ("UpdateTable", {}),
        ("UpdateItem", {"AttributeUpdates": {}}),
    ],
)
def test_requests_that_reveal_a_repetition_may_not_be_repeated(operation: str, request_: dict[str, Any]) -> None:
    assert not is_idempotent(operation, request_)


@pytest.mark.parametrize(
    "expression",
    [
        "SET a = :a",
        "SET #a = :a, b.c=:c REMOVE d, #e.f",
        "set a = if_not_exists(a, :a), b = :b",
        "SET #0=:0,#1 = if_not_exists( #1 , :1 )",
        "REMOVE #set SET #remove = :x",
    ],
)
def test_an_update_to_given_values_may_be_repeated(expression: str) -> None:
    assert is_idempotent("UpdateItem", {"UpdateExpression": expression})


@pytest.mark.parametrize(
    "expression",
    [
        "SET a = a + :one",
        "SET a = b",
        "SET a = b, b = a",
        "SET a = if_not_exists(b, :a), b = :b",
        "SET a = if_not_exists(a, b)",
        "SET l[1] = :a",
        "SET l = list_append(l, :a)",
        "SET a = if_not_exists(a, :zero) + :one",
        "ADD n :one",
        "SET a = :a ADD n :one",
        "DELETE s :s",
        "REMOVE l[0]",
        "a = :a",
        "SET",
    ],
)
def test_an_update_that_depends_on_stored_values_may_not(expression: str) -> None:
    assert not is_idempotent("UpdateItem", {"UpdateExpression": expression})


def test_an_update_that_returns_old_values_may_not() -> None:
    assert is_idempotent("UpdateItem", {"UpdateExpression": "SET a = :a", "ReturnValues": "ALL_NEW"})
    assert not is_idempotent("UpdateItem", {"UpdateExpression": "SET a = :a", "ReturnValues": "UPDATED_OLD"})
