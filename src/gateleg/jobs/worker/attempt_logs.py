"""Log lines about attempts: a readable message, with the same facts as fields of the log record.

Snoozed attempts are logged at the level DEBUG, because most are parents that wait for their children.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateleg.jobs.tables.job import Job

_log = logging.getLogger("gateleg.jobs.worker")
_WARNING_OUTCOMES = ("failed", "retried")


def log_attempt_start(job: Job) -> None:
    """Log that an attempt starts."""
    snoozed_before = bool(job.attempts) and job.attempts[-1].outcome == "snoozed"
    level = logging.DEBUG if snoozed_before else logging.INFO
    if _log.isEnabledFor(level):
        _log.log(level, "%s %s started, attempt %d", job.job_type, job.job_id, job.tries, extra=fields_of(job))


def log_attempt_end(job: Job) -> None:
    """Log the outcome of the last attempt of a job, and its error if it has failed."""
    last = job.attempts[-1]
    level = logging.WARNING if last.outcome in _WARNING_OUTCOMES else logging.DEBUG if last.outcome == "snoozed" else logging.INFO
    if not _log.isEnabledFor(level):
        return
    seconds = (last.ended_at - last.started_at).total_seconds()
    message = f"{job.job_type} {job.job_id} {last.outcome} after {seconds:.2f} s, attempt {last.number}"
    if last.error is not None:
        message += f": {last.error.kind}: {last.error.message.splitlines()[0] if last.error.message else ''}"
    if last.outcome == "retried" and job.run_at is not None:
        message += f"; next attempt at {job.run_at:%H:%M:%S}"
    error = None if last.error is None else last.error.kind
    _log.log(level, "%s", message, extra=fields_of(job) | {"outcome": last.outcome, "seconds": round(seconds, 3), "error": error})


def fields_of(job: Job) -> dict[str, Any]:
    """The job's fields for a log record."""
    return {
        "job_id": str(job.job_id),
        "job_type": job.job_type,
        "queue": job.queue,
        "attempt": job.tries,
        "worker": job.worker_id,
    }
