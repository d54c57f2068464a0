"""The rules of a host's queue that depend on its settings, and the tables that its applications bring for it.

The statistics of all queues, and the newest jobs, cached briefly and shared by all callers.

Which jobs a caller may see.

Which handlers a process can create again: those of applications whose parts can be imported.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.host.application import Application, BadApplication, check_made
from gateleg.host.principal import Role
from gateleg.jobs import Jobs, JobStatus, QueueSettings, TableNames
from gateleg.jobs.handlers import JobsFactory
from gateleg.jobs.queue_context import QUEUE_NAME
from gateleg.jobs.tables import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.host.settings import Settings
    from gateleg.jobs import AsyncQueue, Job
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.queue_context import UnreadableJob
    from gateleg.jobs.tables import ArchivedJob

__all__ = ["MAX_AGE_SECONDS", "WINDOW_MINUTES", "factory_of", "sees_job", "submitted"]


def queue_tables_of(application: Application) -> TableNames | None:
    """The tables that an application brings for its jobs; None if they are in the host's. Raises `BadApplication` for unfit names."""
    if application.queue_tables is None:
        return None
    names: TableNames = check_made(application, "queue_tables", application.queue_tables(), TableNames)
    if not QUEUE_NAME.fullmatch(names.queue) or names.queue == PLAIN.queue:
        raise BadApplication(
            f"The application {application.name} brings the queue table {names.queue!r}.",
            fix="Give it a name such as ShopJobQueue: a host without the application then finds the jobs in it, and says so.",
        )
    return names


def further_tables(applications: Iterable[Application]) -> tuple[TableNames, ...]:
    """The queue tables that applications bring, each once. Raises `BadApplication` if two of them differ in one table."""
    found: dict[str, TableNames] = {}
    for application in applications:
        names = queue_tables_of(application)
        if names is not None and found.setdefault(names.queue, names) != names:
            raise BadApplication(
                f"Two applications bring the queue table {names.queue}, with different other names.", fix="Rename the table of one of them."
            )
    return tuple(found.values())


def queue_rules(settings: Settings, rules: QueueSettings | None = None) -> QueueSettings:
    """The rules with the retention times of the settings."""
    finished, failed = timedelta(days=settings.finished_days), timedelta(days=settings.failed_days)
    kept = {JobStatus.COMPLETED: finished, JobStatus.CANCELLED: finished, JobStatus.FAILED: failed}
    return replace(rules or QueueSettings(), retention=kept)


#: Statistics of this age are served from the cache.
MAX_AGE_SECONDS = 2.0
#: The period that the statistics cover.
WINDOW_MINUTES = 15
#: A result is reused for at least this multiple of the time it took to read, so that a long backlog cannot saturate the host.
_REUSE_FACTOR = 10.0


@dataclass(frozen=True)
class _StatsRead:
    """Statistics, when they were read, how long that took, and the version of the store before."""

    at: float
    took: float
    commits: object | None
    stats: tuple[QueueStats, ...]


class QueueStatsCache:
    """Reads the statistics of all queues, at most once per `MAX_AGE_SECONDS` for any number of callers."""

    def __init__(self, queue: AsyncQueue) -> None:
        self._queue = queue
        self._lock = asyncio.Lock()
        self._set_aside: tuple[float, tuple[UnreadableJob, ...]] | None = None
        self._read: _StatsRead | None = None

    async def set_aside(self, max_age: float = MAX_AGE_SECONDS) -> tuple[UnreadableJob, ...]:
        """The items of the job table that are not valid jobs."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            if self._set_aside is None or ticks() - self._set_aside[0] >= max_age:
                self._set_aside = (ticks(), tuple(await self._queue.set_aside()))
            return self._set_aside[1]

    async def read(self, max_age: float = MAX_AGE_SECONDS) -> tuple[QueueStats, ...]:
        """The statistics of every known queue over the last `WINDOW_MINUTES`."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            began, commits = ticks(), self._queue.changes.commits()
            if self._read is None or not self._is_recent(self._read, began, commits, max_age):
                found = tuple([await self._queue.stats(name, minutes=WINDOW_MINUTES) for name in await self._queue.queue_names()])
                self._read = _StatsRead(ticks(), ticks() - began, commits, found)
            return self._read.stats

    def _is_recent(self, read: _StatsRead, now: float, commits: object | None, max_age: float) -> bool:
        age = now - read.at
        # Where nothing was written since, only time has passed.
        unchanged = commits is not None and commits == read.commits and age < MAX_AGE_SECONDS
        return unchanged or age < max(max_age, read.took * _REUSE_FACTOR)


#: How many of the newest jobs, and of the newest failed jobs, a search looks through.
NEWEST_JOBS = 200


class RecentJobs:
    """The newest jobs and the newest failed ones, read at most once per `MAX_AGE_SECONDS` for any number of searches."""

    def __init__(self, queue: AsyncQueue) -> None:
        self._queue = queue
        self._lock = asyncio.Lock()
        self._read: tuple[float, tuple[Job, ...]] | None = None

    async def read(self) -> tuple[Job, ...]:
        """The jobs, each once, the newest first."""
        ticks = self._queue.store.setup.ticks
        async with self._lock:
            if self._read is None or ticks() - self._read[0] >= MAX_AGE_SECONDS:
                newest = await self._queue.jobs_page(limit=NEWEST_JOBS, internal=True)
                failed = await self._queue.jobs_page(status=JobStatus.FAILED, limit=NEWEST_JOBS)
                self._read = (ticks(), tuple({job.job_id: job for job in (*newest, *failed)}.values()))
            return self._read[1]


async def sees_job(application: Application, resources: Resources[Any], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a principal may see a job of an application's types: viewers see all of them, members those that the application allows."""
    if principal.may(Role.VIEWER):
        return True
    if job.tenant is not None and job.tenant != principal.tenant:
        return False
    rule = application.sees_job
    return submitted(principal, job) if rule is None else await rule(resources, principal, job)


def submitted(principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a principal has submitted a job."""
    return job.created_by == principal.name and job.tenant == principal.tenant


def factory_of(
    settings: Settings, application: Application, *, tables: TableNames | None = None, further: Sequence[TableNames] = ()
) -> JobsFactory | None:
    """A factory with which a process creates an application's handlers. None if its `jobs` are not a function that can be imported.

    `tables` are the queue tables that it brings, `further` those of all applications of the host.
    """
    if application.jobs is None or isinstance(application.jobs, Jobs):
        return None
    needed = {"jobs": application.jobs, "settings": application.settings, "lifespan": application.lifespan}
    parts = {field: address_of(part) for field, part in needed.items() if part is not None}
    if None in parts.values():
        return None
    arguments = {
        "settings": settings.pack(),
        "name": application.name,
        "parts": parts,
        "tables": None if tables is None else asdict(tables),
        "further": [asdict(names) for names in further],
    }
    return JobsFactory("gateleg.host.handler_processes:open_jobs", arguments)


def address_of(named: Any) -> str | None:
    """The import path of an object, as `module:name`. None if it is not at the top level of a module."""
    module, name = getattr(named, "__module__", ""), getattr(named, "__qualname__", "")
    if module == "__main__":
        module = getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", "")
    found = getattr(sys.modules.get(named.__module__), name, None) if module and name else None
    return f"{module}:{name}" if found is named else None
