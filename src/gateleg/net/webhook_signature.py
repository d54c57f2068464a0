"""Webhook signatures: the host signs, the receiver verifies. No I/O.

The header `Gateleg-Signature` is `t=SECONDS,v1=HEX`: the time of sending, and the HMAC-SHA-256 with the webhook's secret of
`SECONDS.DELIVERY.BODY`, where DELIVERY is the header `Gateleg-Delivery`. The time is signed against replays of recorded requests, and the
delivery so that receivers can recognise duplicates.
"""

from __future__ import annotations

import hmac

from gateleg.net.tokens import BadToken, TokenExpired

__all__ = ["sign_webhook", "verify_webhook"]

#: Seconds, for differences of clocks and the duration of the delivery.
TOLERANCE = 300


def sign_webhook(secret: str, delivery: str, body: bytes, now: float) -> str:
    """The value of `Gateleg-Signature` for a delivery sent at `now` (seconds since 1970)."""
    return f"t={int(now)},v1={_digest(secret, str(int(now)), delivery, body)}"


def verify_webhook(secret: str, signature: str, delivery: str, body: bytes, now: float, *, tolerance: float = TOLERANCE) -> None:
    """Verify a delivery. Raises `BadToken` if the signature is invalid, `TokenExpired` if it is more than `tolerance` seconds old."""
    members = [part.strip().partition("=")[::2] for part in signature.split(",")]
    moment = next((value for name, value in members if name == "t"), "")
    expected = _digest(secret, moment, delivery, body)
    if not any(name == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for name, value in members):
        raise BadToken("The signature is not valid for this secret and delivery.")
    if abs(now - int(moment)) > tolerance:
        raise TokenExpired("The delivery was signed too long ago.")


def _digest(secret: str, moment: str, delivery: str, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{moment}.{delivery}.".encode() + body, "sha256").hexdigest()
