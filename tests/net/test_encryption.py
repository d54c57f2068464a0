"""Encryption at rest: decryption returns the text, with the same key and context only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.net.tokens import DecryptionFailed, decrypt, encrypt

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
