import pytest

from gateleg.net import BadToken, TokenExpired
from gateleg.net.webhook_signature import sign_webhook, verify_webhook


def test_a_delivery_is_verified_with_the_same_secret_within_minutes() -> None:
    signature = sign_webhook("secret", "d-1", b"{}", 1000.7)
    assert signature.startswith("t=1000,v1=")
    verify_webhook("secret", signature, "d-1", b"{}", 1200)
    # During a rotation a sender may sign with both.
    verify_webhook("secret", f"{signature},v1=00", "d-1", b"{}", 1200)


@pytest.mark.parametrize(
    ("secret", "delivery", "body", "now", "error"),
    [
        ("other", "d-1", b"{}", 1000, BadToken),
        ("secret", "d-2", b"{}", 1000, BadToken),
        ("secret", "d-1", b"{ }", 1000, BadToken),
        ("secret", "d-1", b"{}", 1400, TokenExpired),
        ("secret", "d-1", b"{}", 600, TokenExpired),
    ],
)
def test_another_delivery_or_time_is_refused(secret: str, delivery: str, body: bytes, now: float, error: type[Exception]) -> None:
    signature = sign_webhook("secret", "d-1", b"{}", 1000)
    with pytest.raises(error):
        verify_webhook(secret, signature, delivery, body, now)


@pytest.mark.parametrize("signature", ["", "v1=", "t=,v1=x", "t=1000", "nonsense"])
def test_an_invalid_signature_is_refused(signature: str) -> None:
    with pytest.raises(BadToken):
        verify_webhook("secret", signature, "d-1", b"{}", 1000)
