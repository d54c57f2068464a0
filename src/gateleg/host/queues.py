"""The rules of a host's queue that depend on its settings, and the tables that its applications bring for it.

The statistics of all queues, cached briefly and shared by all callers.

Which handlers a process can create again: those of applications whose parts can be imported.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gateleg.host.application import Application, BadApplication, check_made
from gateleg.jobs import Jobs, JobStatus, QueueSettings, TableNames
from gateleg.jobs.handlers import JobsFactory
from gateleg.jobs.queue_context import QUEUE_NAME
from gateleg.jobs.tables import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.host.settings import Settings
    from gateleg.jobs import AsyncQueue
    from gateleg.jobs.monitor import QueueStats
    from gateleg.jobs.queue_context import UnreadableJob

__all__ = ["MAX_AGE_SECONDS", "WINDOW_MINUTES", "factory_of"]


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


class QueueStatsCache:
    """Reads the statistics of all queues, at most once per `MAX_AGE_SECONDS` for any number of callers."""

    def __init__(self, queue: AsyncQueue) -> None:
        self._queue = queue
        self._lock = asyncio.Lock()
        self._set_aside: tuple[float, tuple[UnreadableJob, ...]] | None = None
        self._read: tuple[float, float, tuple[QueueStats, ...]] | None = None

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
            if self._read is None or ticks() - self._read[0] >= max(max_age, self._read[1] * _REUSE_FACTOR):
                began = ticks()
                found = tuple([await self._queue.stats(name, minutes=WINDOW_MINUTES) for name in await self._queue.queue_names()])
                self._read = (ticks(), ticks() - began, found)
            return self._read[2]


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
