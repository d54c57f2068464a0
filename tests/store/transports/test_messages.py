"""The bodies of requests, responses and errors, and which requests may be sent twice."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from gateleg.model.errors import EncodeError
from gateleg.net.http import BadResponse, Response
from gateleg.store import Store, patch
from gateleg.store.sizes import ITEM_LIMIT
from gateleg.store.transports import ServiceError
from gateleg.store.transports.messages import encode, error_of, is_idempotent, result, unwritable
from tests.store.notes import Note, shelf, titles

BROKEN = "half \ud800"
REF = Note.key(book="b", number=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put(Note(book="b", number=2, text=BROKEN)),
        lambda store: store.patch(REF, Note.text.set(BROKEN)),
        lambda store: store.patch(REF, Note.stars.add(1), condition=Note.text == BROKEN),
        lambda store: store.transact([patch(REF, Note.text.set(BROKEN))]),
        lambda store: store.batch_write([Note(book="b", number=2, text=BROKEN)]),
        lambda store: store.get(Note, book=BROKEN, number=1),
        lambda store: store.delete(Note, book=BROKEN, number=1),
        lambda store: list(store.query(Note.on_topic, topic=BROKEN)),
    ],
)
def test_invalid_text_is_an_error_of_the_model(store: Store, call: Callable[[Store], Any]) -> None:
    store.create_tables(shelf, titles)
    store.put(Note(book="b", number=1))
    with pytest.raises(EncodeError, match="Unicode"):
        call(store)


def test_the_error_contains_the_location_of_the_text() -> None:
    error = unwritable("UpdateItem", {"ExpressionAttributeValues": {":0": {"L": [{"S": "fine"}, {"S": BROKEN}]}}})
    assert error is not None
    assert "ExpressionAttributeValues.:0.L.1.S" in error.message


def test_an_invalid_name_is_found_but_not_shown() -> None:
    error = unwritable("PutItem", {"Item": {BROKEN: {"S": "x"}}})
    assert error is not None
    assert error.message.encode()


def test_values_that_are_not_json_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        encode("PutItem", {"Item": object()})


def test_an_item_over_the_limit_is_refused_before_it_is_sent_to_a_service_that_may_not_have_the_limit() -> None:
    within, beyond = ({"TableName": "Notes", "Item": {"a": {"S": "x" * size}}} for size in (ITEM_LIMIT - 1, ITEM_LIMIT))
    assert encode("PutItem", within)
    with pytest.raises(ServiceError, match="Item size has exceeded the maximum allowed size"):
        encode("PutItem", beyond)


def answer(body: bytes, status: int = 200, **headers: str) -> Response:
    return Response(status, {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}, body, keep_alive=True)


def test_a_compressed_answer_is_checked_as_sent_and_unpacked() -> None:
    packed = gzip.compress(b'{"a":1}')
    assert result(answer(packed, content_encoding="gzip", x_amz_crc32=str(zlib.crc32(packed)))) == {"a": 1}


def test_a_decompression_bomb_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.store.transports.messages.LIMIT", 1000)
    with pytest.raises(BadResponse, match="too large"):
        result(answer(gzip.compress(b" " * 100_000), content_encoding="gzip"))


@pytest.mark.parametrize(
    "found",
    [
        answer(b"{}", x_amz_crc32="1"),
        answer(b"not gzip", content_encoding="gzip"),
        answer(gzip.compress(b"{}", mtime=0)[:-4], content_encoding="gzip"),
        answer(b"{}", content_encoding="br"),
        answer(b"<html>"),
        answer(b"[]"),
    ],
)
def test_an_invalid_answer_is_an_error(found: Response) -> None:
    with pytest.raises(BadResponse):
        result(found)


def test_a_refusal_has_its_code_its_message_and_the_rest() -> None:
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"a":{"N":"1"}}}'
    with pytest.raises(ServiceError) as caught:
        result(answer(body, status=400))
    error = caught.value
    assert (error.code, error.message, error.extra, error.status) == (
        "ConditionalCheckFailedException",
        "no",
        {"Item": {"a": {"N": "1"}}},
        400,
    )


@pytest.mark.parametrize(
    ("status", "body", "kind", "code", "message"),
    [
        (400, b'{"__type":"x#TransactionCanceledException","Message":"why"}', "", "TransactionCanceledException", "why"),
        (400, b"", "ThrottlingException:http://internal.amazon.com/", "ThrottlingException", ""),
        (500, b"", "", "InternalServerError", "The response has the status 500 and is not DynamoDB's."),
        (503, b"<html>", "", "ServiceUnavailable", "The response has the status 503 and is not DynamoDB's."),
        (413, b"", "", "RequestEntityTooLarge", "The response has the status 413 and is not DynamoDB's."),
        (302, b"[]", "", "Http302", "The response has the status 302 and is not DynamoDB's."),
    ],
)
def test_every_refusal_has_a_code(status: int, body: bytes, kind: str, code: str, message: str) -> None:
    error = error_of(status, body, kind)
    assert (error.code, error.message, error.status) == (code, message, status)


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
