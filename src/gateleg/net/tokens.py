"""Signatures of texts, and signed tokens, made with a secret.

Each is made for a purpose, with a key that is derived from the secret for that purpose, and is invalid for any other purpose. Signatures
are compared in constant time.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field

from gateleg.errors import GatelegError

#: 128 bits cannot be guessed, and keep tokens short.
_TAG_BYTES = 16


class BadToken(GatelegError):
    """A token or signature was made with another secret or for another purpose or context, or was changed."""

    status = 403
    fix = "Send it unchanged, or request a new one."


class TokenExpired(BadToken):
    """A token or signature is valid, but has expired."""

    fix = "Request a new one."


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
        return _encode(self._digest(purpose, b"token", body, context)[:_TAG_BYTES] + body)

    def open(self, purpose: str, token: str, context: bytes = b"") -> bytes:
        """Verify a token and return its body. Raises `BadToken` if it is invalid."""
        try:
            sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except ValueError:
            raise BadToken("The token is not valid base64.") from None
        tag, body = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._digest(purpose, b"token", body, context)[:_TAG_BYTES]):
            raise BadToken("The token is not valid for this purpose and context.")
        return body

    def _digest(self, purpose: str, kind: bytes, body: bytes, context: bytes) -> bytes:
        # The kind prevents using a signature as a token; the length separates context and body unambiguously.
        return hmac.digest(self.key(purpose), b"%b:%d:%b%b" % (kind, len(context), context, body), "sha256")


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
