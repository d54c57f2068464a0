"""Streams are parsed correctly, however the bytes are split."""

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net.http import BadResponse, Framing, JsonLines, ServerSentEvents

OBJECTS = st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=8) | st.integers(-9, 9), max_size=3), max_size=5)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


def read(framing: Framing, pieces: list[bytes]) -> list[dict[str, Any]]:
    return [event for piece in pieces for event in framing.feed(piece)] + framing.end()


@given(OBJECTS, st.lists(st.integers(0, 1000), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans())
def test_server_sent_events_do_not_depend_on_how_bytes_are_split(bodies: list[Any], places: list[int], newline: bytes, last: bool) -> None:
    data = b"".join(b": comment" + newline + b"event: x" + newline + b"data: " + orjson.dumps(body) + newline * 2 for body in bodies)
    data = data if last else data.removesuffix(newline)
    assert read(ServerSentEvents(), cut(data, places)) == bodies


@given(OBJECTS, st.lists(st.integers(0, 1000), max_size=8), st.booleans())
def test_lines_do_not_depend_on_how_bytes_are_split(bodies: list[Any], places: list[int], last: bool) -> None:
    data = b"\n".join(map(orjson.dumps, bodies)) + (b"\n" if last else b"")
    assert read(JsonLines(), cut(data, places)) == bodies


def test_data_of_several_lines_is_one_event() -> None:
    assert read(ServerSentEvents(), [b'data: {"a":\ndata:1}\n\n']) == [{"a": 1}]


def test_done_is_not_an_event() -> None:
    assert read(ServerSentEvents(), [b"data: [DONE]\n\n"]) == []


@pytest.mark.parametrize("data", [b"data: 3\n\n", b"data: {\n\n", b"data: [1]\n\n"])
def test_event_that_is_not_an_object_is_a_bad_response(data: bytes) -> None:
    with pytest.raises(BadResponse):
        ServerSentEvents().feed(data)


def test_endless_line_is_an_error() -> None:
    lines = JsonLines()
    lines.feed(b"x" * 8_000_000)
    with pytest.raises(BadResponse, match="larger"):
        lines.feed(b"x" * 1_000_000)
