"""A job of the queue or the archive, as its page shows it. Pure.

The archive: jobs that have left the queue, by type or by subject.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import context, ui

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.monitor.stats import distinct_stage
from gateleg.jobs.tables import ArchivedJob, Attempt, Failure
from gateleg.web.console.cells import BY_STATUS, Badge, badge_of
from gateleg.web.console.failures import empty
from gateleg.web.console.frame import frame
from gateleg.web.console.jobs.list_page import ARCHIVE_COLUMNS, archived_row
from gateleg.web.console.jobs.topics import CRUMBS, section_head
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, pager, show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from gateleg.jobs.tables import LogEntry, Progress, Results
    from gateleg.store import Page


@dataclass(frozen=True)
class JobDetails:
    """The attributes of a job that its page shows. `job` is None for an archived job, which allows no actions."""

    job: Job | None
    job_id: UUID
    job_type: str
    badge: Badge
    status: JobStatus
    subject: str | None
    queue: str
    priority: int
    stage: str | None
    tags: tuple[str, ...]
    created_at: datetime
    created_by: str | None
    started_at: datetime | None
    completed_at: datetime | None
    archived_at: datetime | None
    worker_id: str | None
    retry_count: int
    max_retries: int | None
    attempt: int
    attempts: tuple[Attempt, ...]
    progress: Progress | None
    config: dict[str, Any]
    results: Results | None
    failure: Failure | None
    cancel_reason: str | None
    parent: UUID | None
    root: UUID | None
    dependencies: tuple[UUID, ...]
    dependents: tuple[UUID, ...]

    @property
    def title(self) -> str:
        """The type, and the stage if it adds information."""
        stage = distinct_stage(self.job_type, self.stage)
        return f"{self.job_type}: {stage}" if stage else self.job_type

    @property
    def finished(self) -> bool:
        """Whether the job is completed, failed or cancelled."""
        return self.status in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)

    @property
    def retryable(self) -> bool:
        """Whether it can be retried, in the queue or in the archive."""
        return self.status in (JobStatus.FAILED, JobStatus.CANCELLED)

    @property
    def run_seconds(self) -> float | None:
        """From the start of the last try to the end."""
        if self.started_at is None or self.completed_at is None:
            return None
        return (self.completed_at - self.started_at).total_seconds()


def job_details(job: Job | ArchivedJob) -> JobDetails:
    """A job of the queue or of the archive, as its page shows it."""
    live = job if isinstance(job, Job) else None
    if live is not None:
        failure = next((attempt.error for attempt in reversed(live.attempts) if attempt.error is not None), None)
        failure = failure if live.status in (JobStatus.FAILED, JobStatus.PENDING, JobStatus.PROCESSING) else None
    else:
        failure = job.error if isinstance(job, ArchivedJob) else None
    return JobDetails(
        job=live,
        job_id=job.job_id,
        job_type=job.job_type,
        badge=badge_of(live) if live is not None else BY_STATUS[job.status],
        status=job.status,
        subject=job.subject,
        queue=job.queue,
        priority=job.priority,
        stage=job.job_stage,
        tags=tuple(job.tags),
        created_at=job.created_at,
        created_by=job.created_by,
        started_at=job.started_at,
        completed_at=job.completed_at,
        archived_at=job.archived_at if isinstance(job, ArchivedJob) else None,
        worker_id=job.worker_id,
        retry_count=job.retry_count,
        max_retries=job.max_retries,
        attempt=job.attempt if isinstance(job, ArchivedJob) else job.tries,
        attempts=tuple(job.attempts),
        progress=live.progress if live is not None else None,
        config=job.job_config,
        results=job.job_results,
        failure=failure,
        cancel_reason=job.cancel_reason,
        parent=job.parent_job_id,
        root=job.root_job_id,
        dependencies=tuple(job.dependencies),
        dependents=tuple(job.dependent_jobs),
    )


def short_kind(kind: str) -> str:
    """An exception's name without its module."""
    return kind.rsplit(".", 1)[-1]


def failure_text(failure: Failure) -> str:
    """An error as its headline: the exception's name and its message."""
    return f"{short_kind(failure.kind)}: {failure.message}"


def explaining_line(lines: Sequence[LogEntry], since: datetime | None = None) -> LogEntry | None:
    """The line of a log that explains a failure best: the last error that the handler logged, or else its last line.

    `since` is the start of the failed attempt.
    """
    said = [line for line in lines if since is None or line.timestamp >= since]
    starts = [at for at, line in enumerate(said) if line.message.startswith("Traceback (most recent call last)")]
    if starts:
        # The exception follows, which is shown anyway.
        said = said[: starts[-1]]
    errors = [line for line in said if line.level in ("ERROR", "CRITICAL")]
    return (errors or said)[-1] if said else None


_PAGE_SIZE = 50


def register() -> None:
    """Serve the archive at `/jobs/archive`."""

    @ui.page("/jobs/archive", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def archive() -> None:
        query = context.client.request.query_params
        subject, cursor = query.get("subject", "").strip() or None, query.get("cursor") or None
        with frame(title="Archive", section="jobs", crumbs=CRUMBS, wide=True, titled=False) as view:
            section_head(view, "/jobs/archive").box.set_visibility(False)
            types = sorted(handler.job_type for handler in view.host.queue.context.jobs)
            wanted = query.get("type", "").strip() or (None if subject or not types else types[0])
            _filters(types, wanted, subject)
            if wanted is None and subject is None:
                _nothing()
                return
            job_type = wanted if subject is None else None
            asked = view.host.queue.archive_page(job_type=job_type, subject=subject, limit=_PAGE_SIZE, cursor=cursor)
            await show_when_loaded(asked, partial(_list, job_type, subject, cursor), retry="/jobs/archive")


def _filters(types: list[str], wanted: str | None, subject: str | None) -> None:
    with tag("form", classes="filters", action="/jobs/archive", method="get", data_tidy="", aria_label="Filters"):
        with tag("select", classes="box", name="type", aria_label="Type", data_submits=""):
            tag("option", "By subject", value="")
            for one in [*types, *([wanted] if wanted and wanted not in types else [])]:
                tag("option", one, value=one, selected=True if one == wanted else None)
        tag("input", classes="box", type="search", name="subject", value=subject or "", placeholder="Subject", aria_label="Subject")
        tag("button", "Show", "deed", type="submit")


def _list(job_type: str | None, subject: str | None, cursor: str | None, page: Page[ArchivedJob]) -> None:
    if not page.items:
        _nothing()
        return
    with tag("section", classes="card tight", aria_label="Archived jobs"):
        Grid("Archived jobs", ARCHIVE_COLUMNS, [archived_row(job) for job in page])
        with tag("div", classes="card-foot"):
            pager("/jobs/archive", {"type": job_type, "subject": subject}, cursor=cursor, following=page.next, shown=len(page))


def _nothing() -> None:
    with tag("section", classes="card", aria_label="Archive"):
        sentence = "Completed and cancelled jobs are archived after 7 days, failed ones after 30. Nothing is deleted."
        empty("box", "No archived jobs", sentence)
