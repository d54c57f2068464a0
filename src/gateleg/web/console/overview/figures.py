"""The figures of the overview: waiting and running now, completed and failed in 24 hours. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.jobs import JobStatus
from gateleg.jobs.monitor import moments, quantile, series
from gateleg.web.console.charts import Series
from gateleg.web.console.jobs.filters import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.jobs.monitor import Count, QueueStats
    from gateleg.jobs.tables import Hour, MinuteCounts
    from gateleg.web.console.theme import Kind

#: Minutes per point of a latency chart.
LATENCY_STEP = 5
#: Minutes per point of a sparkline; it has 24 points.
_STEPS = (1, 5, 15, 60)
_LINES: tuple[Count, ...] = ("waiting", "running", "completed", "failed")


@dataclass(frozen=True)
class Figure:
    """One of the four figures, its sparkline, and its link."""

    name: str
    kind: Kind
    icon: str
    value: int
    hint: str
    line: tuple[float | None, ...]
    href: str


def four_figures(queues: Sequence[QueueStats], hours: Sequence[Hour], now: datetime) -> list[Figure]:
    """Waiting, running, done and failed."""
    waiting, delayed = sum(one.waiting for one in queues), sum(one.delayed for one in queues)
    running, pace = sum(one.running for one in queues), sum(one.work.throughput for one in queues)
    done, failed = series(hours, "completed", now), series(hours, "failed", now)
    step = fitting_step(hours, now)
    lines = {name: tuple(series(hours, name, now, step=step)) for name in _LINES}
    retried = sum(value or 0 for value in series(hours, "retried", now))
    total_done, total_failed = sum(value or 0 for value in done), sum(value or 0 for value in failed)
    return [
        Figure(
            "Waiting",
            "waiting",
            "schedule",
            waiting,
            f"{delayed} delayed" if delayed else "ready to start" if waiting else "no job is waiting",
            lines["waiting"],
            Filters(status=JobStatus.PENDING).address(),
        ),
        Figure(
            "Running",
            "running",
            "play_circle",
            running,
            f"{pace:.1f} completed per minute",
            lines["running"],
            Filters(status=JobStatus.PROCESSING).address(),
        ),
        Figure(
            "Completed in 24 h",
            "done",
            "check_circle",
            total_done,
            f"{retried} retried",
            lines["completed"],
            Filters(status=JobStatus.COMPLETED).address(),
        ),
        Figure("Failed in 24 h", "failed", "error", total_failed, failure_text(total_done, total_failed), lines["failed"], "/jobs/dead"),
    ]


def fitting_step(hours: Sequence[Hour], now: datetime) -> int:
    """The minutes per point of a sparkline: an hour, or less while there is little history."""
    known = [hour.hour + timedelta(minutes=int(minute)) for hour in hours for minute in hour.minutes]
    age = (now - min(known)) if known else timedelta()
    return next((step for step in _STEPS if timedelta(minutes=step * 23) >= age), _STEPS[-1])


def failure_text(done: int, failed: int) -> str:
    """The share of failures, in words."""
    if not failed:
        return "none failed"
    part = failed / (done + failed)
    return f"{part:.1%} of all" if part >= 0.001 else "less than 0.1% of all"


def throughput(hours: Sequence[Hour], now: datetime, span: str) -> tuple[list[datetime], list[Series]]:
    """Completed and failed jobs: per minute of an hour, or per quarter of an hour of a day."""
    step, points = (15, 96) if span == "day" else (1, 60)
    found = [
        Series("done", "done", series(hours, "completed", now, step=step, points=points), "bar"),
        Series("failed", "failed", series(hours, "failed", now, step=step, points=points), "bar"),
    ]
    return moments(now, step=step, points=points), found


def latency(tallies: Sequence[MinuteCounts], now: datetime, minutes: int = 60) -> tuple[list[datetime], list[Series]]:
    """Run and wait times in steps of some minutes; None if nothing ran."""
    step, points = LATENCY_STEP, minutes // LATENCY_STEP
    times = moments(now, step=step, points=points)
    runs: list[Counter[str]] = [Counter() for _ in times]
    waits: list[Counter[str]] = [Counter() for _ in times]
    for tally in tallies:
        at = (tally.minute - times[0]) // timedelta(minutes=step)
        if 0 <= at < points:
            runs[at].update(tally.run_times)
            waits[at].update(tally.wait_times)
    return times, [
        Series("median run time", "running", [quantile(one, 0.5) for one in runs]),
        Series("95th percentile run time", "cancelled", [quantile(one, 0.95) for one in runs]),
        Series("95th percentile wait", "warning", [quantile(one, 0.95) for one in waits], dashed=True),
    ]
