"""Alarms: what an operator should look at, from the figures of the queues. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.durations import duration
from gateleg.web.console.jobs.filters import Filters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs import Job
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.queue_context import UnreadableJob
    from gateleg.jobs.tables import WorkerRecord
    from gateleg.web.console.theme import Kind

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
