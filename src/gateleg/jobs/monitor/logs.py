"""The log of a job: the last lines are in the job's item, earlier lines in chunks in the ledger table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.jobs.finish.complete import get_or_archived
from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import KEPT_LINES, Job, LogEntry, Logs
from gateleg.jobs.tables.records import LogChunk
from gateleg.jobs.texts import escape_undecodable
from gateleg.store.operations import query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.store.flow import Flow

#: The maximum length of a line; longer ones are split.
MAX_LINE_CHARS = 2000
#: The maximum number of lines, and their size, in one write.
FLUSH_LINES = 400
FLUSH_BYTES = 200_000
#: The maximum size of the lines in the job's item.
KEPT_BYTES = 40_000


def entries_of(message: str, level: str, now: datetime) -> list[LogEntry]:
    """A message as log lines."""
    # Whatever is given is logged: a job does not fail for its log.
    lines = escape_undecodable(str(message)).splitlines() or [""]
    pieces = [line[start : start + MAX_LINE_CHARS] for line in lines for start in range(0, max(len(line), 1), MAX_LINE_CHARS)]
    return [LogEntry(timestamp=now, level=escape_undecodable(str(level)), message=piece) for piece in pieces]


def fitting(lines: Sequence[LogEntry], limit: int) -> int:
    """How many of the first lines fit into `limit` bytes; at least one."""
    left = limit
    for number, line in enumerate(lines):
        left -= len(line.message.encode())
        if left < 0:
            return max(1, number)
    return len(lines)


def extended(job_id: UUID, logs: Logs, lines: Sequence[LogEntry]) -> tuple[Logs, LogChunk | None]:
    """The log with more lines, and a chunk of the oldest ones if they no longer fit into the job's item.

    The same lines always make the same chunk with the same key, so a write whose response was lost can be repeated.
    """
    entries = [*logs.entries, *lines]
    overflow = len(entries) - fitting(entries[: -KEPT_LINES - 1 : -1], KEPT_BYTES)
    if overflow <= 0:
        return logs.model_copy(update={"entries": entries}), None
    chunk = LogChunk(job_id=job_id, first=logs.earlier, lines=entries[:overflow])
    return logs.model_copy(update={"entries": entries[overflow:], "earlier": logs.earlier + overflow}), chunk


def read_log(context: QueueContext, job_id: UUID, *, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of a job's log from number `after` on, counted from 0, whether the job is running, finished or archived.

    Lines that archiving has moved to the object store are missing; `Archiver.log` reads those too. Raises `JobMissing`.
    """
    job = yield from get_or_archived(context, job_id)
    return (yield from lines_of(context, job, after))


def lines_of(context: QueueContext, job: Job | ArchivedJob, after: int = 0) -> Flow[list[LogEntry]]:
    """The lines of a job's log from number `after` on, without lines that were archived as an object."""
    logs = job.logs
    if after >= logs.earlier:
        return logs.entries[after - logs.earlier :]
    lines: list[LogEntry] = []
    chunks = context.tables.log_chunk.of_job(job_id=job.job_id)
    for chunk in (yield from collect_stream(query(chunks, consistent=True), context)):
        # A repeated write with more lines may have left a shorter chunk, which the next one overlaps.
        lines = [*lines[: chunk.first], *chunk.lines]
    return [*lines[after : logs.earlier], *logs.entries]
