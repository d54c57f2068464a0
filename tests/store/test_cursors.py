"""Cursors are valid only for the store and query that made them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.store import CursorRejected
from gateleg.store.setup import Position, Signer, request_digest

SIGNER = Signer(b"secret")
keys = st.none() | st.dictionaries(st.text(), st.fixed_dictionaries({"S": st.text()}), max_size=4)
positions = st.builds(Position, st.lists(keys, min_size=1, max_size=4).map(tuple), st.booleans())


@given(position=positions, question=st.binary())
def test_opening_a_cursor_returns_its_position(position: Position, question: bytes) -> None:
    assert SIGNER.open(SIGNER.seal(position, question), question) == position


@given(position=positions, question=st.binary(), other=st.binary())
def test_cursor_of_another_query_is_rejected(position: Position, question: bytes, other: bytes) -> None:
    if question != other:
        with pytest.raises(CursorRejected):
            SIGNER.open(SIGNER.seal(position, question), other)


@given(text=st.text())
def test_text_that_is_not_a_cursor_is_rejected(text: str) -> None:
    with pytest.raises(CursorRejected):
        SIGNER.open(text, b"q")


@given(position=positions, at=st.integers(0), bit=st.integers(1, 255))
def test_tampered_cursor_is_rejected(position: Position, at: int, bit: int) -> None:
    sealed = bytearray(SIGNER.seal(position, b"q").encode())
    sealed[at % len(sealed)] ^= bit
    try:
        changed = sealed.decode()
    except UnicodeDecodeError:
        return
    try:
        opened = SIGNER.open(changed, b"q")
    except CursorRejected:
        return
    # The last character of base64 has bits that mean nothing.
    assert opened == position


def test_cursor_of_another_key_is_rejected() -> None:
    with pytest.raises(CursorRejected):
        Signer(b"other").open(SIGNER.seal(Position((None,)), b"q"), b"q")


def test_stores_without_a_key_do_not_share_cursors() -> None:
    assert Signer().key != Signer().key


def test_key_is_not_shown() -> None:
    assert "secret" not in repr(SIGNER)


def test_digest_depends_on_the_request_and_not_on_the_order_of_members() -> None:
    assert request_digest([{"a": 1, "b": 2}]) == request_digest([{"b": 2, "a": 1}])
    assert request_digest([{"a": 1}]) != request_digest([{"a": 2}])
