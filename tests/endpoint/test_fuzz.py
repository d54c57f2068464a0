"""No input makes the server fail, hang or reveal internals."""

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateleg.endpoint import serve_in_thread
from gateleg.endpoint.dispatcher import TARGETS
from gateleg.engine import Engine
from tests.endpoint.fakes import Response, Wire, message

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

TABLE = {
    "TableName": "Songs",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(scope="module")
def live() -> Iterator[str]:
    with Engine(":memory:") as engine, serve_in_thread(engine) as url:
        engine.call("CreateTable", TABLE)
        yield url


def check(response: Response) -> None:
    """Check that a response is one that DynamoDB could send."""
    assert 200 <= response.status < 500, response.body
    assert b"Traceback" not in response.body
    if response.status == 400 and response.body:
        assert "#" in json.loads(response.body)["__type"]


def still_serves(url: str) -> None:
    with Wire(url) as wire:
        assert wire.ask(b"", method="GET").status == 200


@FUZZ
@given(st.binary(max_size=300))
def test_any_bytes_are_answered_or_end_the_connection(live: str, data: bytes) -> None:
    with Wire(live) as wire:
        wire.send(data)
        wire.socket.shutdown(1)
        received = b""
        while piece := wire.socket.recv(65_536):
            received += piece
        assert received == b"" or received.startswith(b"HTTP/1.1 ")
        assert b" 500 " not in received


@FUZZ
@given(st.data())
def test_a_damaged_request_is_answered_or_ends_the_connection(live: str, data: st.DataObject) -> None:
    request = bytearray(message(b'{"TableName":"Songs","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}'))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(request) - 1))
        request[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with Wire(live) as wire:
        wire.send(bytes(request))
        wire.socket.shutdown(1)
        received = b""
        while piece := wire.socket.recv(65_536):
            received += piece
        assert received == b"" or received.startswith(b"HTTP/1.1 ")
        assert b" 500 " not in received


HEADER_TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f"), max_size=40)
HEADER_NAMES = st.sampled_from(
    [
        "X-Amz-Target",
        "Content-Type",
        "Authorization",
        "Accept-Encoding",
        "Content-Encoding",
        "Origin",
        "X-Amz-Date",
        "Expect",
        "Host",
        "Connection",
        "Upgrade",
        "Date",
    ]
)


@FUZZ
@given(st.dictionaries(HEADER_NAMES, HEADER_TEXT, max_size=4), st.sampled_from(["POST", "GET", "PUT", "OPTIONS", "DELETE"]))
def test_any_headers_are_answered(live: str, headers: dict[str, str], method: str) -> None:
    with Wire(live) as wire:
        wire.send(message(b"{}", headers, method))
        response = wire.receive()
        check(wire.receive() if response.status == 100 else response)


NAMES = st.sampled_from(["pk", "sk", "TableName", "Songs", "a.b", "#n", ":v", "x", ""])
EXPRESSIONS = st.sampled_from(
    [
        "pk = :v",
        "SET x = :v",
        "pk = :v AND sk > :v",
        "attribute_exists(x)",
        "#n",
        "REMOVE x[0]",
        "ADD sk :v",
        "((((",
        "a" * 300,
        "pk=:v OR",
        "",
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=20), NAMES, EXPRESSIONS
)
VALUES = st.one_of(
    st.builds(lambda text: {"S": text}, st.text(max_size=10)),
    st.builds(lambda number: {"N": str(number)}, st.one_of(st.integers(), st.floats())),
    st.builds(
        lambda kind, value: {kind: value}, st.sampled_from(["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M", "X"]), SCALARS
    ),
)
TREES = st.recursive(
    st.one_of(SCALARS, VALUES),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)
MAX_GZIP_MEMBERS = st.sampled_from(
    [
        "TableName",
        "Key",
        "Item",
        "Keys",
        "RequestItems",
        "TransactItems",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "KeyConditionExpression",
        "FilterExpression",
        "UpdateExpression",
        "ConditionExpression",
        "ProjectionExpression",
        "Limit",
        "ExclusiveStartKey",
        "Select",
        "IndexName",
        "Segment",
        "TotalSegments",
        "ReturnValues",
        "AttributeUpdates",
        "Expected",
        "KeyConditions",
        "QueryFilter",
        "ScanFilter",
        "AttributesToGet",
        "ConditionalOperator",
        "Statement",
        "Parameters",
        "AttributeDefinitions",
        "KeySchema",
        "BillingMode",
        "ProvisionedThroughput",
        "GlobalSecondaryIndexes",
        "StreamSpecification",
        "Tags",
        "ResourceArn",
        "StreamArn",
        "ShardId",
        "ShardIteratorType",
        "ShardIterator",
        "TimeToLiveSpecification",
        "BackupName",
        "BackupArn",
        "ReturnConsumedCapacity",
        "ClientRequestToken",
    ]
)
BODIES = st.one_of(
    st.dictionaries(MAX_GZIP_MEMBERS, TREES, max_size=6),
    st.dictionaries(MAX_GZIP_MEMBERS, TREES, max_size=6).map(lambda body: {**body, "TableName": "Songs"}),
    st.builds(
        lambda body, pk, sk: {**body, "TableName": "Songs", "Key": {"pk": pk, "sk": sk}, "Item": {"pk": pk, "sk": sk}},
        st.dictionaries(MAX_GZIP_MEMBERS, TREES, max_size=4),
        VALUES,
        VALUES,
    ),
    TREES,
)
#: DeleteTable would leave the others nothing to work on.
OPERATIONS = st.sampled_from(sorted(target.decode() for target in TARGETS if target != b"DynamoDB_20120810.DeleteTable"))


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=True).encode()


@settings(FUZZ, max_examples=1000)
@given(OPERATIONS, BODIES)
def test_any_json_is_answered(live: str, target: str, body: Any) -> None:
    with Wire(live) as wire:
        check(wire.ask(_json(body), {"X-Amz-Target": target}))


@FUZZ
@given(OPERATIONS, st.binary(max_size=100))
def test_any_body_is_answered(live: str, target: str, body: bytes) -> None:
    with Wire(live) as wire:
        check(wire.ask(body, {"X-Amz-Target": target}))


@FUZZ
@given(OPERATIONS, st.binary(max_size=100), st.sampled_from(["gzip", "deflate", "identity", "br", "", "gzip, deflate"]), st.booleans())
def test_any_encoded_body_is_answered(live: str, target: str, body: bytes, encoding: str, compressed: bool) -> None:
    sent = body
    if compressed and encoding in ("gzip", "deflate"):
        sent = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    with Wire(live) as wire:
        check(wire.ask(sent, {"X-Amz-Target": target, "Content-Encoding": encoding}))


@pytest.mark.parametrize(
    "value",
    [
        b'{"M":{"a":' * 50_000 + b"1" + b"}}" * 50_000,
        b'{"L":[' * 50_000 + b"]}" * 50_000,
        b"[" * 200_000,
        b'{"N":"' + b"9" * 1_000_000 + b'"}',
        b'{"N":"1e999999999"}',
        b'{"S":"\\ud800"}',
        b'{"S":"\xff"}',
    ],
    ids=["maps", "lists", "brackets", "digits", "exponent", "surrogate", "not-utf-8"],
)
def test_absurd_values_are_refused(live: str, value: bytes) -> None:
    body = b'{"TableName":"Songs","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":' + value + b"}}"
    with Wire(live) as wire:
        response = wire.ask(body, {"X-Amz-Target": "DynamoDB_20120810.PutItem"})
        check(response)
        assert response.status == 400
    still_serves(live)


@pytest.mark.parametrize(
    "expression", ["(" * 100_000, "NOT " * 50_000 + "x = :v", "a." * 50_000 + "a", "a" + "[0]" * 50_000, "x = :v AND " * 20_000]
)
def test_absurd_expressions_are_refused(live: str, expression: str) -> None:
    body = {"TableName": "Songs", "FilterExpression": expression, "ExpressionAttributeValues": {":v": {"S": "a"}}}
    with Wire(live) as wire:
        response = wire.ask(_json(body), {"X-Amz-Target": "DynamoDB_20120810.Scan"})
        check(response)
        assert response.status == 400
    still_serves(live)
