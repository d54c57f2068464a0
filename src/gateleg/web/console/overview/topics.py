"""Topics of the overview: the current state, polled often, and the history, polled less often."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from gateleg.host.live import Topic
from gateleg.jobs import Job, JobStatus
from gateleg.jobs.claim import may_run
from gateleg.jobs.tables import MinuteCounts, Readiness
from gateleg.web.console.jobs.list_page import job_rows
from gateleg.web.console.overview.figures import latency, throughput

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.host.host import Host
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.queue_context import UnreadableJob
    from gateleg.jobs.tables import Hour, Schedule, WorkerRecord
    from gateleg.web.console.cells import Row
    from gateleg.web.console.widgets import Series

#: Pending jobs to read to find the oldest one that is ready.
_MAX_EXAMINED_JOBS = 500
_RECENT_JOBS = 8


@dataclass(frozen=True)
class CurrentState:
    """Queues, workers, schedules and recent jobs as they are now."""

    queues: tuple[QueueStats, ...]
    workers: tuple[WorkerRecord, ...]
    oldest: Job | None
    recent: tuple[Job, ...]
    schedules: tuple[Schedule, ...]
    unreadable: tuple[UnreadableJob, ...] = ()
    #: the oldest job that is ready, if this host has no handler for its type
    stranger: Job | None = None

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The recent jobs as rows, for every page that shows them."""
        return job_rows(self.recent)


@dataclass(frozen=True)
class Charts:
    """The times and series of both charts."""

    throughput: tuple[list[datetime], list[Series]]
    latency: tuple[list[datetime], list[Series]]


@dataclass(frozen=True)
class History:
    """Throughput of the last 24 hours, and latency of the last hour."""

    hours: tuple[Hour, ...]
    tallies: tuple[MinuteCounts, ...]
    _charts_by_span: dict[str, tuple[datetime, Charts]] = field(default_factory=dict, compare=False, repr=False)

    def charts(self, now: datetime, span: str) -> Charts:
        """The charts for the current minute, computed once for all pages."""
        minute = now.replace(second=0, microsecond=0)
        if span not in self._charts_by_span or self._charts_by_span[span][0] != minute:
            self._charts_by_span[span] = (minute, Charts(throughput(self.hours, now, span), latency(self.tallies, now)))
        return self._charts_by_span[span][1]


def current_state_topic(host: Host) -> Topic[CurrentState]:
    """Queue statistics, workers, schedules, recent jobs and the oldest job that is ready."""

    async def read() -> CurrentState:
        waiting = [member.tables.job.in_status(status=JobStatus.PENDING) for member in host.queue.members]
        ready = [question.filter(Job.readiness == Readiness.READY) for question in waiting]
        pages = [await host.store.page(question, limit=1, examine=_MAX_EXAMINED_JOBS) for question in ready]
        oldest = min((job for page in pages for job in page), key=lambda job: job.created_at, default=None)
        recent = await host.queue.jobs_page(limit=_RECENT_JOBS)
        return CurrentState(
            await host.queue_stats.read(),
            tuple(await host.queue.workers()),
            oldest,
            tuple(recent.items),
            tuple(await host.queue.schedules()),
            await host.queue_stats.set_aside(),
            oldest if oldest is not None and not may_run(host.queue.context, oldest.job_type) else None,
        )

    return Topic("present", read, every=2.0, expires=10.0)


def history_topic(host: Host) -> Topic[History]:
    """The hourly history of all queues, and the counts per minute of the last hour."""

    async def read() -> History:
        hours = await host.queue.history()
        since = host.store.setup.now() - timedelta(hours=1)
        names = await host.queue.queue_names()
        asked = [tables.minute_counts.of_queue(queue=name) for tables in host.queue.context.ledgers for name in names]
        tallies = [tally for question in asked async for tally in host.store.query(question.where(MinuteCounts.minute >= since))]
        return History(tuple(hours), tuple(tallies))

    return Topic("past", read, every=10.0, expires=60.0)
