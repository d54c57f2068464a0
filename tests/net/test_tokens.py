"""Signatures and tokens are valid only for their secret, purpose and time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import BadToken, Secret, TokenExpired

SECRET = Secret(b"x" * 32)


def test_a_signature_for_one_purpose_is_invalid_for_others() -> None:
    signature = SECRET.sign("csrf", "a")
    assert SECRET.verify("csrf", "a", signature)
    assert not SECRET.verify("links", "a", signature)
    assert not SECRET.verify("csrf", "b", signature)
    assert not Secret(b"y" * 32).verify("csrf", "a", signature)


@given(st.text(st.characters()))
def test_text_that_is_not_a_signature_is_refused(text: str) -> None:
    assert not SECRET.verify("csrf", "a", text)


def test_signature_expires() -> None:
    signature = SECRET.sign("link", "a", ends=100)
    SECRET.check("link", "a", signature, ends=100, now=99.9)
    with pytest.raises(TokenExpired):
        SECRET.check("link", "a", signature, ends=100, now=100)


@pytest.mark.parametrize("ends", [None, 99, 101])
def test_expiry_of_a_signature_cannot_be_changed(ends: int | None) -> None:
    with pytest.raises(BadToken) as refused:
        SECRET.check("link", "a", SECRET.sign("link", "a", ends=100), ends=ends, now=0)
    assert not isinstance(refused.value, TokenExpired)


@given(body=st.binary(), context=st.binary())
def test_opening_a_token_returns_its_body(body: bytes, context: bytes) -> None:
    assert SECRET.open("cursor", SECRET.seal("cursor", body, context), context) == body


@given(body=st.binary(), context=st.binary(), moved=st.integers(1, 5))
def test_context_cannot_be_moved_into_the_body(body: bytes, context: bytes, moved: int) -> None:
    token = SECRET.seal("cursor", body, context)
    for other in {context[:-moved], context + b"x", context + body[:moved]} - {context}:
        with pytest.raises(BadToken):
            SECRET.open("cursor", token, other)


def test_token_for_another_purpose_is_refused() -> None:
    with pytest.raises(BadToken):
        SECRET.open("other", SECRET.seal("cursor", b"body"))


def test_signature_is_not_a_tag_for_a_token() -> None:
    from base64 import urlsafe_b64decode, urlsafe_b64encode

    tag = urlsafe_b64decode(SECRET.sign("cursor", "body") + "=")[:16]
    with pytest.raises(BadToken):
        SECRET.open("cursor", urlsafe_b64encode(tag + b"body").decode())


def test_secret_is_not_shown() -> None:
    assert "xxxx" not in repr(SECRET)
