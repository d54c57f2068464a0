"""Follow a job: its status, progress, new log lines and events."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gateleg.jobs.finish.complete import get_or_archived
from gateleg.jobs.monitor.events import events_of
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
    """The current job, with the log lines and events since the previous update."""

    job: Job | ArchivedJob
    #: the new log lines
    lines: list[LogEntry]
    #: the number of lines so far, where the next update starts
    seen: int
    #: the new events
    events: list[Any] = field(default_factory=list)
    #: the number of events so far, where the next update starts
    emitted: int = 0

    @property
    def news(self) -> bool:
        """Whether there are new lines or events."""
        return bool(self.lines or self.events)

    @property
    def last(self) -> bool:
        """Whether this is the last update: the job has finished."""
        return isinstance(self.job, ArchivedJob) or self.job.finished


class Followable(Protocol):
    """A queue whose jobs can be followed."""

    def read_update(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """The current job, its log lines after the first `seen`, and its events after the first `emitted`."""


class AsyncFollowable(Protocol):
    """The same, awaited."""

    context: QueueContext
    changes: ChangeFeed

    async def read_update(self, job_id: UUID, seen: int = 0, emitted: int = 0) -> Update:
        """The current job, its log lines after the first `seen`, and its events after the first `emitted`."""


def read_update(context: QueueContext, job_id: UUID, seen: int = 0, emitted: int = 0) -> Flow[Update]:
    """Read a job with its log lines after the first `seen` and its events after the first `emitted`. Raises `JobMissing`."""
    job = yield from get_or_archived(context, job_id)
    lines = yield from lines_of(context, job, seen)
    events = yield from events_of(context, job, emitted)
    return Update(job, lines, seen + len(lines), events, emitted + len(events))


def follow(
    queue: Followable, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0, pause: Callable[[float], None] = time.sleep
) -> Iterator[Update]:
    """Yield the current state of a job, then an `Update` for every change, until it has finished. Polls every `every` seconds.

    To continue an interrupted follow, pass `seen` and `emitted` of its last update. Raises `JobMissing` for an unknown job.
    """
    before: Update | None = None
    while True:
        update = queue.read_update(job_id, seen, emitted)
        seen, emitted = update.seen, update.emitted
        if before is None or update.news or update.job != before.job:
            yield update
        if update.last:
            return
        before = update
        pause(every)


async def follow_async(
    queue: AsyncFollowable, job_id: UUID, *, seen: int = 0, emitted: int = 0, every: float = 1.0
) -> AsyncIterator[Update]:
    """Like `follow`, but asynchronous: `async for update in follow_async(queue, job_id)`.

    Changes by this process are seen at once, changes by other processes on the same embedded store within a few hundredths of a second.
    A remote store is polled every `every` seconds.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def on_update(name: str) -> None:
        if name == str(job_id):
            loop.call_soon_threadsafe(changed.set)

    stop_listening = queue.context.jobs.updates.listen(on_update)
    stop_watching = queue.changes.listen(changed.set)
    before: Update | None = None
    try:
        while True:
            changed.clear()
            update = await queue.read_update(job_id, seen, emitted)
            seen, emitted = update.seen, update.emitted
            if before is None or update.news or update.job != before.job:
                yield update
            if update.last:
                return
            before = update
            try:
                await asyncio.wait_for(changed.wait(), every)
            except TimeoutError:
                continue
    finally:
        stop_listening()
        stop_watching()
