"""Jobs as rows of a grid. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg.durations import duration
from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor.stats import distinct_stage, labels
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.web.console.badges import BY_STATUS, UNREADABLE, badge_of
from gateleg.web.console.cells import Cell, Column, Row, ago_cell, bar_cell, chip_cell, id_cell, meta_cell, since_cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.jobs.tables import ArchivedJob
    from gateleg.store.setup import Unreadable

#: How much of the reason is shown why an item is not a valid job.
_MAX_REASON_CHARACTERS = 200
COLUMNS = (
    Column("type", "Type"),
    Column("state", "State"),
    Column("about", "Subject"),
    Column("queue", "Queue", desk=True),
    Column("priority", "Priority", right=True, desk=True),
    Column("created", "Submitted"),
    Column("time", "Time"),
    Column("id", "Id", desk=True),
)
ARCHIVE_COLUMNS = (
    Column("type", "Type"),
    Column("state", "State"),
    Column("about", "Subject"),
    Column("queue", "Queue", desk=True),
    Column("ended", "Ended"),
    Column("time", "Time"),
    Column("id", "Id", desk=True),
)


def job_rows(jobs: Iterable[Job]) -> tuple[Row, ...]:
    """Jobs as rows. Children of one job that look alike have a label."""
    listed = tuple(jobs)
    labels_by_id = labels(job for job in listed if job.parent_job_id is not None)
    return tuple(job_row(job, labels_by_id.get(job.job_id, "")) for job in listed)


def unreadable_rows(unreadable: Iterable[Unreadable]) -> tuple[Row, ...]:
    """Items of the job table that are not valid jobs, with what is wrong."""
    return tuple(unreadable_row(UnreadableJob.of(bad)) for bad in unreadable)


def unreadable_row(bad: UnreadableJob) -> Row:
    """An item of the job table that is not a valid job."""
    return Row(
        bad.job_id,
        {"type": meta_cell(bad.reason[:_MAX_REASON_CHARACTERS]), "state": chip_cell(UNREADABLE), "id": id_cell(bad.job_id)},
        href=f"/jobs/{quote(bad.job_id, safe='')}",
        label=f"Unreadable item {bad.job_id[:60]}",
    )


def job_row(job: Job, label: str = "") -> Row:
    """A job in the list. A label that repeats another column is left out."""
    stage = distinct_stage(job.job_type, job.job_stage)
    shown = [text for text in (stage, label) if text and text not in (job.subject, str(job.job_id)[:8])]
    return Row(
        str(job.job_id),
        {
            "type": [job.job_type, *map(meta_cell, shown)] if shown else job.job_type,
            "state": chip_cell(badge_of(job)),
            "about": job.subject,
            "queue": job.queue,
            "priority": str(job.priority),
            "created": ago_cell(job.created_at),
            "time": time_of(job),
            "id": id_cell(str(job.job_id)),
        },
        href=f"/jobs/{job.job_id}",
    )


def time_of(job: Job) -> Cell:
    """The time of a job: progress or running time, how long a finished one took, or what a waiting one waits for."""
    if job.status == JobStatus.PROCESSING:
        if job.progress is not None:
            return bar_cell(job.progress.fraction, "running", job.progress.message)
        return since_cell(job.started_at) if job.started_at else None
    if job.finished:
        if job.started_at is None or job.completed_at is None:
            return meta_cell("never started")
        return duration((job.completed_at - job.started_at).total_seconds())
    if job.waiting_for:
        count = len(job.waiting_for)
        return meta_cell(f"for {count} job{'' if count == 1 else 's'}")
    if job.run_at is not None and job.readiness == "delayed":
        return ago_cell(job.run_at)
    return meta_cell(f"retry {job.retry_count} of {job.max_retries}") if job.retry_count else None


def archived_row(job: ArchivedJob) -> Row:
    """A job of the archive."""
    return Row(
        str(job.job_id),
        {
            "type": job.job_type,
            "state": chip_cell(BY_STATUS[job.status]),
            "about": job.subject,
            "queue": job.queue,
            "ended": ago_cell(job.completed_at),
            "time": None if job.run_seconds is None else duration(job.run_seconds),
            "id": id_cell(str(job.job_id)),
        },
        href=f"/jobs/{job.job_id}",
    )
