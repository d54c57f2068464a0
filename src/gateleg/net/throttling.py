"""Recognise throttling and transient errors: by error code for AWS, by HTTP status for other services."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: AWS error codes for throttled requests: nothing was executed, and the same request may succeed soon. DynamoDB, S3 and Bedrock use
#: different codes, and none has another meaning in another service.
THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_LONGEST_WAIT = 86_400


def is_throttled(code: str, status: int = 400) -> bool:
    """Whether an error with this AWS code and HTTP status means that the request was throttled."""
    return code in THROTTLED or status == 429


def may_pass(status: int) -> bool:
    """Whether a request that failed with this HTTP status may succeed later."""
    return status in (408, 429) or status >= 500


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds to wait from `retry-after-ms` or `retry-after` headers (seconds or a date), or None. Names are in lower case."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _until(text, time.time() if now is None else now)
        if 0 <= seconds < _LONGEST_WAIT:
            return seconds
    return None


def _until(date: str, now: float) -> float:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except ValueError:
        return -1.0
