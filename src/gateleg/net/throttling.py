"""When a service is asked for too much, and when a refusal may pass: for AWS by its code, for any other service by its status."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Codes of AWS for a request that was refused for want of capacity: nothing was done, and the same request may succeed soon.
#: DynamoDB, S3 and Bedrock have names of their own, and none means anything else to another of them.
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
    """Whether a refusal with this code of AWS and this HTTP status says that too much was asked, and nothing else."""
    return code in THROTTLED or status == 429


def may_pass(status: int) -> bool:
    """Whether a request that was refused with this HTTP status may well succeed later."""
    return status in (408, 429) or status >= 500


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds after which a service wants to be asked again: given in milliseconds, in seconds, or as a date. Names in lower case."""
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
