"""Requests that are read from bytes, and compressed bodies."""

import contextlib
import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.endpoint.http import (
    BAD_REQUEST,
    MAX_GZIP_MEMBERS,
    TOO_LARGE,
    Limits,
    OversizedBody,
    ReadPhase,
    RequestReader,
    UndecodableBody,
    choose_encoding,
    compress,
    decompress,
)
from tests.endpoint.fakes import FakeEngine, Wire, message

LIMITS = Limits(body=1000, head=2000)

CHUNKED = message(b"", {"Content-Length": None, "Transfer-Encoding": "chunked"}) + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
MESSAGES = st.sampled_from(
    [
        message(b'{"a":1}'),
        message(b""),
        CHUNKED,
        message(b"", method="GET"),
        message(b"x" * 1000),
        message(b"up", {"Connection": "Upgrade", "Upgrade": "h2c"}),
        message(headers={"Expect": "100-continue"}),
    ]
)


def read(pieces: list[bytes]) -> RequestReader:
    reader = RequestReader(LIMITS)
    for piece in pieces:
        reader.feed(piece)
    return reader


@given(st.lists(MESSAGES, max_size=4), st.data())
def test_how_the_bytes_are_cut_does_not_matter(messages: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(messages)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert list(read(pieces).requests) == list(read([whole]).requests)
    assert len(read(pieces).requests) == len(messages)


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_no_bytes_break_the_reader(pieces: list[bytes]) -> None:
    reader = read(pieces)
    assert reader.final_response in (None, BAD_REQUEST)


def test_header_names_are_lower_case_and_repeated_values_joined() -> None:
    (request,) = read([b"GET / HTTP/1.1\r\nAccept-Encoding: gzip\r\naccept-encoding: br\r\n\r\n"]).requests
    assert request.headers == {b"accept-encoding": b"gzip,br"}
    assert request.accepts == b"gzip"


def test_the_phase_shows_the_part_that_is_being_read() -> None:
    reader = RequestReader(LIMITS)
    request = message(b"{}")
    phases = []
    for piece in (request[:10], request[10:-2], request[-2:]):
        reader.feed(piece)
        phases.append(reader.phase)
    assert phases == [ReadPhase.HEAD, ReadPhase.BODY, ReadPhase.IDLE]


def test_a_body_over_the_limit_is_refused_before_it_is_whole() -> None:
    reader = read([message(b"x" * 1001)[:-1001]])
    assert (reader.ended, reader.final_response, list(reader.requests)) == (True, TOO_LARGE, [])


def test_a_chunked_body_over_the_limit_is_refused_when_it_gets_there() -> None:
    reader = read([message(b"", {"Content-Length": None, "Transfer-Encoding": "chunked"}), b"3e8\r\n" + b"x" * 1000 + b"\r\n"])
    assert not reader.ended
    reader.feed(b"1\r\nx\r\n")
    assert reader.final_response == TOO_LARGE


def test_a_head_over_the_limit_is_refused_before_it_ends() -> None:
    reader = read([b"GET / HTTP/1.1\r\nx: ", b"y" * 2001])
    assert reader.final_response == BAD_REQUEST


def test_a_long_body_before_a_head_is_not_counted_as_head() -> None:
    reader = read([message(b"x" * 1000) * 3 + b"GET / HT", b"TP/1.1\r\n\r\n"])
    assert len(reader.requests) == 4


def test_extensions_of_chunks_are_bounded() -> None:
    head = CHUNKED.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    assert read([head, b"3;", *[b"x" * 500] * 6, b"\r\nabc\r\n0\r\n\r\n"]).final_response == BAD_REQUEST
    assert read([head, *[b"1;" + b"x" * 500 + b"\r\na\r\n"] * 6]).final_response == BAD_REQUEST
    (request,) = read([head, *[b"1\r\na\r\n"] * 900, b"0\r\n\r\n"]).requests
    assert request.body == b"a" * 900


LIMIT = 1 << 20


@given(st.binary(max_size=5000), st.sampled_from([b"gzip", b"deflate"]))
def test_compressed_data_can_be_decompressed(body: bytes, encoding: bytes) -> None:
    assert decompress(compress(body, encoding), encoding, LIMIT) == body


@pytest.mark.parametrize("encoding", [b"GZIP", b" gzip "])
def test_the_encodings_name_may_be_written_in_any_way(encoding: bytes) -> None:
    assert decompress(gzip.compress(b"{}", mtime=0), encoding, LIMIT) == b"{}"


@pytest.mark.parametrize("encoding", [b"identity", b""])
def test_identity_changes_nothing(encoding: bytes) -> None:
    assert decompress(b"{}", encoding, LIMIT) == b"{}"


def test_a_gzip_body_may_have_several_members() -> None:
    assert decompress(gzip.compress(b'{"a":', mtime=0) + gzip.compress(b"1}", mtime=0), b"gzip", LIMIT) == b'{"a":1}'


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b"{}", b"garbage"),
        (b"{}", b"gzip"),
        (b"{}", b"deflate"),
        (b"", b"gzip"),
        (b"", b"deflate"),
        (gzip.compress(b"{}", mtime=0) + b"junk", b"gzip"),
        (gzip.compress(b"{}", mtime=0)[:-1], b"gzip"),
        (zlib.compress(b"{}")[:-1], b"deflate"),
        (zlib.compress(b"{") + zlib.compress(b"}"), b"deflate"),
    ],
)
def test_a_body_that_does_not_match_its_encoding_is_refused(body: bytes, encoding: bytes) -> None:
    with pytest.raises(UndecodableBody):
        decompress(body, encoding, LIMIT)


@given(st.binary(max_size=200), st.sampled_from([b"gzip", b"deflate", b"br"]))
def test_no_bytes_break_the_decoder(body: bytes, encoding: bytes) -> None:
    with contextlib.suppress(UndecodableBody):
        decompress(body, encoding, LIMIT)


def test_a_small_body_that_grows_over_the_limit_is_refused() -> None:
    with pytest.raises(OversizedBody):
        decompress(gzip.compress(b" " * (LIMIT + 1)), b"gzip", LIMIT)
    with pytest.raises(OversizedBody):
        decompress(gzip.compress(b" " * LIMIT, mtime=0) + gzip.compress(b" ", mtime=0), b"gzip", LIMIT)
    assert len(decompress(gzip.compress(b" " * LIMIT, mtime=0), b"gzip", LIMIT)) == LIMIT


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("gzip", "gzip"),
        ("deflate", "deflate"),
        ("identity", None),
        ("", None),
        ("br", None),
        ("x-gzip", None),
        ("gzip, deflate", "gzip"),
        ("br, identity, deflate, gzip", "deflate"),
        ("GZIP, identity", "gzip"),
        ("dog, gzip ,, cat", "gzip"),
        ("gzip;q=0.8, deflate;q=0.5", "gzip"),
        ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", "deflate"),
        ("*", "gzip"),
        ("*, deflate;q=0.5", "gzip"),
        ("*, deflate", "deflate"),
        ("*, identity", "gzip"),
        ("*, gzip;q=0.5", "deflate"),
        ("gzip ;q=0", None),
        ("identity;q=0", None),
        ("*;q=0", None),
        ("*;q=0.5,identity", "gzip"),
        ("gzip;q=0.5,identity;q=0.8", "gzip"),
        ("br;q=0.8,identity;q=0.5,*;q=0", None),
        ('"gzip"', None),
        ("gzip br", None),
        ("gzip:q=1", None),
        ("deflate;q=0.5, gzip;q=31", "gzip"),
        ("gzip;q=31,deflate;q=51", "gzip"),
        ("deflate;q=0.5, gzip;q=0.2", "deflate"),
        ("deflate;q=0.5, gzip;q=1;q=0.2", "gzip"),
        ("deflate;q=0.5,gzip;q=0.", "deflate"),
        ("deflate;q=0.5,gzip;q=0.x", "gzip"),
        ("deflate;q=0.5,gzip;q=0. x", "gzip"),
        ("deflate;q=-0.5,gzip;q=0.2", "gzip"),
        ("gzip;q= 0;q=1", None),
        ("gzip;q =0;q=1", "gzip"),
        ("gzip; q=0;q=1", None),
        ("gzip;nq=0;q=1", None),
        ("gzip;q=0, gzip;q=1, gzip;q=0", "gzip"),
        ("br,identity;q=0.5,gzip;q=0.0001", "gzip"),
    ],
)
def test_the_encoding_is_chosen_as_dynamodb_does(accepted: str, chosen: str | None) -> None:
    assert choose_encoding(accepted.encode()) == (chosen.encode() if chosen else None)


@given(st.binary(max_size=60))
def test_any_accept_encoding_can_be_read(accepted: bytes) -> None:
    assert choose_encoding(accepted) in (None, b"gzip", b"deflate")


def test_a_compressed_request_reaches_the_engine_in_plain(wire: Wire, fake: FakeEngine) -> None:
    assert wire.ask(gzip.compress(b'{"a":1}', mtime=0), {"Content-Encoding": "gzip"}).status == 200
    assert wire.ask(zlib.compress(b'{"a":2}'), {"Content-Encoding": "deflate"}).status == 200
    assert [body for _, body, _ in fake.calls] == [b'{"a":1}', b'{"a":2}']


@pytest.mark.parametrize(
    ("body", "encoding", "why"),
    [
        (b"{}", "gzip", "incorrect header check"),
        (gzip.compress(b"{}", mtime=0)[:-3], "gzip", "the compressed body is truncated"),
        (zlib.compress(b"{}") + b"x", "deflate", "the body has data after its end"),
        (b"{}", "br", "'br' is not gzip, deflate or identity"),
        (b"{}", "gzip, gzip", "'gzip, gzip' is not gzip, deflate or identity"),
    ],
)
def test_an_undecodable_request_is_the_clients_fault(wire: Wire, fake: FakeEngine, body: bytes, encoding: str, why: str) -> None:
    response = wire.ask(body, {"Content-Encoding": encoding})
    assert response.status == 400
    answer = json.loads(response.body)
    assert answer["__type"] == "com.amazon.coral.service#SerializationException"
    assert why in answer["Message"]
    assert fake.calls == []


def test_a_request_that_is_too_large_in_plain_is_refused(wire: Wire, fake: FakeEngine) -> None:
    bomb = gzip.compress(b'{"a":1' + b" " * 20_000_000 + b"}", 1, mtime=0)
    assert wire.ask(bomb, {"Content-Encoding": "gzip"}).status == 413
    assert fake.calls == []
    assert wire.ask().status == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_large_answer_is_compressed_if_the_client_accepts_it(wire: Wire, fake: FakeEngine, encoding: str) -> None:
    fake.answer = b'{"a":"' + b"x" * 5000 + b'"}'
    response = wire.ask(headers={"Accept-Encoding": encoding})
    assert response.headers["content-encoding"] == encoding
    assert len(response.body) < 100
    assert int(response.headers["x-amz-crc32"]) == zlib.crc32(response.body)
    assert decompress(response.body, encoding.encode(), LIMIT) == fake.answer


def test_a_small_answer_is_not_compressed(wire: Wire) -> None:
    assert "content-encoding" not in wire.ask(headers={"Accept-Encoding": "gzip"}).headers


def test_a_large_answer_is_plain_unless_asked_for(wire: Wire, fake: FakeEngine) -> None:
    fake.answer = b'{"a":"' + b"x" * 5000 + b'"}'
    assert wire.ask().body == fake.answer


def test_only_the_first_of_several_accept_encoding_lines_counts(wire: Wire, fake: FakeEngine) -> None:
    fake.answer = b'{"a":"' + b"x" * 5000 + b'"}'
    assert wire.ask(headers={"Accept-Encoding": "identity", "accept-encoding": "gzip"}).body == fake.answer
    assert wire.ask(headers={"Accept-Encoding": "gzip", "accept-encoding": "identity"}).headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("content", [b"", b"x"])
def test_the_number_of_gzip_members_is_limited(content: bytes) -> None:
    member = gzip.compress(content, mtime=0)
    assert decompress(member * MAX_GZIP_MEMBERS, b"gzip", 10_000) == content * MAX_GZIP_MEMBERS
    with pytest.raises(UndecodableBody):
        decompress(member * (MAX_GZIP_MEMBERS + 1), b"gzip", 10_000)


@given(st.lists(st.binary(max_size=40_000), min_size=1, max_size=5))
def test_members_are_read_one_after_the_other(contents: list[bytes]) -> None:
    assert decompress(b"".join(map(gzip.compress, contents)), b"gzip", 1_000_000) == b"".join(contents)
