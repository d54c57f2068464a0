"""Create the job of a submission, with all checks that need no reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson
from pydantic import ValidationError

from gateleg.errors import problem_message
from gateleg.jobs.errors import BadConfig, BadSubmission, ConfigTooLarge, TooManyDependencies
from gateleg.jobs.names import is_name
from gateleg.jobs.rules import readiness_at
from gateleg.jobs.submit.submission import Submission, check_submission
from gateleg.jobs.tables.job import MAX_DEPENDENCIES, Job, owner_of

if TYPE_CHECKING:
    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue_context import QueueContext

#: The maximum size of an idempotency, unique or concurrency key.
_MAX_KEY_BYTES = 500
_MICROSECOND = timedelta(microseconds=1)


def job_of(context: QueueContext, submission: Submission, now: datetime, place: int = 0) -> Job:
    """The job of a submission, after all checks that need no reads.

    `place` is its position among jobs that are submitted together. Each gets a creation time one microsecond after the previous one, so
    that they start in this order.
    """
    check_submission(submission)
    handler = context.jobs.of(submission.job_type)
    config = _checked_config(context, handler, submission)
    queue = submission.queue or handler.queue
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} is not a valid queue name.", fix="Use 1 to 100 letters, digits and _ . : / -")
    for name in ("concurrency_key", "idempotency_key", "unique_key"):
        text = getattr(submission, name)
        if text is not None and not 0 < len(text.encode()) <= _MAX_KEY_BYTES:
            raise BadSubmission(f"The {name.replace('_', ' ')} has {len(text.encode())} bytes; it must have 1 to {_MAX_KEY_BYTES}.")
    if len(set(submission.dependencies)) > MAX_DEPENDENCIES:
        raise TooManyDependencies(f"The job has {len(set(submission.dependencies))} dependencies; the maximum is {MAX_DEPENDENCIES}.")
    run_at = _start(submission, now)
    start_by = _latest_start(submission, now)
    if run_at is not None and start_by is not None and run_at >= start_by:
        given = "start_by" if submission.start_within is None else f"start_within={submission.start_within}"
        raise BadSubmission(
            f"{given} ends before the job may start, which is at {run_at:%Y-%m-%d %H:%M:%S} UTC.",
            fix="Give a longer time: start_within counts from the submission.",
        )
    values: dict[str, Any] = {
        "job_id": submission.job_id or uuid4(),
        "created_at": now + place * _MICROSECOND,
        "updated_at": now,
        "job_type": submission.job_type,
        "internal": handler.internal or None,
        "job_config": config,
        "queue": queue,
        "priority": handler.priority if submission.priority is None else submission.priority,
        "subject": submission.subject,
        "created_by": submission.created_by,
        "tenant": submission.tenant,
        "owner": owner_of(submission.tenant, submission.created_by),
        "max_retries": handler.retry.times if submission.max_retries is None else submission.max_retries,
        "timeout_seconds": submission.timeout_seconds or handler.timeout,
        "run_at": run_at,
        "delayed_at": None if submission.delay is None else now,
        "readiness": readiness_at(run_at, now),
        "start_by": start_by,
        "job_stage": submission.stage,
        "dependencies": list(dict.fromkeys(submission.dependencies)),
        "concurrency_key": submission.concurrency_key,
        "concurrency_limit": submission.concurrency_limit,
        "idempotency_key": submission.idempotency_key,
        "unique_key": submission.unique_key,
        "tags": list(submission.tags),
    }
    try:
        return context.of_type(handler).tables.job(**values)
    except ValidationError as error:
        problems = "; ".join(f"{problem['loc'][0] if problem['loc'] else 'job'}: {problem_message(problem)}" for problem in error.errors())
        raise BadSubmission(f"The submission of {submission.job_type} is invalid: {problems}.") from None


def _start(submission: Submission, now: datetime) -> datetime | None:
    if submission.delay is None:
        return submission.run_at if submission.run_at is None else _checked_time(submission.run_at)
    if submission.run_at is not None:
        raise BadSubmission("delay= and run_at= were both given.", fix="Give one of them.")
    if not submission.delay >= 0:
        raise BadSubmission(f"delay={submission.delay} is not a time from now on.", fix="Give at least 0 seconds.")
    return _later(now, submission.delay)


def _latest_start(submission: Submission, now: datetime) -> datetime | None:
    if submission.start_within is not None:
        return _later(now, submission.start_within)
    return None if submission.start_by is None else _checked_time(submission.start_by)


def _later(now: datetime, seconds: float) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise BadSubmission(f"{seconds:g} seconds from now is after the last date that Python supports.") from None


def _checked_time(moment: datetime) -> datetime:
    """The time, if it can be converted to UTC: this fails in the first and last hours that Python supports."""
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise BadSubmission(f"{moment.isoformat()} cannot be converted to UTC.") from None
    return moment


def _checked_config(context: QueueContext, handler: Handler, submission: Submission) -> dict[str, Any]:
    given = submission.config
    config = handler.checked_config(dict(given) if isinstance(given, Mapping) else given)
    try:
        text = orjson.dumps(config)
    except TypeError as error:
        raise BadConfig(f"The config of {handler.job_type} is not JSON: {error}.") from None
    # orjson writes NaN and infinities as null.
    if b"null" in text and not _finite(config):
        raise BadConfig(f"The config of {handler.job_type} has NaN or an infinite number, which JSON cannot hold.", fix="Use None instead.")
    size = len(text)
    limit = context.settings.config_limit
    if size > limit:
        raise ConfigTooLarge(f"The config of {handler.job_type} has {size:,} bytes; the maximum is {limit:,}.")
    return config


def _finite(value: Any) -> bool:
    """Whether all numbers of a config are finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list | tuple) else True
