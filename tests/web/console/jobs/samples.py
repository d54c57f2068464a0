"""Jobs in every state, for tests of what is shown of them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.tables import Attempt, Failure, LogEntry
from gateleg.jobs.tables.job import Outcome

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def number(value: int) -> UUID:
    return UUID(int=value)


def before(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def job(status: JobStatus = JobStatus.PENDING, **values: Any) -> Job:
    return Job(**{"job_id": number(1), "job_type": "REEL", "status": status, "created_at": before(100), "updated_at": NOW, **values})


def attempt(count: int, outcome: Outcome, start: float, stop: float, error: str | None = None) -> Attempt:
    failure = None if error is None else Failure(kind="ValueError", message=error)
    return Attempt(number=count, worker_id="w:1", started_at=before(start), ended_at=before(stop), outcome=outcome, error=failure)


def line(message: str, level: str = "INFO") -> LogEntry:
    return LogEntry(timestamp=NOW, level=level, message=message)
