"""What can be submitted, and the job it becomes once everything about it is checked. Pure: nothing is read or written."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import orjson
from pydantic import BaseModel, ValidationError

from gateleg.jobs.errors import BadConfig, BadSubmission, ConfigTooLarge, DependencyCycle, TooManyDependencies
from gateleg.jobs.names import is_name
from gateleg.jobs.rules import readiness_at
from gateleg.jobs.tables.job import MAX_DEPENDENCIES, Job, Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store import WriteOperation

#: The bytes of a key that a caller may choose.
_KEY_LIMIT = 500
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Submission:
    """A job to be: its type and config, and how it is to be run. What is None comes from the handler."""

    job_type: str
    config: BaseModel | Mapping[str, Any] | None = None
    queue: str | None = None
    priority: int | None = None
    #: what the job is about: a conversation, a project, a collection
    subject: str | None = None
    created_by: str | None = None
    #: chosen by the caller, so that jobs submitted together can depend on each other
    job_id: UUID | None = None
    #: not to be started before
    run_at: datetime | None = None
    #: seconds to wait before it may start
    delay: float | None = None
    #: seconds after which it is not started any more
    start_within: float | None = None
    #: jobs that must be completed first
    depends_on: Sequence[UUID] = ()
    #: the job that this one is a part of
    parent: UUID | None = None
    stage: str | None = None
    max_retries: int | None = None
    timeout: int | None = None
    #: at most `concurrency_limit` jobs with this key run at once
    concurrency_key: str | None = None
    concurrency_limit: int = 1
    #: a second submission with this key answers with the first one's job
    idempotency_key: str | None = None
    #: a second submission with this key answers with the first one's job while that one waits
    unique_key: str | None = None
    tags: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse values of a wrong type here, where the mistake is, rather than where they are first used."""
        if not (self.config is None or isinstance(self.config, BaseModel | Mapping)):
            raise BadConfig(
                f"The config of {self.job_type} is a {type(self.config).__name__}; it must be a pydantic model or a dictionary."
            )
        for name in ("job_id", "parent"):
            if getattr(self, name) is not None:
                _check_id(name, getattr(self, name))
        for other in self.depends_on:
            _check_id("depends_on", other)
        if self.run_at is not None and (not isinstance(self.run_at, datetime) or self.run_at.utcoffset() is None):
            raise BadSubmission(f"run_at={self.run_at!r} has no time zone.", fix="Give an aware datetime, such as datetime.now(UTC).")

    @property
    def plain(self) -> bool:
        """Whether its job can be written without looking at anything else."""
        return not (self.depends_on or self.parent or self.idempotency_key or self.unique_key or self.job_id)


def _check_id(option: str, value: object) -> None:
    if isinstance(value, UUID):
        return
    if isinstance(value, Submitted | Enlisted | Job):
        path = "job_id" if isinstance(value, Job) else "job.job_id"
        raise BadSubmission(f"{option} has a {type(value).__name__} where a job's id belongs.", fix=f"Give its .{path}.")
    raise BadSubmission(f"{option} has {value!r}, which is not a UUID.", fix="Give the id of a job, such as submitted.job.job_id.")


def check_submission(submission: object) -> None:
    """Refuse what is not a `Submission`."""
    if not isinstance(submission, Submission):
        kind = type(submission).__name__
        if kind == "Task":
            fix = f"Write {getattr(submission, '__name__', 'task')}.submit(queue, config), or give its .submission(config)."
        else:
            name = repr(submission) if isinstance(submission, str) else '"..."'
            fix = f"Write submit(Submission({name}, config))."
        raise BadSubmission(f"A {kind} was submitted, which is not a Submission.", fix=fix)


@dataclass(frozen=True)
class Submitted:
    """What came of a submission. `created` is False when its key was taken, and `job` is then the job that has it."""

    job: Job
    created: bool = True


@dataclass(frozen=True)
class Enlisted:
    """A submission for a transaction of the caller. `created` is False when its key was taken: `job` has it, and there are no writes."""

    job: Job
    writes: Sequence[WriteOperation[Any]]
    created: bool = True


def prepared(context: QueueContext, submission: Submission, now: datetime, place: int = 0) -> Job:
    """The job of a submission, with everything checked that can be checked without reading.

    `place` is its place among those that are submitted together: each is created a microsecond after the one before it, so that they
    are started in their order.
    """
    check_submission(submission)
    handler = context.jobs.of(submission.job_type)
    config = _checked_config(context, handler, submission)
    queue = submission.queue or handler.queue
    if not is_name(queue):
        raise BadSubmission(f"{queue!r} cannot name a queue.", fix="Names have 1 to 100 letters, digits and _ . : / -")
    for name in ("concurrency_key", "idempotency_key", "unique_key"):
        text = getattr(submission, name)
        if text is not None and not 0 < len(text.encode()) <= _KEY_LIMIT:
            raise BadSubmission(f"The {name.replace('_', ' ')} has {len(text.encode())} bytes; it may have 1 to {_KEY_LIMIT}.")
    if len(set(submission.depends_on)) > MAX_DEPENDENCIES:
        raise TooManyDependencies(f"The job has {len(set(submission.depends_on))} dependencies; it may have {MAX_DEPENDENCIES}.")
    run_at = _start(submission, now)
    values: dict[str, Any] = {
        "job_id": submission.job_id or uuid4(),
        "created_at": now + place * _MICROSECOND,
        "updated_at": now,
        "job_type": submission.job_type,
        "job_config": config,
        "queue": queue,
        "priority": handler.priority if submission.priority is None else submission.priority,
        "subject": submission.subject,
        "created_by": submission.created_by,
        "max_retries": handler.retry.times if submission.max_retries is None else submission.max_retries,
        "timeout_seconds": submission.timeout or handler.timeout,
        "run_at": run_at,
        "readiness": readiness_at(run_at, now),
        "start_by": None if submission.start_within is None else _later(now, submission.start_within),
        "job_stage": submission.stage,
        "dependencies": list(dict.fromkeys(submission.depends_on)),
        "concurrency_key": submission.concurrency_key,
        "concurrency_limit": submission.concurrency_limit,
        "idempotency_key": submission.idempotency_key,
        "unique_key": submission.unique_key,
        "tags": list(submission.tags),
    }
    try:
        return Job(**values)
    except ValidationError as error:
        told = "; ".join(f"{problem['loc'][0] if problem['loc'] else 'job'}: {problem['msg']}" for problem in error.errors())
        raise BadSubmission(f"The submission of {submission.job_type} is refused: {told}.") from None


def _start(submission: Submission, now: datetime) -> datetime | None:
    if submission.delay is None:
        return submission.run_at if submission.run_at is None else _counted(submission.run_at)
    if submission.run_at is not None or not submission.delay >= 0:
        raise BadSubmission("A job is delayed by a number of seconds of at least 0, or until a time, not both.")
    return _later(now, submission.delay)


def _later(now: datetime, seconds: float) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        raise BadSubmission(f"{seconds:g} seconds from now is no time that a calendar has.") from None


def _counted(moment: datetime) -> datetime:
    """The moment, if it is one in UTC as well: the first and the last hours of the calendar may not be."""
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise BadSubmission(f"{moment.isoformat()} is no time that a calendar has in UTC.") from None
    return moment


def _checked_config(context: QueueContext, handler: Handler, submission: Submission) -> dict[str, Any]:
    given = submission.config
    config = handler.checked_config(given if isinstance(given, BaseModel) or given is None else dict(given))
    try:
        text = orjson.dumps(config)
    except TypeError as error:
        raise BadConfig(f"The config of {handler.job_type} cannot be written as JSON: {error}.") from None
    # orjson writes NaN and infinities as null.
    if b"null" in text and not _finite(config):
        raise BadConfig(f"The config of {handler.job_type} has NaN or an infinite number, which JSON cannot hold.", fix="Use None instead.")
    size = len(text)
    limit = context.settings.config_limit
    if size > limit:
        raise ConfigTooLarge(f"The config of {handler.job_type} has {size:,} bytes; it may have {limit:,}.")
    return config


def _finite(value: Any) -> bool:
    """Whether no number of a config is NaN or infinite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list | tuple) else True


def digest_of(job: Job) -> str:
    """What tells a repeated submission from another one: the type and the config."""
    text = orjson.dumps([job.job_type, job.job_config], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:32]


def blocked(job: Job, waiting_for: Iterable[UUID]) -> Job:
    """The job, waiting for others; as it is when there are none."""
    names = {str(other) for other in waiting_for}
    if not names:
        return job
    return job.model_copy(update={"waiting_for": names, "readiness": Readiness.BLOCKED})


def below(job: Job, parent: Job) -> Job:
    """The job as a child of another."""
    root = parent.root_job_id or parent.job_id
    path = f"{parent.tree_path or parent.job_id}/{job.job_id}"
    if len(path) > 1000:
        raise BadSubmission("The job would be more than 27 levels below its root.", fix="Let deep recursion begin new trees.")
    return job.model_copy(
        update={"parent_job_id": parent.job_id, "root_job_id": root, "tree_path": path, "subject": job.subject or parent.subject}
    )


def check_cycles(jobs: Sequence[Job]) -> None:
    """Refuse jobs that wait for each other, or for themselves."""
    if not any(job.dependencies for job in jobs):
        return
    ids = {job.job_id for job in jobs}
    try:
        TopologicalSorter({job.job_id: ids.intersection(job.dependencies) for job in jobs}).prepare()
    except CycleError as error:
        # From a job to the one that it waits for, which is the other way round for graphlib.
        circle = reversed(error.args[1])
        raise DependencyCycle(f"These jobs wait for each other: {' -> '.join(map(str, circle))}.") from None


def check_keys(jobs: Sequence[Job]) -> None:
    """Refuse jobs that want the same key: only one of them could have it."""
    for name in ("idempotency_key", "unique_key"):
        keys = [key for job in jobs if (key := getattr(job, name)) is not None]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise BadSubmission(
                f"Two of the jobs have the {name.replace('_', ' ')} {twice!r}.", fix="Give each its own; nothing was submitted."
            )


def named(submission: Submission) -> Submission:
    """The submission with an id, so that others can refer to it."""
    return submission if submission.job_id is not None else replace(submission, job_id=uuid4())


def left_of(submissions: Sequence[Submission], jobs: Sequence[Job], there: Mapping[UUID, Submitted]) -> tuple[list[Submission], list[Job]]:
    """The submissions and jobs that are still to be written. They wait for and belong to what is there in place of what repeats it."""
    left = [(one, job) for one, job in zip(submissions, jobs, strict=True) if job.job_id not in there]
    if len(left) < len(jobs):
        names = {job_id: one.job.job_id for job_id, one in there.items()}
        left = [(renamed(one, names), _waiting(job, names)) for one, job in left]
    return [one for one, _ in left], [job for _, job in left]


def renamed(submission: Submission, names: Mapping[UUID, UUID]) -> Submission:
    """The submission with other names for the jobs that it refers to."""
    parent = submission.parent
    return replace(
        submission,
        depends_on=[names.get(other, other) for other in submission.depends_on],
        parent=None if parent is None else names.get(parent, parent),
    )


def _waiting(job: Job, names: Mapping[UUID, UUID]) -> Job:
    wanted = list(dict.fromkeys(names.get(other, other) for other in job.dependencies))
    return job.model_copy(update={"dependencies": wanted})
