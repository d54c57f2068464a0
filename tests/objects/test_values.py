import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.objects import ByteRange, RangeOutside
from gateleg.objects.errors import BadMetadata
from gateleg.objects.values import CHUNK_SIZE, chunks_of, content_type_of


@pytest.mark.parametrize(
    ("header", "parsed"),
    [
        ("bytes=0-99", ByteRange(0, 99)),
        ("bytes=5-", ByteRange(5)),
        ("bytes=-5", ByteRange(None, 5)),
        ("Bytes = 0 - 1", ByteRange(0, 1)),
        ("bytes=0-" + "9" * 400, ByteRange(0, int("9" * 18))),
        ("bytes=-", None),
        ("bytes=5-1", None),
        ("bytes=0-1,3-4", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=٣-٤", None),
        ("", None),
    ],
)
def test_a_range_header_is_read_as_http_has_it(header: str, parsed: ByteRange | None) -> None:
    assert ByteRange.parse(header) == parsed


@given(st.integers(0, 50), st.none() | st.integers(0, 60), st.none() | st.integers(0, 60))
def test_a_range_is_a_slice(size: int, first: int | None, last: int | None) -> None:
    try:
        asked = ByteRange(first, last)
    except ValueError:
        assert (first is None and last is None) or (first is not None and last is not None and last < first)
        return
    data = bytes(range(size))
    expected = data[max(0, size - (last or 0)) :] if first is None else data[first : None if last is None else last + 1]
    try:
        start, stop = asked.within(size)
    except RangeOutside:
        assert expected == b""
    else:
        assert data[start:stop] == expected
    assert ByteRange.parse(asked.header) == asked


def test_a_range_outside_tells_the_size() -> None:
    with pytest.raises(RangeOutside) as caught:
        ByteRange(10).within(10)
    assert caught.value.size == 10


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a/b.PNG", "image/png"),
        ("a.mp4", "video/mp4"),
        ("a.webp", "image/webp"),
        ("a.html", "text/html"),
        ("a.md", "text/markdown"),
        ("a.tar.gz", "application/octet-stream"),
        ("png", "application/octet-stream"),
        ("a.png/b", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
def test_the_extension_of_a_key_determines_the_type(key: str, expected: str) -> None:
    assert content_type_of(key) == expected


@pytest.mark.parametrize("given", ["", "text", "a/b\r\nX: y", "text/html;", "ü/x", "a/b; c", "a/" + "b" * 300])
def test_invalid_content_types_are_refused(given: str) -> None:
    with pytest.raises(BadMetadata):
        content_type_of("a", given)


@given(st.binary(max_size=100))
def test_chunks_add_up(content: bytes) -> None:
    assert b"".join(chunks_of(content)) == content


def test_chunks_of_something_large_are_small() -> None:
    assert {len(chunk) for chunk in chunks_of(bytes(CHUNK_SIZE * 3 + 1))} == {CHUNK_SIZE, 1}
