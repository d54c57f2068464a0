import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.store.transports import ServiceError
from gateleg.store.transports.answers import Answer, AnswerReader, Unreadable, error_of, result

SIMPLE = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Amz-CRC32: %d\r\n\r\n{"a":1}' % zlib.crc32(b'{"a":1}')
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n" + SIMPLE


def answer(body: bytes, status: int = 200, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}, body, keep_alive=True)


def read(data: bytes, cuts: list[int]) -> list[Answer]:
    reader, answers = AnswerReader(), []
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        found = reader.feed(data[start:end])
        if found is not None:
            answers.append(found)
    return answers


@given(data=st.sampled_from([SIMPLE, CHUNKED, INTERIM]), cuts=st.lists(st.integers(0, 200), max_size=8))
def test_an_answer_may_come_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    (found,) = read(data, cuts)
    assert (found.status, result(found), found.keep_alive) == (200, {"a": 1}, True)


def test_one_reader_reads_answer_after_answer() -> None:
    reader = AnswerReader()
    for _ in range(3):
        found = reader.feed(SIMPLE)
        assert found is not None
        assert result(found) == {"a": 1}
        assert not reader.begun


def test_a_connection_that_the_service_will_close_is_not_kept() -> None:
    found = AnswerReader().feed(SIMPLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert found is not None
    assert not found.keep_alive


def test_an_answer_without_a_length_goes_on_to_the_end() -> None:
    reader = AnswerReader()
    assert reader.feed(b'HTTP/1.0 200 OK\r\n\r\n{"a"') is None
    assert reader.feed(b":1}") is None
    found = reader.end()
    assert result(found) == {"a": 1}
    assert not found.keep_alive


@pytest.mark.parametrize("data", [SIMPLE[:-1], CHUNKED[:-2], SIMPLE[:20]])
def test_an_answer_that_is_cut_short_is_unreadable(data: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(data) is None
    assert reader.begun
    with pytest.raises(Unreadable, match="middle"):
        reader.end()


@pytest.mark.parametrize("data", [b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", SIMPLE + SIMPLE])
def test_what_is_not_one_answer_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        AnswerReader().feed(data)


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.store.transports.answers.LIMIT", 100)
    with pytest.raises(Unreadable, match="larger"):
        AnswerReader().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 100)


def test_a_compressed_answer_is_checked_as_sent_and_unpacked() -> None:
    packed = gzip.compress(b'{"a":1}')
    assert result(answer(packed, content_encoding="gzip", x_amz_crc32=str(zlib.crc32(packed)))) == {"a": 1}


def test_a_small_answer_that_unpacks_to_a_huge_one_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.store.transports.answers.LIMIT", 1000)
    with pytest.raises(Unreadable, match="too large"):
        result(answer(gzip.compress(b" " * 100_000), content_encoding="gzip"))


@pytest.mark.parametrize(
    "found",
    [
        answer(b"{}", x_amz_crc32="1"),
        answer(b"not gzip", content_encoding="gzip"),
        answer(gzip.compress(b"{}")[:-4], content_encoding="gzip"),
        answer(b"{}", content_encoding="br"),
        answer(b"<html>"),
        answer(b"[]"),
    ],
)
def test_what_cannot_be_right_is_unreadable(found: Answer) -> None:
    with pytest.raises(Unreadable):
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
        (500, b"", "", "InternalServerError", "The answer has the status 500 and is not one of DynamoDB's."),
        (503, b"<html>", "", "ServiceUnavailable", "The answer has the status 503 and is not one of DynamoDB's."),
        (413, b"", "", "RequestEntityTooLarge", "The answer has the status 413 and is not one of DynamoDB's."),
        (302, b"[]", "", "Http302", "The answer has the status 302 and is not one of DynamoDB's."),
    ],
)
def test_every_refusal_has_a_code(status: int, body: bytes, kind: str, code: str, message: str) -> None:
    error = error_of(status, body, kind)
    assert (error.code, error.message, error.status) == (code, message, status)
