"""Following a job: its state, progress and new lines of log, as they come."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.jobs.monitor.events import events_of
from gateleg.jobs.monitor.listing import get_or_archived
from gateleg.jobs.monitor.logs import lines_of
from gateleg.jobs.tables.archive import ArchivedJob

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from uuid import UUID

    from gateleg.jobs.change_feed import ChangeFeed
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.job import Job, LogEntry
    from gateleg.store.flow import Flow


@dataclass(frozen=True)
class Update:
    """A job as it is now, and the lines that are new since the last look."""

    job: Job | ArchivedJob
    lines: list[LogEntry]
    #: how many lines there are in all: where the next look begins
    seen: int
    #: the events that it has emitted since, and how many there are in all
    events: list[Any] = field(default_factory=list)
    emitted: int = 0

    @property
    def news(self) -> bool:
        """Whether there are new lines or events."""
        return bool(self.lines or self.events)

    @property
    def last(self) -> bool:
        """Whether nothing more will come."""
        return isinstance(self.job, ArchivedJob) or self.job.finished


class Watched(Protocol):
    """A queue whose jobs can be followed."""

    def look_on(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """A job as it is now, its lines after the first `seen`, and its events after the first `emitted`."""


class AsyncWatched(Protocol):
    """The same, awaited."""

    context: QueueContext
    changes: ChangeFeed

    async def look_on(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """A job as it is now, its lines after the first `seen`, and its events after the first `emitted`."""


def look_on(context: QueueContext, job_id: UUID, seen: int = 0, emitted: int = 0) -> Flow[Update]:
    """A job as it is now, its lines after the first `seen`, and its events after the first `emitted`."""
    job = yield from get_or_archived(context, job_id)
    lines = yield from lines_of(context, job, seen)
    events = yield from events_of(context, job, emitted)
    return Update(job, lines, seen + len(lines), events, emitted + len(events))


def follow(
    queue: Watched, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0, pause: Callable[[float], None] = time.sleep
) -> Iterator[Update]:
    """Every change of a job until it is finished, looked for `every` so many seconds."""
    before: Update | None = None
    while True:
        update = queue.look_on(job_id, seen, emitted)
        seen, emitted = update.seen, update.emitted
        if before is None or update.news or update.job != before.job:
            yield update
        if update.last:
            return
        before = update
        pause(every)


async def follow_async(queue: AsyncWatched, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0) -> AsyncIterator[Update]:
    """The same, awaited. What happens in this process is told at once, and what another process writes to the same embedded store within
    some hundredths of a second; elsewhere it is looked for `every` so many seconds.
    """
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def heard(name: str) -> None:
        if name == str(job_id):
            loop.call_soon_threadsafe(news.set)

    quiet = queue.context.jobs.updates.listen(heard)
    unwatch = queue.changes.listen(news.set)
    before: Update | None = None
    try:
        while True:
            news.clear()
            update = await queue.look_on(job_id, seen, emitted)
            seen, emitted = update.seen, update.emitted
            if before is None or update.news or update.job != before.job:
                yield update
            if update.last:
                return
            before = update
            try:
                await asyncio.wait_for(news.wait(), every)
            except TimeoutError:
                continue
    finally:
        quiet()
        unwatch()
