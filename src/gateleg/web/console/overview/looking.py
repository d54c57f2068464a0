"""What the overview looks at, again and again: the present often, the history less often."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from gateleg.jobs import Job, JobStatus, Readiness
from gateleg.jobs.tables.records import MinuteCounts
from gateleg.web.console.jobs.rows import job_row
from gateleg.web.console.live import Topic
from gateleg.web.console.overview.figures import latency, throughput

if TYPE_CHECKING:
    from datetime import datetime

    from gateleg.jobs import QueueStats, Schedule, WorkerRecord
    from gateleg.jobs.tables.records import Hour
    from gateleg.web.console.cells import Row
    from gateleg.web.console.charts import Series
    from gateleg.web.host import Host

#: How many pending jobs are looked at to find the oldest that is ready.
_EXAMINED = 500
_RECENT = 8


@dataclass(frozen=True)
class Present:
    """How things are now."""

    queues: tuple[QueueStats, ...]
    workers: tuple[WorkerRecord, ...]
    oldest: Job | None
    recent: tuple[Job, ...]
    schedules: tuple[Schedule, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The recent jobs as rows, for every page that shows them."""
        return tuple(map(job_row, self.recent))


@dataclass(frozen=True)
class Drawn:
    """Both charts: their times and their series."""

    throughput: tuple[list[datetime], list[Series]]
    latency: tuple[list[datetime], list[Series]]


@dataclass(frozen=True)
class Past:
    """What was done in the last 24 hours, and how long it took in the last one."""

    hours: tuple[Hour, ...]
    tallies: tuple[MinuteCounts, ...]
    _drawn: dict[str, tuple[datetime, Drawn]] = field(default_factory=dict, compare=False, repr=False)

    def drawn(self, now: datetime, span: str) -> Drawn:
        """The charts of a minute, for every page that shows them."""
        minute = now.replace(second=0, microsecond=0)
        if span not in self._drawn or self._drawn[span][0] != minute:
            self._drawn[span] = (minute, Drawn(throughput(self.hours, now, span), latency(self.tallies, now)))
        return self._drawn[span][1]


def present_topic(host: Host) -> Topic[Present]:
    """What waits and runs, who works, and what has waited longest."""

    async def look() -> Present:
        ready = host.queue.tables.job.in_status(status=JobStatus.PENDING).filter(Job.readiness == Readiness.READY)
        oldest = await host.store.page(ready, limit=1, examine=_EXAMINED)
        recent = await host.queue.jobs_page(limit=_RECENT)
        return Present(
            await host.pulse.read(),
            tuple(await host.queue.workers()),
            oldest.items[0] if oldest.items else None,
            tuple(recent.items),
            tuple(await host.queue.schedules()),
        )

    return Topic("present", look, every=2.0)


def past_topic(host: Host) -> Topic[Past]:
    """The history of all queues, and the tallies of the last hour."""

    async def look() -> Past:
        hours = await host.queue.history()
        since = host.store.setup.now() - timedelta(hours=1)
        of_queue = host.queue.tables.minute_counts.of_queue
        tallies = [
            tally
            for name in await host.pulse.queue_names()
            async for tally in host.store.query(of_queue(queue=name).where(MinuteCounts.minute >= since))
        ]
        return Past(tuple(hours), tuple(tallies))

    return Topic("past", look, every=10.0)
