import gzip
import zlib

import pytest

from gateleg.net.http import BadResponse, Response
from gateleg.store.transports import ServiceError
from gateleg.store.transports.messages import error_of, result


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
