"""What can be submitted, and how jobs that are submitted together refer to each other. Pure: nothing is read or written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import UUID, uuid4

import orjson
from pydantic import BaseModel

from gateleg.jobs.errors import BadConfig, BadSubmission, DependencyCycle
from gateleg.jobs.tables.job import Job, Readiness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.store import WriteOperation

S = TypeVar("S")


@dataclass(frozen=True)
class Submission:
    """A job to be: its type and config, and how it is to be run. What is None comes from the handler."""

    job_type: str
    config: BaseModel | Mapping[str, Any] | None = None
    queue: str | None = None
    priority: int | None = None
    #: what the job is about: a conversation, a project, a collection
    subject: str | None = None
    #: who submits it; a child without has those of its parent
    created_by: str | None = None
    #: their business partition
    tenant: str | None = None
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


class Submitter(Generic[S]):
    """Where a task can be submitted: a queue, or the context of a job. `S` is what submitting gives: the job, or a coroutine for it."""

    def submit_task(self, submission: Submission) -> S:
        """Submit one job."""
        raise NotImplementedError


@dataclass(frozen=True)
class Enlisted:
    """A submission for a transaction of the caller. `created` is False when its key was taken: `job` has it, and there are no writes."""

    job: Job
    writes: Sequence[WriteOperation[Any]]
    created: bool = True


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
    values = {"parent_job_id": parent.job_id, "root_job_id": root, "tree_path": path, "subject": job.subject or parent.subject}
    if job.created_by is None:
        values |= {"created_by": parent.created_by, "tenant": parent.tenant, "owner": parent.owner}
    return job.model_copy(update=values)


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
