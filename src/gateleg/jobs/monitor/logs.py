"""A job's log: its last lines are on the job, those before them in chunks of the ledger, and all of it in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.jobs.monitor.listing import get_or_archived
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import KEPT_LINES, Job, LogEntry, Logs
from gateleg.jobs.tables.records import LogChunk
from gateleg.jobs.texts import writable
from gateleg.store import query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.store.flow import Flow

#: A longer message becomes several lines.
LINE_LIMIT = 2000
#: How many lines one write takes along, and how many bytes of them.
FLUSH_LIMIT = 400
FLUSH_BYTES = 200_000
#: How many bytes of lines are kept on the job itself.
KEPT_BYTES = 40_000


def entries_of(message: str, level: str, now: datetime) -> list[LogEntry]:
    """A message as lines of a log."""
    lines = writable(message).splitlines() or [""]
    pieces = [line[start : start + LINE_LIMIT] for line in lines for start in range(0, max(len(line), 1), LINE_LIMIT)]
    return [LogEntry(timestamp=now, level=writable(level), message=piece) for piece in pieces]


def fitting(lines: Sequence[LogEntry], limit: int) -> int:
    """How many of the lines, from the first on, have no more bytes than the limit; at least one."""
    left = limit
    for number, line in enumerate(lines):
        left -= len(line.message.encode())
        if left < 0:
            return max(1, number)
    return len(lines)


def extended(job_id: UUID, logs: Logs, lines: Sequence[LogEntry]) -> tuple[Logs, LogChunk | None]:
    """A log with more lines, and the chunk of those that no longer have room on the job.

    The same lines always make the same chunk under the same key, so a write whose answer was lost can be done again.
    """
    whole = [*logs.entries, *lines]
    over = len(whole) - fitting(whole[: -KEPT_LINES - 1 : -1], KEPT_BYTES)
    if over <= 0:
        return logs.model_copy(update={"entries": whole}), None
    chunk = LogChunk(job_id=job_id, first=logs.earlier, lines=whole[:over])
    return logs.model_copy(update={"entries": whole[over:], "earlier": logs.earlier + over}), chunk


def read_log(context: QueueContext, job_id: UUID, *, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of a job's log from number `after` on, counted from 0, also while it runs and once it is archived."""
    job = yield from get_or_archived(context, job_id)
    return (yield from lines_of(context, job, after))


def lines_of(context: QueueContext, job: Job | ArchivedJob, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of the log of a job that was read, from number `after` on. Those that are in an object, or expired, are left out."""
    logs = job.logs
    if after >= logs.earlier:
        return logs.entries[after - logs.earlier :]
    lines: list[LogEntry] = []
    chunks = context.tables.log_chunk.of_job(job_id=job.job_id)
    for chunk in (yield from collect_stream(query(chunks, consistent=True), context)):
        # A write that was repeated with more lines may have left a shorter chunk behind; what follows begins where it must.
        lines = [*lines[: chunk.first], *chunk.lines]
    return [*lines[after : logs.earlier], *logs.entries]
