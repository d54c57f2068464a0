"""Texts that only the holder of a secret can have made: signatures beside a text, and tokens that carry one.

Each is made for a purpose, with a key of its own that is derived from the secret: what is signed for one purpose is refused for any other.
Comparisons take as long for a wrong signature as for the right one.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field

#: 128 bits of a tag cannot be guessed, and tokens stay short.
_TAG_BYTES = 16


class BadToken(Exception):
    """A token was not made with this secret, for this purpose and this context, or has been changed since."""


class TokenExpired(BadToken):
    """A token is genuine, but its time is over."""


@dataclass(frozen=True)
class Secret:
    """One secret, from which a key for each purpose is derived."""

    value: bytes = field(repr=False)

    def key(self, purpose: str) -> bytes:
        """The key for a purpose."""
        return hmac.digest(self.value, purpose.encode(), "sha256")

    def sign(self, purpose: str, text: str, *, ends: int | None = None) -> str:
        """The signature of a text for a purpose, good until `ends` (seconds since 1970) if that is given."""
        return _encode(self._digest(purpose, b"signature", text.encode(), b"" if ends is None else b"%d" % ends))

    def check(self, purpose: str, text: str, signature: str, *, ends: int | None = None, now: float = 0.0) -> None:
        """Return if the signature was made here for the text, the purpose and that end; `BadToken` or `TokenExpired` if not."""
        if not hmac.compare_digest(self.sign(purpose, text, ends=ends).encode(), signature.encode("utf-8", "replace")):
            raise BadToken("The signature was not made here for this text.")
        if ends is not None and now >= ends:
            raise TokenExpired("The signature has expired.")

    def verify(self, purpose: str, text: str, signature: str) -> bool:
        """Whether a signature without an end was made here for the text and the purpose."""
        try:
            self.check(purpose, text, signature)
        except BadToken:
            return False
        return True

    def seal(self, purpose: str, body: bytes, context: bytes = b"") -> str:
        """A token that carries `body`, which its holder can read but not change. It is good only where the `context` is the same."""
        return _encode(self._digest(purpose, b"token", body, context)[:_TAG_BYTES] + body)

    def open(self, purpose: str, token: str, context: bytes = b"") -> bytes:
        """The body of a token. Raises `BadToken`."""
        try:
            sealed = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except ValueError:
            raise BadToken("The token cannot be read.") from None
        tag, body = sealed[:_TAG_BYTES], sealed[_TAG_BYTES:]
        if not hmac.compare_digest(tag, self._digest(purpose, b"token", body, context)[:_TAG_BYTES]):
            raise BadToken("The token was not made here for this purpose and context.")
        return body

    def _digest(self, purpose: str, kind: bytes, body: bytes, context: bytes) -> bytes:
        # The kind keeps a signature from being used as a token; the length keeps context and body apart whatever they contain.
        return hmac.digest(self.key(purpose), b"%b:%d:%b%b" % (kind, len(context), context, body), "sha256")


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
