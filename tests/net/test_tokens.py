"""Signatures and tokens are valid only for their secret, purpose and time. Ciphertexts need the same key and context to be decrypted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net import BadToken, Secret, TokenExpired
from gateleg.net.tokens import DecryptionFailed, decrypt, encrypt

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


KEY = b"k" * 32


@given(st.binary(max_size=200), st.binary(max_size=20))
def test_encrypted_text_can_be_decrypted(plain: bytes, context: bytes) -> None:
    assert decrypt(KEY, encrypt(KEY, plain, context), context) == plain


@given(st.binary(min_size=8, max_size=100))
def test_the_text_is_not_in_its_ciphertext_and_no_two_are_alike(plain: bytes) -> None:
    first, second = encrypt(KEY, plain, b""), encrypt(KEY, plain, b"")
    assert plain not in first
    assert first[25:-32] != second[25:-32]


@given(st.binary(max_size=50), st.data())
def test_a_changed_byte_anywhere_is_found(plain: bytes, data: st.DataObject) -> None:
    sealed = bytearray(encrypt(KEY, plain, b"here"))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DecryptionFailed):
        decrypt(KEY, bytes(sealed), b"here")


@pytest.mark.parametrize("cut", [0, 10, 40, 57])
def test_a_truncated_ciphertext_another_key_and_another_context_are_refused(cut: int) -> None:
    sealed = encrypt(KEY, b"text", b"here")
    for key, body, context in ((KEY, sealed[:cut], b"here"), (b"x" * 32, sealed, b"here"), (KEY, sealed, b"there")):
        with pytest.raises(DecryptionFailed):
            decrypt(key, body, context)
