"""The history of the queues by minute, for charts: one item for each queue and hour, all read by one query.

Workers count in memory and write counts by minute (`counts.py`), and the worker that maintains a queue adds them up. Each sum is computed
from all counts, so recording a minute again, or by another worker, does no harm.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from gateleg.jobs.queue_context import collect_stream, count_jobs
from gateleg.jobs.tables.records import Hour, Minute, MinuteCounts
from gateleg.store import put
from gateleg.store.operations import find, query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

__all__ = ["Count", "moments", "series"]

Count = Literal["claimed", "completed", "failed", "retried", "cancelled", "lost_claims", "waiting", "running"]
_COUNTS = ("claimed", "completed", "failed", "retried", "cancelled", "lost_claims")
#: How many minutes are added up each time: workers write their counts up to 15 seconds late, or later if the store is busy.
_MINUTES = 3
#: Waiting and running jobs are counted up to this number, which is enough for a chart.
_MAX_DEPTH = 1000
_RETENTION = timedelta(hours=49)


def minute_of(time: datetime) -> datetime:
    """The time without seconds."""
    return time.replace(second=0, microsecond=0)


def record_history(context: QueueContext, queue: str) -> Flow[int]:
    """Add the last minutes of a queue to its history, and return how many hours have changed. Workers call it."""
    now = context.now()
    since = minute_of(now) - timedelta(minutes=_MINUTES - 1)
    recent = context.tables.minute_counts.of_queue(queue=queue).where(MinuteCounts.minute >= since)
    counted = yield from collect_stream(query(recent), context)
    waiting = running = 0
    for member in context.members:
        waiting += yield from count_jobs(member.tables.job.ready(queue=queue), context, limit=_MAX_DEPTH)
        running += yield from count_jobs(member.tables.job.leased(queue=queue), context, limit=_MAX_DEPTH)
    minutes = minutes_of(counted)
    current = minutes.get(minute_of(now), Minute())
    minutes[minute_of(now)] = current.model_copy(update={"waiting": waiting, "running": running})
    changed = 0
    for hour in sorted({time.replace(minute=0) for time in minutes}):
        fresh = {str(time.minute): minute for time, minute in minutes.items() if time.replace(minute=0) == hour}
        changed += yield from _update_hour(context, queue, hour, fresh)
    return changed


def minutes_of(counted: Iterable[MinuteCounts]) -> dict[datetime, Minute]:
    """The counts of all types and workers, added up by minute."""
    sums: dict[datetime, dict[str, int]] = {}
    for minute in counted:
        counts = sums.setdefault(minute.minute, dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            counts[name] += getattr(minute, name)
    return {time: Minute(**counts) for time, counts in sums.items()}


def _update_hour(context: QueueContext, queue: str, hour: datetime, fresh: dict[str, Minute]) -> Flow[int]:
    known = yield from find(context.tables.hour, queue=queue, hour=hour, consistent=True).flow(context.setup)
    before = known.minutes if known is not None else {}
    after = dict(before)
    for number, minute in fresh.items():
        seen = before.get(number, Minute())
        # The depth of the queue is known only for the minute in which it was counted.
        kept = {name: getattr(seen, name) for name in ("waiting", "running") if getattr(minute, name) is None}
        after[number] = minute.model_copy(update=kept)
    if after == before:
        return 0
    hour_item = context.tables.hour(queue=queue, hour=hour, minutes=after, expires_at=hour + _RETENTION)
    yield from put(hour_item, returning="none").flow(context.setup)
    return 1


def history(context: QueueContext, *, hours: int = 24) -> Flow[list[Hour]]:
    """The history of all queues during the last `hours`: an item for each queue and hour, for `series`."""
    since = context.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours - 1)
    found: list[Hour] = []
    for tables in context.ledgers:
        found += yield from collect_stream(query(tables.hour.since().where(Hour.hour >= since)), context)
    return found


def series(
    hours: Sequence[Hour], name: Count, until: datetime, *, queue: str | None = None, step: int = 60, points: int = 24
) -> list[int | None]:
    """One count of a history as the points of a chart, oldest first. Each point covers `step` minutes, and the last one includes `until`.

    Each point is a sum; for `waiting` and `running` it is the maximum, or None where nothing was recorded. Without a `queue`, all queues
    are added up.
    """
    ends = int(until.timestamp()) // (60 * step)
    depth = name in ("waiting", "running")
    seen: dict[int, dict[int, int]] = {}
    for hour in hours:
        if queue is not None and hour.queue != queue:
            continue
        for number, minute in hour.minutes.items():
            value = getattr(minute, name)
            if value is not None:
                at = int(hour.hour.timestamp()) // 60 + int(number)
                values = seen.setdefault(at // step, {})
                values[at] = values.get(at, 0) + value
    blank = None if depth else 0
    found = (seen.get(place) for place in range(ends - points + 1, ends + 1))
    return [blank if not values else (max if depth else sum)(values.values()) for values in found]


def moments(until: datetime, *, step: int = 60, points: int = 24) -> list[datetime]:
    """The start times of the points of a series."""
    ends = int(until.timestamp()) // (60 * step)
    return [datetime.fromtimestamp(place * 60 * step, UTC) for place in range(ends - points + 1, ends + 1)]
