"""Read the events that a job has emitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.jobs.queue_context import collect_stream
from gateleg.jobs.tables.job import Job
from gateleg.jobs.tables.records import EventChunk
from gateleg.store.operations import query

if TYPE_CHECKING:
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.jobs.tables.archive import ArchivedJob
    from gateleg.store.flow import Flow


def events_of(context: QueueContext, job: Job | ArchivedJob, after: int = 0) -> Flow[list[Any]]:
    """The events of a job from number `after` on, counted from 0; none for an archived job."""
    if not isinstance(job, Job) or (job.emitted or 0) <= after:
        return []
    question = context.tables.event_chunk.of_job(job_id=job.job_id)
    chunks = yield from collect_stream(query(question.where(EventChunk.first >= after), consistent=True), context)
    if not chunks or chunks[0].first > after:
        # The first requested event is inside an earlier chunk.
        before = question.where(EventChunk.first < after).reversed()
        chunks = [*(yield from collect_stream(query(before, consistent=True, limit=1), context)), *chunks]
    events: list[Any] = []
    for chunk in chunks:
        events += chunk.events[max(0, after - chunk.first) :]
    # Later events were written after the job was read; they come with the next update.
    return events[: (job.emitted or 0) - after]
