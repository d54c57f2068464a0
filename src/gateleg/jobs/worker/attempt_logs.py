"""What a worker logs of its attempts: a line for people, with the same in fields for machines.

A handler that asks to be called again later is the ordinary life of a parent that waits for its children: such calls are logged as debug.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateleg.jobs.tables.job import Job

_log = logging.getLogger("gateleg.jobs.worker")
#: Outcomes that an operator wants to see among warnings.
_WARNED = ("failed", "retried")


def tell_start(job: Job) -> None:
    """Log that an attempt begins."""
    waited = bool(job.attempts) and job.attempts[-1].outcome == "snoozed"
    level = logging.DEBUG if waited else logging.INFO
    if _log.isEnabledFor(level):
        _log.log(level, "%s %s started, attempt %d", job.job_type, job.job_id, job.tries, extra=fields_of(job))


def tell_end(job: Job) -> None:
    """Log how the last attempt of a job has ended, and why, if it has failed."""
    last = job.attempts[-1]
    level = logging.WARNING if last.outcome in _WARNED else logging.DEBUG if last.outcome == "snoozed" else logging.INFO
    if not _log.isEnabledFor(level):
        return
    seconds = (last.ended_at - last.started_at).total_seconds()
    told = f"{job.job_type} {job.job_id} {last.outcome} after {seconds:.2f} s, attempt {last.number}"
    if last.error is not None:
        told += f": {last.error.kind}: {last.error.message.splitlines()[0] if last.error.message else ''}"
    if last.outcome == "retried" and job.run_at is not None:
        told += f"; next attempt at {job.run_at:%H:%M:%S}"
    error = None if last.error is None else last.error.kind
    _log.log(level, "%s", told, extra=fields_of(job) | {"outcome": last.outcome, "seconds": round(seconds, 3), "error": error})


def fields_of(job: Job) -> dict[str, Any]:
    """What a log record says of the job that it is about."""
    return {
        "job_id": str(job.job_id),
        "job_type": job.job_type,
        "queue": job.queue,
        "attempt": job.tries,
        "worker": job.worker_id,
    }
