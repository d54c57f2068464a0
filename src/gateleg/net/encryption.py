"""Encryption of short texts at rest, from the standard library alone.

The standard library has no AES, and no extra of ours brings a library that has. What it has is HMAC-SHA-256, of which a sound authenticated
cipher is made in the textbook way, encrypt-then-MAC:

- The key stream is the counter-mode key derivation of NIST SP 800-108 with HMAC-SHA-256 as its pseudorandom function, over a nonce of 192
  random bits: nonces do not repeat, and without the key the stream cannot be distinguished from random bits.
- The tag is HMAC-SHA-256 with a key of its own over the context, the nonce and the ciphertext, and is checked before anything is decrypted.

The context is what the text belongs to (an application, a tenant, a name): a ciphertext that is moved elsewhere is refused.
"""

from __future__ import annotations

import hmac
import os
import struct

__all__ = ["DecryptionFailed", "decrypt", "encrypt"]

_VERSION = b"\x01"
_NONCE = 24
_TAG = 32


class DecryptionFailed(Exception):
    """A ciphertext was not made with this key for this context, or was changed since."""


def encrypt(key: bytes, plain: bytes, context: bytes) -> bytes:
    """The ciphertext of a text, to be read with the same key and context only."""
    nonce = os.urandom(_NONCE)
    body = _VERSION + nonce + _xor(plain, _stream(key, nonce, len(plain)))
    return body + _tag(key, body, context)


def decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """The text of a ciphertext. Raises `DecryptionFailed`."""
    body, tag = sealed[:-_TAG], sealed[-_TAG:]
    if len(body) < 1 + _NONCE or body[:1] != _VERSION or not hmac.compare_digest(tag, _tag(key, body, context)):
        raise DecryptionFailed("The ciphertext was not made with this key and for this place.")
    nonce, hidden = body[1 : 1 + _NONCE], body[1 + _NONCE :]
    return _xor(hidden, _stream(key, nonce, len(hidden)))


def _stream(key: bytes, nonce: bytes, length: int) -> bytes:
    own = hmac.digest(key, b"encrypt", "sha256")
    bits = struct.pack(">Q", length * 8)
    blocks = (
        hmac.digest(own, struct.pack(">I", number) + b"gateleg\x00" + nonce + bits, "sha256") for number in range(1, length // 32 + 2)
    )
    return b"".join(blocks)[:length]


def _tag(key: bytes, body: bytes, context: bytes) -> bytes:
    own = hmac.digest(key, b"authenticate", "sha256")
    # The length keeps context and body apart whatever they contain.
    return hmac.digest(own, struct.pack(">Q", len(context)) + context + body, "sha256")


def _xor(data: bytes, stream: bytes) -> bytes:
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")
