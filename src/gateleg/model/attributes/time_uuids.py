"""UUIDs in the order of their time (version 7), for sort keys whose order is the order of creation."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from threading import Lock
from uuid import UUID

__all__ = ["first_time_uuid", "time_of", "time_uuid"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION, _VARIANT = 0x7 << 76, 0b10 << 62
#: 12 bits beside the version and 62 beside the variant, of which the lower half is chance.
_COUNTER_BITS, _CHANCE_BITS = 42, 32
_last = (0, 0)
_lock = Lock()


def time_uuid(at: datetime | None = None) -> UUID:
    """A new UUID that sorts by its time, also as text. Those of one process and the same or an earlier millisecond sort by their making.

    Without `at`, the time is now.
    """
    global _last
    millisecond = _milliseconds(at if at is not None else datetime.now(UTC))
    with _lock:
        last, count = _last
        if at is None and millisecond <= last:
            # The clock stands still within a millisecond, and may be set back: go on counting from the last one.
            millisecond, count = last, count + 1
        else:
            count = secrets.randbits(_COUNTER_BITS - 1)
        if at is None:
            _last = (millisecond, count)
    return _build(millisecond, (count << _CHANCE_BITS) | secrets.randbits(_CHANCE_BITS))


def first_time_uuid(at: datetime) -> UUID:
    """The smallest of the UUIDs of a time: a bound for queries such as "since yesterday"."""
    return _build(_milliseconds(at), 0)


def time_of(value: UUID) -> datetime:
    """When a time UUID was made, to the millisecond."""
    return _EPOCH + timedelta(milliseconds=value.int >> 80)


def _milliseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _build(millisecond: int, rest: int) -> UUID:
    return UUID(int=(millisecond << 80) | _VERSION | ((rest >> 62) & 0xFFF) << 64 | _VARIANT | (rest & ((1 << 62) - 1)))
