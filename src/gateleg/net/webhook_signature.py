"""Signatures of webhooks: made by the host, verified by the receiver. Pure.

The header `Gateleg-Signature` is `t=SECONDS,v1=HEX`: the moment of sending, and the HMAC-SHA-256, keyed with the hook's secret, of
`SECONDS.DELIVERY.BODY`, where DELIVERY is the header `Gateleg-Delivery`. The moment is signed so that what was recorded cannot be sent
again later; the delivery so that a receiver can leave out what it has had.
"""

from __future__ import annotations

import hmac

from gateleg.net.tokens import BadToken, TokenExpired

__all__ = ["sign_webhook", "verify_webhook"]

#: Seconds by which clocks may differ, and for which a delivery may be under way.
TOLERANCE = 300


def sign_webhook(secret: str, delivery: str, body: bytes, now: float) -> str:
    """The value of `Gateleg-Signature` for a delivery that is sent now."""
    return f"t={int(now)},v1={_digest(secret, str(int(now)), delivery, body)}"


def verify_webhook(secret: str, signature: str, delivery: str, body: bytes, now: float, *, tolerance: float = TOLERANCE) -> None:
    """Return if a delivery came from a holder of the secret, just now; raise `BadToken` or `TokenExpired` if not."""
    members = [part.strip().partition("=")[::2] for part in signature.split(",")]
    moment = next((value for name, value in members if name == "t"), "")
    expected = _digest(secret, moment, delivery, body)
    if not any(name == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for name, value in members):
        raise BadToken("The signature was not made with this secret for this delivery.")
    if abs(now - int(moment)) > tolerance:
        raise TokenExpired("The delivery was signed too long ago.")


def _digest(secret: str, moment: str, delivery: str, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{moment}.{delivery}.".encode() + body, "sha256").hexdigest()
