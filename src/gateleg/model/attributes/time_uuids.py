"""Time-ordered UUIDs (version 7), for sort keys in order of creation."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import UUID

__all__ = ["first_time_uuid", "time_of", "time_uuid"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION, _VARIANT = 0x7 << 76, 0b10 << 62
#: The 74 bits beside time, version and variant: a counter, then random bits.
_COUNTER_BITS, _RANDOM_BITS = 42, 32
_last = (0, 0)
_lock = Lock()


def time_uuid(at: datetime | None = None) -> UUID:
    """A new UUID (version 7) that sorts by its time, also as text. `at` is the time, by default now.

    UUIDs that one process makes without `at` sort in the order in which it makes them, even within a millisecond.
    """
    global _last
    millisecond = _milliseconds(at if at is not None else datetime.now(UTC))
    with _lock:
        last, count = _last
        if at is None and millisecond <= last:
            # The same millisecond, or the clock was set back: count on from the last UUID.
            millisecond, count = last, count + 1
        else:
            count = secrets.randbits(_COUNTER_BITS - 1)
        if at is None:
            _last = (millisecond, count)
    return _build(millisecond, (count << _RANDOM_BITS) | secrets.randbits(_RANDOM_BITS))


def first_time_uuid(at: datetime) -> UUID:
    """The smallest time UUID of a time: the lower bound of a query such as "since yesterday"."""
    return _build(_milliseconds(at), 0)


def time_of(value: UUID) -> datetime:
    """The time of a time UUID, to the millisecond."""
    return _EPOCH + timedelta(milliseconds=value.int >> 80)


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _build(millisecond: int, rest: int) -> UUID:
    return UUID(int=(millisecond << 80) | _VERSION | ((rest >> 62) & 0xFFF) << 64 | _VARIANT | (rest & ((1 << 62) - 1)))
