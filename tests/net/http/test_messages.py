"""Requests are encoded, and responses and streams parsed correctly, however the bytes are split."""

import itertools
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net.http import (
    BadHeader,
    BadResponse,
    ConnectionLost,
    Framing,
    HttpRequest,
    JsonLines,
    Response,
    ResponseReader,
    ServerSentEvents,
)


def test_request_is_written_with_its_headers_and_its_length() -> None:
    request = HttpRequest("http://host:8000/a b?q=1", b"body", {"x": "y"})
    assert request.encode() == (
        b"POST /a%20b?q=1 HTTP/1.1\r\nhost: host:8000\r\naccept-encoding: identity\r\ncontent-length: 4\r\nx: y\r\n\r\nbody"
    )


@pytest.mark.parametrize("key", ["a\r\nx-evil: 1", "a\nb", "a\x00", "ключ"])
def test_key_that_would_break_out_of_its_header_is_refused(key: str) -> None:
    with pytest.raises(BadHeader, match="authorization cannot be sent"):
        HttpRequest("http://host/x", b"", {"authorization": f"Bearer {key}"}).encode()


def test_request_does_not_show_its_headers() -> None:
    assert "secret" not in repr(HttpRequest("http://host/x", b"", {"authorization": "Bearer secret"}))


SIMPLE = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Amz-CRC32: 1\r\n\r\n{"a":1}'
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n'
INTERIM = b"HTTP/1.1 100 Continue\r\nlink: x\r\n\r\n" + SIMPLE
CUTS = st.lists(st.integers(0, 200), max_size=8)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def read(reader: ResponseReader, data: bytes) -> Response:
    assert reader.feed(data)
    return reader.finish()


@given(data=st.sampled_from([SIMPLE, CHUNKED, INTERIM]), cuts=CUTS)
def test_a_response_may_come_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    reader = ResponseReader()
    whole = [reader.feed(piece) for piece in pieces(data, cuts)]
    assert whole == [False] * (len(whole) - 1) + [True]
    found = reader.finish()
    assert (found.status, found.body, found.keep_alive, b"link" in found.headers) == (200, b'{"a":1}', True, False)


@given(data=st.sampled_from([SIMPLE, CHUNKED, INTERIM]), cuts=CUTS)
def test_a_body_may_be_taken_piece_by_piece(data: bytes, cuts: list[int]) -> None:
    reader, taken = ResponseReader(), []
    for piece in pieces(data, cuts):
        reader.feed(piece)
        if reader.pending:
            assert reader.opened
            assert reader.status == 200
            taken.append(reader.take())
    assert reader.done
    assert b"".join(taken) == b'{"a":1}'


def test_one_reader_reads_response_after_response() -> None:
    reader = ResponseReader()
    for _ in range(3):
        assert read(reader, SIMPLE).body == b'{"a":1}'
        assert not reader.begun


def test_a_connection_that_the_service_will_close_is_not_kept() -> None:
    assert not read(ResponseReader(), SIMPLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")).keep_alive


def test_a_response_without_a_length_goes_on_to_the_end() -> None:
    reader = ResponseReader()
    assert not reader.feed(b'HTTP/1.0 200 OK\r\n\r\n{"a"')
    assert not reader.feed(b":1}")
    reader.end()
    found = reader.finish()
    assert (found.body, found.keep_alive) == (b'{"a":1}', False)


@pytest.mark.parametrize("data", [SIMPLE[:-1], CHUNKED[:-2], SIMPLE[:20]])
def test_a_response_that_is_cut_short_is_lost(data: bytes) -> None:
    reader = ResponseReader()
    assert not reader.feed(data)
    assert reader.begun
    with pytest.raises(ConnectionLost, match="middle"):
        reader.end()


@pytest.mark.parametrize("data", [b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", SIMPLE + SIMPLE])
def test_several_responses_at_once_are_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        ResponseReader().feed(data)


def test_an_endless_response_is_an_error() -> None:
    with pytest.raises(BadResponse, match="larger"):
        ResponseReader(limit=100).feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 100)


OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(-9, 9), max_size=3), max_size=5)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


def read_events(framing: Framing, pieces: list[bytes]) -> list[dict[str, Any]]:
    return [event for piece in pieces for event in framing.feed(piece)] + framing.end()


@given(OBJECTS, st.lists(st.integers(0, 1000), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans())
def test_server_sent_events_do_not_depend_on_how_bytes_are_split(bodies: list[Any], places: list[int], newline: bytes, last: bool) -> None:
    data = b"".join(b": comment" + newline + b"event: x" + newline + b"data: " + orjson.dumps(body) + newline * 2 for body in bodies)
    data = data if last else data.removesuffix(newline)
    assert read_events(ServerSentEvents(), cut(data, places)) == bodies


@given(OBJECTS, st.lists(st.integers(0, 1000), max_size=8), st.booleans())
def test_lines_do_not_depend_on_how_bytes_are_split(bodies: list[Any], places: list[int], last: bool) -> None:
    data = b"\n".join(map(orjson.dumps, bodies)) + (b"\n" if last else b"")
    assert read_events(JsonLines(), cut(data, places)) == bodies


def test_data_of_several_lines_is_one_event() -> None:
    assert read_events(ServerSentEvents(), [b'data: {"a":\ndata:1}\n\n']) == [{"a": 1}]


def test_done_is_not_an_event() -> None:
    assert read_events(ServerSentEvents(), [b"data: [DONE]\n\n"]) == []


@pytest.mark.parametrize("data", [b"data: 3\n\n", b"data: {\n\n", b"data: [1]\n\n"])
def test_event_that_is_not_an_object_is_a_bad_response(data: bytes) -> None:
    with pytest.raises(BadResponse):
        ServerSentEvents().feed(data)


def test_endless_line_is_an_error() -> None:
    lines = JsonLines()
    lines.feed(b"x" * 8_000_000)
    with pytest.raises(BadResponse, match="larger"):
        lines.feed(b"x" * 1_000_000)


@pytest.mark.parametrize("whole", [True, False])
def test_event_that_cannot_be_read_does_not_lose_those_before_it(whole: bool) -> None:
    framing, data = ServerSentEvents(), b'data: {"a": 1}\n\ndata: {oops\n\n'
    events, failed = [], False
    for piece in [data] if whole else [data[place : place + 1] for place in range(len(data))]:
        try:
            events += framing.feed(piece)
        except BadResponse:
            failed = True
    assert (events, failed or framing.failure is not None) == ([{"a": 1}], True)


def test_framing_that_has_failed_stays_failed() -> None:
    framing = JsonLines()
    assert framing.feed(b'{"a": 1}\n{oops\n') == [{"a": 1}]
    with pytest.raises(BadResponse):
        framing.feed(b'{"b": 1}\n')
    with pytest.raises(BadResponse):
        framing.end()
