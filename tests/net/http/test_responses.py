import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net.http import BadResponse, ConnectionLost, Response, ResponseReader

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
