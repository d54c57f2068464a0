"""Encrypt short texts at rest, with the standard library only.

The standard library has no AES, and no extra of Gateleg installs a library that has. But it has HMAC-SHA-256, from which an authenticated
cipher is built in the textbook way, encrypt-then-MAC:

- The key stream is the counter-mode key derivation of NIST SP 800-108 with HMAC-SHA-256 as its pseudorandom function, over a nonce of 192
  random bits: nonces do not repeat, and without the key the stream cannot be distinguished from random bits.
- The tag is HMAC-SHA-256 with a separate key over the context, the nonce and the ciphertext. It is verified before decryption.

The context identifies the owner of the text (an application, a tenant, a name): decryption fails in any other context.
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
    """A ciphertext was made with another key or for another context, or was changed."""


def encrypt(key: bytes, plain: bytes, context: bytes) -> bytes:
    """Encrypt a text. It can be decrypted only with the same key and context."""
    nonce = os.urandom(_NONCE)
    body = _VERSION + nonce + _xor(plain, _stream(key, nonce, len(plain)))
    return body + _tag(key, body, context)


def decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """Decrypt a ciphertext. Raises `DecryptionFailed` if the key or context is another, or the ciphertext was changed."""
    body, tag = sealed[:-_TAG], sealed[-_TAG:]
    if len(body) < 1 + _NONCE or body[:1] != _VERSION or not hmac.compare_digest(tag, _tag(key, body, context)):
        raise DecryptionFailed("The ciphertext was made with another key or for another context, or was changed.")
    nonce, hidden = body[1 : 1 + _NONCE], body[1 + _NONCE :]
    return _xor(hidden, _stream(key, nonce, len(hidden)))


def _stream(key: bytes, nonce: bytes, length: int) -> bytes:
    derived = hmac.digest(key, b"encrypt", "sha256")
    bits = struct.pack(">Q", length * 8)
    blocks = (
        hmac.digest(derived, struct.pack(">I", number) + b"gateleg\x00" + nonce + bits, "sha256") for number in range(1, length // 32 + 2)
    )
    return b"".join(blocks)[:length]


def _tag(key: bytes, body: bytes, context: bytes) -> bytes:
    derived = hmac.digest(key, b"authenticate", "sha256")
    # The length separates context and body unambiguously.
    return hmac.digest(derived, struct.pack(">Q", len(context)) + context + body, "sha256")


def _xor(data: bytes, stream: bytes) -> bytes:
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(len(data), "big")
