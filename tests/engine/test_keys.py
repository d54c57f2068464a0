from base64 import b64encode
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine import keys, values
from gateleg.engine.schema import KeyAttribute

strings = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
binaries = st.binary(min_size=1, max_size=12)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
HASH = KeyAttribute("h", "S")
RANGE = KeyAttribute("r", "S")
RANGES = {"N": KeyAttribute("r", "N"), "B": KeyAttribute("r", "B")}


@given(strings, strings)
def test_text_keys_sort_by_their_utf8_bytes(one: str, other: str) -> None:
    assert (keys.component("S", one) < keys.component("S", other)) == (one.encode() < other.encode())


@given(binaries, binaries)
def test_binary_keys_sort_by_their_bytes(one: bytes, other: bytes) -> None:
    first, second = (keys.component("B", b64encode(value).decode()) for value in (one, other))
    assert (first < second) == (one < other)


@given(decimals, decimals)
def test_number_keys_sort_by_their_value(one: Decimal, other: Decimal) -> None:
    first, second = (keys.component("N", values.format_decimal(value)) for value in (one, other))
    assert (first < second) == (one < other)


@given(strings, strings, strings, strings)
def test_two_attributes_sort_one_after_the_other(a: str, b: str, c: str, d: str) -> None:
    first = keys.component("S", a) + keys.component("S", b)
    second = keys.component("S", c) + keys.component("S", d)
    assert (first < second) == ((a.encode(), b.encode()) < (c.encode(), d.encode()))


@given(strings, strings)
def test_a_stem_bounds_exactly_the_values_that_begin_with_it(value: str, prefix: str) -> None:
    stem = keys.prefix_component("S", prefix)
    inside = stem <= keys.component("S", value) < keys.prefix_end(stem)
    assert inside == value.startswith(prefix)


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=6))
def test_after_bounds_exactly_the_keys_with_a_prefix(prefix: bytes, tail: bytes) -> None:
    if prefix.strip(b"\xff"):
        assert prefix + tail < keys.prefix_end(prefix)
        assert not keys.prefix_end(prefix).startswith(prefix)


@given(strings, st.one_of(st.none(), strings))
def test_the_short_way_for_texts_gives_the_general_key(hash_: str, range_: str | None) -> None:
    item = {"h": {"S": hash_}, "r": {"S": range_ or "-"}}
    attributes = (RANGE,) if range_ else ()
    general = keys.partition_prefix((HASH,), [hash_]) + b"".join(keys.component("S", item[a.name]["S"]) for a in attributes)
    assert keys.row_key_builder((HASH,), attributes)(item) == general


@given(st.integers(1, 50), st.binary(min_size=4, max_size=20))
def test_every_key_lies_in_exactly_one_segment(total: int, key: bytes) -> None:
    spans = [keys.segment_range(number, total) for number in range(total)]
    assert sum(start <= key and (end is None or key < end) for start, end in spans) == 1


@given(strings, decimals.map(values.format_decimal).map(lambda n: ("N", n)) | binaries.map(lambda raw: ("B", b64encode(raw).decode())))
def test_the_short_way_for_a_text_and_something_else_gives_the_general_key(hash_: str, value: tuple[str, str]) -> None:
    kind, content = value
    general = keys.partition_prefix((HASH,), [hash_]) + keys.component(kind, content)
    assert keys.row_key_builder((HASH,), (RANGES[kind],))({"h": {"S": hash_}, "r": {kind: content}}) == general
