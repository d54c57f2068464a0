from hypothesis import given
from hypothesis import strategies as st

from gateleg.endpoint.http import BAD_REQUEST, TOO_LARGE, Limits, ReadPhase, RequestReader
from tests.endpoint.fakes import message

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
