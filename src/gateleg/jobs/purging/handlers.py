"""The purge job and its schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.jobs.errors import BadPurge, PurgeIncomplete
from gateleg.jobs.handlers import DeclaredSchedule, Jobs
from gateleg.jobs.purging.purger import Purger, longest_interval
from gateleg.jobs.purging.report import PurgeReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.jobs.context import JobContext
    from gateleg.jobs.purging.declaration import Purge
    from gateleg.objects import AsyncObjects
    from gateleg.store import AsyncStore


class PurgeConfig(BaseModel):
    """The config of the purge job."""

    #: only count the items that are due
    dry_run: bool = False


def purge_jobs(
    store: AsyncStore,
    purges: Sequence[Purge[Any]],
    *,
    objects: AsyncObjects | None = None,
    job_type: str = "purge",
    every: int = 3600,
) -> Jobs:
    """Return a registry with the purge job and its schedule, to include in the application's: `jobs.include(purge_jobs(...))`.

    `objects` is the object store. `every` is the number of seconds between two sweeps: at most half of the shortest `ahead`, so that TTL
    does not remove items first if one sweep is missed; otherwise it raises `BadPurge`. A sweep in which items fail raises
    `PurgeIncomplete`, so that the job is retried.
    """
    longest = longest_interval(purges)
    if timedelta(seconds=every) > longest:
        fix = f"Sweep at least every {int(longest.total_seconds())} seconds, or purge further ahead."
        raise BadPurge(f"With a sweep every {timedelta(seconds=every)}, TTL may remove items first.", fix=fix)
    jobs, purger = Jobs(), Purger(store, purges, objects)

    async def sweep(job: JobContext, config: PurgeConfig) -> PurgeReport:
        if config.dry_run:
            return PurgeReport(due=await purger.count_due())
        report = await purger.sweep(job.log, job.check)
        for name, number in report.model_dump(exclude={"hooked", "failures"}).items():
            job.metric(name, number)
        if report.failed:
            raise PurgeIncomplete(f"{report.failed} of {report.due} items could not be purged: {'; '.join(report.failures)}.")
        job.log(str(report))
        return report

    jobs.handler(job_type, config=PurgeConfig, result=PurgeReport)(sweep)
    jobs.add_schedule(DeclaredSchedule(job_type, job_type, every=every))
    return jobs
