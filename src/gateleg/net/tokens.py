"""What is made with a secret: signatures of texts, signed tokens, and encrypted texts. With the standard library only.

Signatures and tokens are made for a purpose, with a key that is derived from the secret for that purpose, and are invalid for any other
purpose. Signatures are compared in constant time.

For `encrypt`: the standard library has no AES, and no extra of Gateleg installs a library that has. But it has HMAC-SHA-256, from which an
authenticated cipher is built in the textbook way, encrypt-then-MAC:

- The key stream is the counter-mode key derivation of NIST SP 800-108 with HMAC-SHA-256 as its pseudorandom function, over a nonce of 192
  random bits: nonces do not repeat, and without the key the stream cannot be distinguished from random bits.
- The tag is HMAC-SHA-256 with a separate key over the context, the nonce and the ciphertext. It is verified before decryption.

The context identifies the owner of the text (an application, a tenant, a name): decryption fails in any other context.
"""

from __future__ import annotations

import hmac
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field

from gateleg.errors import GatelegError

__all__ = ["DecryptionFailed", "decrypt", "encrypt"]

#: 128 bits cannot be guessed, and keep tokens short.
_SIGNATURE_BYTES = 16
#: The first byte of ciphertexts, and the lengths of their nonce and tag.
_VERSION = b"\x01"
_NONCE_BYTES = 24
_TAG_BYTES = 32


class BadToken(GatelegError):
    """A token or signature was made with another secret or for another purpose or context, or was changed."""

    status = 403
    fix = "Send it unchanged, or request a new one."


class TokenExpired(BadToken):
    """A token or signature is valid, but has expired."""

    fix = "Request a new one."


class DecryptionFailed(BadToken):
    """A ciphertext was made with another key or for another context, or was changed."""


@dataclass(frozen=True)
class Secret:
    """A secret from which keys for different purposes are derived."""

    value: bytes = field(repr=False)

    def key(self, purpose: str) -> bytes:
        """The key for a purpose."""
        return hmac.digest(self.value, purpose.encode(), "sha256")

    def sign(self, purpose: str, text: str, *, ends: int | None = None) -> str:
        """Sign a text for a purpose. `ends` is the expiry time in seconds since 1970, if any."""
        return _encode(self._digest(purpose, b"signature", text.encode(), b"" if ends is None else b"%d" % ends))

    def check(self, purpose: str, text: str, signature: str, *, ends: int | None = None, now: float = 0.0) -> None:
        """Verify a signature of a text for a purpose and expiry time. Raises `BadToken`, or `TokenExpired` if it has expired."""
        if not hmac.compare_digest(self.sign(purpose, text, ends=ends).encode(), signature.encode("utf-8", "replace")):
            raise BadToken("The signature is not valid for this text.")
        if ends is not None and now >= ends:
            raise TokenExpired("The signature has expired.")

    def verify(self, purpose: str, text: str, signature: str) -> bool:
        """Whether a signature without an expiry time is valid for the text and purpose."""
        try:
            self.check(purpose, text, signature)
        except BadToken:
            return False
        return True

    def seal(self, purpose: str, body: bytes, context: bytes = b"") -> str:
        """A token that contains `body`, which its holder can read but not change. It is valid for the same `context` only."""
        return _encode(self._digest(purpose, b"token", body, context)[:_SIGNATURE_BYTES] + body)

    def open(self, purpose: str, token: str, context: bytes = b"") -> bytes:
        """Verify a token and return its body. Raises `BadToken` if it is invalid."""
        try:
            sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except ValueError:
            raise BadToken("The token is not valid base64.") from None
        tag, body = sealed[:_SIGNATURE_BYTES], sealed[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(tag, self._digest(purpose, b"token", body, context)[:_SIGNATURE_BYTES]):
            raise BadToken("The token is not valid for this purpose and context.")
        return body

    def _digest(self, purpose: str, kind: bytes, body: bytes, context: bytes) -> bytes:
        # The kind prevents using a signature as a token; the length separates context and body unambiguously.
        return hmac.digest(self.key(purpose), b"%b:%d:%b%b" % (kind, len(context), context, body), "sha256")


def encrypt(key: bytes, plain: bytes, context: bytes) -> bytes:
    """Encrypt a text. It can be decrypted only with the same key and context."""
    nonce = os.urandom(_NONCE_BYTES)
    body = _VERSION + nonce + _xor(plain, _stream(key, nonce, len(plain)))
    return body + _tag(key, body, context)


def decrypt(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """Decrypt a ciphertext. Raises `DecryptionFailed` if the key or context is another, or the ciphertext was changed."""
    body, tag = sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
    if len(body) < 1 + _NONCE_BYTES or body[:1] != _VERSION or not hmac.compare_digest(tag, _tag(key, body, context)):
        raise DecryptionFailed("The ciphertext was made with another key or for another context, or was changed.")
    nonce, hidden = body[1 : 1 + _NONCE_BYTES], body[1 + _NONCE_BYTES :]
    return _xor(hidden, _stream(key, nonce, len(hidden)))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


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
