"""The last day of the queues, minute by minute, for small charts: one item for each queue and hour, all read by one query.

Workers count in memory and write tallies (`tallies.py`); the worker that watches a queue adds them up once a minute. The sums are made
from the tallies each time, so noting a minute again, or by another worker, changes nothing that was right.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from gateleg.jobs.queue_context import collect_stream, count_jobs
from gateleg.jobs.tables.records import Hour, Minute, MinuteCounts
from gateleg.store import find, put, query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store.flow import Flow

__all__ = ["Count", "moments", "series"]

Count = Literal["claimed", "completed", "failed", "retried", "cancelled", "lost_claims", "waiting", "running"]
_COUNTS = ("claimed", "completed", "failed", "retried", "cancelled", "lost_claims")
#: Minutes that are added up again each time: workers write their tallies up to 15 seconds late, and a busy store later.
_AGAIN = 3
#: The most jobs that are counted for the depth of a queue; a chart needs no more.
_DEPTH = 1000
_KEPT = timedelta(hours=49)


def minute_of(time: datetime) -> datetime:
    """The minute that a time is in."""
    return time.replace(second=0, microsecond=0)


def note_history(context: QueueContext, queue: str) -> Flow[int]:
    """Add the last minutes of a queue to its history; how many hours that has changed."""
    now = context.now()
    since = minute_of(now) - timedelta(minutes=_AGAIN - 1)
    kind, tallied = context.tables.job, context.tables.minute_counts.of_queue(queue=queue).where(MinuteCounts.minute >= since)
    tallies = yield from collect_stream(query(tallied), context)
    waiting = yield from count_jobs(kind.ready(queue=queue), context, limit=_DEPTH)
    running = yield from count_jobs(kind.leased(queue=queue), context, limit=_DEPTH)
    noted = minutes_of(tallies)
    current = noted.get(minute_of(now), Minute())
    noted[minute_of(now)] = current.model_copy(update={"waiting": waiting, "running": running})
    changed = 0
    for hour in sorted({time.replace(minute=0) for time in noted}):
        fresh = {str(time.minute): minute for time, minute in noted.items() if time.replace(minute=0) == hour}
        changed += yield from _noted(context, queue, hour, fresh)
    return changed


def minutes_of(tallies: Iterable[MinuteCounts]) -> dict[datetime, Minute]:
    """The tallies of all types and workers, added up by minute."""
    sums: dict[datetime, dict[str, int]] = {}
    for tally in tallies:
        counts = sums.setdefault(tally.minute, dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            counts[name] += getattr(tally, name)
    return {time: Minute(**counts) for time, counts in sums.items()}


def _noted(context: QueueContext, queue: str, hour: datetime, fresh: dict[str, Minute]) -> Flow[int]:
    known = yield from find(context.tables.hour, queue=queue, hour=hour, consistent=True).flow(context.setup)
    before = known.minutes if known is not None else {}
    after = dict(before)
    for number, minute in fresh.items():
        seen = before.get(number, Minute())
        # What was in the queue is known only of the minute in which somebody looked.
        kept = {name: getattr(seen, name) for name in ("waiting", "running") if getattr(minute, name) is None}
        after[number] = minute.model_copy(update=kept)
    if after == before:
        return 0
    hour_item = context.tables.hour(queue=queue, hour=hour, minutes=after, expires_at=hour + _KEPT)
    yield from put(hour_item, returning="none").flow(context.setup)
    return 1


def history(context: QueueContext, *, hours: int = 24) -> Flow[list[Hour]]:
    """What was done in all queues in the last hours, hour by hour: one query."""
    since = context.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours - 1)
    return (yield from collect_stream(query(context.tables.hour.since().where(Hour.hour >= since)), context))


def series(
    hours: Sequence[Hour], name: Count, until: datetime, *, queue: str | None = None, step: int = 60, points: int = 24
) -> list[int | None]:
    """One count of a history as the points of a chart, oldest first: each of `step` minutes, the last one holding `until`.

    What was done is added up, and what was in a queue is the most that was seen; None where nobody looked. Without a `queue`, all of them.
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
    """When the points of a series begin."""
    ends = int(until.timestamp()) // (60 * step)
    return [datetime.fromtimestamp(place * 60 * step, UTC) for place in range(ends - points + 1, ends + 1)]
