"""Jobs as they are shown outside: by the API, in the JSON of commands, for agents. The token that lets a worker write is never shown."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from gateleg.jobs import Job
from gateleg.jobs.handlers import Handler
from gateleg.jobs.monitor import Branch
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.jobs.tables import ArchivedJob, Attempt, LogEntry, Progress, QueueState, Schedule, WorkerRecord

__all__ = ["BranchView", "JobDetail", "JobView", "LineView", "QueueView", "ScheduleView", "TypeView", "UnreadableJobView", "WorkerView"]


class ProgressView(BaseModel):
    """The progress of a job, as reported by its handler."""

    done: float
    total: float
    message: str
    fraction: float = Field(description="From 0 to 1.")

    @classmethod
    def of(cls, progress: Progress | None) -> "ProgressView | None":
        """The progress of a job, if it has reported any."""
        if progress is None:
            return None
        return cls(done=progress.done, total=progress.total, message=progress.message, fraction=progress.fraction)


class FailureView(BaseModel):
    """Why an attempt failed."""

    kind: str
    message: str
    trace: str | None = None


class AttemptView(BaseModel):
    """One run of a job by one worker."""

    number: int
    worker_id: str
    started_at: datetime
    ended_at: datetime
    outcome: str
    error: FailureView | None = None
    times: int | None = Field(default=None, description="How often it was snoozed.")

    @classmethod
    def of(cls, attempt: Attempt) -> "AttemptView":
        """An attempt that has ended."""
        return cls.model_validate(attempt.model_dump())


class JobView(BaseModel):
    """A job in a list."""

    job_id: UUID
    job_type: str
    status: str
    readiness: str | None = Field(default=None, description="For a pending job: ready, delayed or blocked.")
    queue: str
    priority: int
    subject: str | None = None
    created_at: datetime
    updated_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    run_at: datetime | None = Field(default=None, description="The earliest start time.")
    created_by: str | None = None
    worker_id: str | None = None
    retry_count: int
    max_retries: int | None = None
    attempt: int = Field(description="Number of attempts, including the current one; a snooze is not counted.")
    progress: ProgressView | None = None
    parent_job_id: UUID | None = None
    root_job_id: UUID | None = None
    stage: str | None = None
    tags: list[str] = []
    cancel_requested: datetime | None = None
    cancel_reason: str | None = None
    error: str | None = Field(default=None, description="For a failed job: the error of its last attempt.")
    archived: bool = False

    @classmethod
    def of(cls, job: Job | ArchivedJob) -> "JobView":
        """A job of the queue or of the archive, without its long attributes."""
        return cls(**_common(job))


class UnreadableJobView(BaseModel):
    """An item of the job table that is not a valid job."""

    job_id: str = Field(description="The text in the item's key, which may be no UUID.")
    problems: list[str] = Field(description="What is wrong, by attribute.")

    @classmethod
    def of(cls, bad: UnreadableJob) -> "UnreadableJobView":
        """What is wrong with an item."""
        return cls(job_id=bad.job_id, problems=list(bad.problems))


class JobDetail(JobView):
    """A job with all its attributes."""

    config: dict[str, Any]
    results: dict[str, Any] | None = None
    attempts: list[AttemptView] = []
    dependencies: list[UUID] = []
    dependent_jobs: list[UUID] = []
    waiting_for: list[str] = []
    timeout_seconds: int | None = None
    start_by: datetime | None = None
    concurrency_key: str | None = None
    concurrency_limit: int | None = None
    idempotency_key: str | None = None
    unique_key: str | None = None
    version: int | None = None
    log_lines: int = Field(description="The number of lines of its log.")

    @classmethod
    def of(cls, job: Job | ArchivedJob) -> "JobDetail":
        """A job of the queue or of the archive."""
        results = None if job.job_results is None else job.job_results.model_dump(mode="json")
        lines = job.logs.earlier + len(job.logs.entries)
        values = _common(job) | {"config": job.job_config, "results": results, "log_lines": lines}
        values |= {
            "attempts": [AttemptView.of(attempt) for attempt in job.attempts],
            **{name: getattr(job, name) for name in _DETAILS},
        }
        if isinstance(job, Job):
            values |= {"waiting_for": sorted(job.waiting_for or ()), "start_by": job.start_by, "version": job.version}
        return cls(**values)


_SHARED = (
    "job_id",
    "job_type",
    "queue",
    "priority",
    "subject",
    "created_at",
    "started_at",
    "completed_at",
    "created_by",
    "worker_id",
    "retry_count",
    "max_retries",
    "attempt",
    "cancel_reason",
    "parent_job_id",
    "root_job_id",
    "tags",
)
_LIVE = ("updated_at", "run_at", "cancel_requested")
_DETAILS = ("dependencies", "dependent_jobs", "timeout_seconds", "concurrency_key", "concurrency_limit", "idempotency_key", "unique_key")


def _common(job: Job | ArchivedJob) -> dict[str, Any]:
    values = {name: getattr(job, name) for name in _SHARED} | {"status": str(job.status), "stage": job.job_stage}
    if isinstance(job, ArchivedJob):
        return values | {"archived": True, "error": None if job.error is None else job.error.message}
    last = job.attempts[-1].error if job.attempts and job.status == "FAILED" else None
    return values | {
        **{name: getattr(job, name) for name in _LIVE},
        "attempt": job.tries,
        "readiness": str(job.readiness) if job.status == "PENDING" else None,
        "progress": ProgressView.of(job.progress),
        "error": None if last is None else last.message,
    }


class BranchView(BaseModel):
    """A job of a tree with the jobs below it."""

    job_id: UUID
    job_type: str
    stage: str | None
    status: str
    fraction: float = Field(description="How much of the branch is done, from 0 to 1.")
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    retry_count: int
    children: list["BranchView"]

    @classmethod
    def of(cls, branch: Branch) -> "BranchView":
        """A branch with all jobs below it."""
        return cls(
            job_id=branch.job_id,
            job_type=branch.job_type,
            stage=branch.stage,
            status=str(branch.status),
            fraction=round(branch.fraction, 4),
            created_at=branch.created_at,
            started_at=branch.started_at,
            completed_at=branch.completed_at,
            retry_count=branch.retry_count,
            children=[cls.of(child) for child in branch.children],
        )


class LineView(BaseModel):
    """One line of a log."""

    number: int = Field(description="Counted from 0.")
    timestamp: datetime
    level: str
    message: str

    @classmethod
    def numbered(cls, lines: list[LogEntry], first: int) -> "list[LineView]":
        """Lines with their numbers."""
        return [
            cls(number=number, timestamp=line.timestamp, level=line.level, message=line.message) for number, line in enumerate(lines, first)
        ]


class WorkerView(BaseModel):
    """A worker that is alive."""

    worker_id: str
    host: str
    pid: int
    app_version: str
    queues: list[str]
    concurrency: int
    limits: dict[str, int] = Field(description="The maximum number of concurrent jobs of a queue, if limited.")
    state: str
    running: list[UUID]
    memory_bytes: int
    clock_ahead: float = Field(description="Seconds by which its clock is ahead of the other workers' clocks; negative if behind.")
    started_at: datetime
    seen_at: datetime

    @classmethod
    def of(cls, record: WorkerRecord) -> "WorkerView":
        """A worker, as it last reported."""
        return cls(**{name: getattr(record, name) for name in cls.model_fields})


class ScheduleView(BaseModel):
    """A schedule that submits a job repeatedly."""

    name: str
    job_type: str
    config: dict[str, Any]
    cron: str | None
    every: int | None
    timezone: str
    queue: str | None
    priority: int
    subject: str | None
    concurrency_key: str | None
    concurrency_limit: int
    max_retries: int | None
    timeout_seconds: int | None
    start_within: float | None
    tags: list[str]
    enabled: bool
    max_delay: int
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_job_id: UUID | None
    skipped: int = Field(description="Number of runs skipped because they were too late.")
    declared_by: str | None = Field(description="The application whose code declares it; null if it was created by a person or a program.")
    undeclared_at: datetime | None = Field(description="When its application stopped declaring it; it no longer runs then.")

    @classmethod
    def of(cls, schedule: Schedule) -> "ScheduleView":
        """A schedule."""
        return cls(config=schedule.job_config, **{name: getattr(schedule, name) for name in cls.model_fields if name != "config"})


class TypeView(BaseModel):
    """A job type that can be submitted."""

    job_type: str
    queue: str
    priority: int
    timeout: int
    runs: str
    config_schema: dict[str, Any] | None = Field(description="The JSON schema of its config; null if any config is accepted.")

    @classmethod
    def of(cls, handler: Handler) -> "TypeView":
        """A handler."""
        return cls(
            job_type=handler.job_type,
            queue=handler.queue,
            priority=handler.priority,
            timeout=handler.timeout,
            runs=handler.runs,
            config_schema=None if handler.config is None else handler.config.model_json_schema(),
        )


class QueueView(BaseModel):
    """The state of a queue."""

    name: str
    mode: Literal["running", "paused", "draining"]
    rate: int = Field(description="Maximum number of starts in `rate_seconds`; 0 for no limit.")
    rate_seconds: int
    changed_at: datetime | None = None
    changed_by: str | None = None

    @classmethod
    def of(cls, state: QueueState) -> "QueueView":
        """A queue's state."""
        return cls(**{name: getattr(state, name) for name in cls.model_fields})
