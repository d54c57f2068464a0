"""Throttling errors and `Retry-After` headers."""

from email.utils import formatdate

import pytest

from gateleg.net import is_throttled, may_pass, retry_after


@pytest.mark.parametrize(
    ("code", "status", "throttled"),
    [
        ("ProvisionedThroughputExceededException", 400, True),
        ("ThrottlingException", 400, True),
        ("SlowDown", 503, True),
        ("Http429", 429, True),
        # A quota does not pass by itself.
        ("LimitExceededException", 400, False),
        ("ValidationException", 400, False),
        ("InternalServerError", 500, False),
    ],
)
def test_throttling_is_distinguished_from_other_errors(code: str, status: int, throttled: bool) -> None:
    assert is_throttled(code, status) == throttled


@pytest.mark.parametrize(("status", "passes"), [(400, False), (403, False), (408, True), (429, True), (500, True), (529, True)])
def test_the_status_determines_whether_an_error_is_transient(status: int, passes: bool) -> None:
    assert may_pass(status) == passes


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": formatdate(90, usegmt=True)}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e99"}, None),
        ({}, None),
    ],
)
def test_retry_after_headers_are_parsed(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=30.0) == seconds
