"""The figures of the overview: waiting and running now, completed and failed in 24 hours. Pure.

Alarms: what an operator should look at, from the figures of the queues. Pure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.durations import duration
from gateleg.jobs import JobStatus
from gateleg.jobs.monitor import moments, quantile, series
from gateleg.web.console.jobs.list_page import Filters
from gateleg.web.console.widgets import Series

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.jobs import Job
    from gateleg.jobs.monitor import Count, QueueStats
    from gateleg.jobs.queue_context import UnreadableJob
    from gateleg.jobs.tables import Hour, MinuteCounts, WorkerRecord
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


#: The share of failures in the last minutes that raises an alarm, and the minimum number of failures.
FAILURE_RATE, FEW_FAILURES = 0.2, 3
#: Seconds that a job may wait in a running queue.
STUCK_AFTER = 300.0
#: Minutes of waiting work that raise an alarm, and the minimum number of jobs.
BACKLOG_MINUTES, FEW_WAITING = 15.0, 50


#: How many unreadable items have an alarm each.
FEW_UNREADABLE = 5


@dataclass(frozen=True)
class Alarm:
    """Something to look at."""

    kind: Kind
    title: str
    sentence: str
    href: str


def alarms(
    queues: Sequence[QueueStats],
    workers: Sequence[WorkerRecord],
    unreadable: Sequence[UnreadableJob] = (),
    stranger: Job | None = None,
) -> list[Alarm]:
    """All alarms, most severe first. `stranger` is the oldest waiting job if this host has no handler for its type."""
    found = [alarm for stats in queues for alarm in _of_queue(stats, workers)]
    if stranger is not None:
        words = (
            "This host has no handler for its type, so its workers leave it to others. Install the application that has one, or cancel it."
        )
        found.append(Alarm("warning", f"A job of type {stranger.job_type[:60]} waits", words, f"/jobs/{stranger.job_id}"))
    found += [
        Alarm("warning", f"Job {bad.job_id[:60]} is unreadable", f"{bad.reason}. Correct or delete the item.", f"/jobs/{quote(bad.job_id)}")
        for bad in unreadable[:FEW_UNREADABLE]
    ]
    if len(unreadable) > FEW_UNREADABLE:
        words = "Other programs have written items that are not valid jobs. All other jobs go on."
        found.append(Alarm("warning", f"{len(unreadable) - FEW_UNREADABLE} more items are unreadable", words, "/jobs"))
    return sorted(found, key=lambda alarm: alarm.kind != "failed")


def _of_queue(stats: QueueStats, workers: Sequence[WorkerRecord]) -> list[Alarm]:
    found = []
    ended = stats.work.completed + stats.work.failed
    if stats.work.failed >= FEW_FAILURES and stats.work.failed / ended >= FAILURE_RATE:
        part = f"{stats.work.failed} of {ended} jobs that finished in the last {stats.minutes} minutes failed."
        found.append(Alarm("failed", f"Many failures in {stats.queue}", part, "/jobs/dead"))
    if stats.mode == "paused" and stats.waiting:
        words = f"{_waiting(stats)} until you resume the queue."
        found.append(Alarm("warning", f"{stats.queue} is paused", words, "/jobs/queues"))
    elif stats.waiting and not any(stats.queue in worker.queues for worker in workers):
        words = f"{_waiting(stats)}. Start a worker: gateleg worker --queues {stats.queue}"
        found.append(Alarm("failed", f"No worker for {stats.queue}", words, "/jobs/workers"))
    elif stats.oldest_waiting is not None and stats.oldest_waiting >= STUCK_AFTER:
        words = f"A job has waited for {duration(stats.oldest_waiting)}."
        found.append(Alarm("warning", f"{stats.queue} is stuck", words, Filters(queue=stats.queue).address()))
    elif stats.waiting >= FEW_WAITING and stats.waiting > BACKLOG_MINUTES * stats.work.throughput:
        pace = f"{stats.work.throughput:.1f} are done per minute"
        found.append(Alarm("warning", f"Backlog in {stats.queue}", f"{_waiting(stats)}; {pace}.", "/jobs/queues"))
    return found


def _waiting(stats: QueueStats) -> str:
    return "1 job is waiting" if stats.waiting == 1 else f"{stats.waiting} jobs are waiting"
