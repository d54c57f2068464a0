"""`Submission`: a job to submit, its options, and the job that it becomes. Pure.

The options of a job have one set of names at every door. `Submission` has them for Python, `SubmitOptions` for `Task.submit`;
`RunAttributes` and `JobAttributes` add bounds and descriptions, and from these come the bodies of the HTTP API, the options of the commands
and the forms of the console. `tests/web/test_submission_attributes.py` compares them all.

`job_of` makes the job, with all checks that need no reads. The functions after it link jobs that are submitted together; `submit.py` writes
them.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from graphlib import CycleError, TopologicalSorter
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypedDict, TypeVar, get_type_hints
from uuid import UUID, uuid4

import orjson
from pydantic import AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, create_model

from gateleg.errors import problem_message
from gateleg.jobs.errors import BadConfig, BadSubmission, ConfigTooLarge, DependencyCycle, TooManyDependencies
from gateleg.jobs.rules import is_name, readiness_at
from gateleg.jobs.tables.job import MAX_DEPENDENCIES, Job, Readiness, owner_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.jobs.handlers import Handler
    from gateleg.jobs.queue_context import QueueContext
    from gateleg.store import WriteOperation

__all__ = ["JobAttributes", "RunAttributes", "Submitted"]

K = TypeVar("K")
S = TypeVar("S")
#: The names that earlier releases had for attributes of a submission, which are still accepted when one is created.
EARLIER_NAMES = {"timeout": "timeout_seconds", "depends_on": "dependencies", "parent": "parent_job_id"}


def _accepting_earlier_names(kind: type[K]) -> type[K]:
    """Let a dataclass be created with `EARLIER_NAMES` too."""
    create = kind.__init__

    @functools.wraps(create)
    def create_with_earlier_names(self: K, *args: Any, **options: Any) -> None:
        if not EARLIER_NAMES.keys().isdisjoint(options):
            for earlier in EARLIER_NAMES.keys() & options.keys():
                name = EARLIER_NAMES[earlier]
                if name in options:
                    raise BadSubmission(
                        f"{earlier}= and {name}= were both given.", fix=f"Give {name}=, of which {earlier}= is an earlier name."
                    )
                options[name] = options.pop(earlier)
        create(self, *args, **options)

    kind.__init__ = create_with_earlier_names  # type: ignore[assignment]
    return kind


@_accepting_earlier_names
@dataclass(frozen=True)
class Submission:
    """A job to submit: its type, config and options. The handler's defaults replace options that are None.

    Raises `BadConfig` or `BadSubmission` when created with values of a wrong type.
    """

    job_type: str
    #: the argument of the handler: its config model, or a JSON object
    config: BaseModel | Mapping[str, Any] | None = None
    queue: str | None = None
    #: 0 to 100, higher first
    priority: int | None = None
    #: a name for what the job is about, such as a conversation or a project
    subject: str | None = None
    #: the user who submits it; a child job inherits it from its parent
    created_by: str | None = None
    #: the user's tenant; a child job inherits it from its parent
    tenant: str | None = None
    #: the id of the job, by default random; choose it so that jobs submitted together can depend on each other
    job_id: UUID | None = None
    #: the earliest start time; give this or `delay`
    run_at: datetime | None = None
    #: seconds before it may start
    delay: float | None = None
    #: seconds after which it fails if it has not started
    start_within: float | None = None
    #: the latest start time; give this or `start_within`
    start_by: datetime | None = None
    #: the ids of jobs that must complete first
    dependencies: Sequence[UUID] = ()
    #: the id of the parent job
    parent_job_id: UUID | None = None
    #: its label in the job tree, to distinguish children of the same type
    stage: str | None = None
    #: the maximum number of retries
    max_retries: int | None = None
    #: the maximum seconds of an attempt
    timeout_seconds: int | None = None
    #: at most `concurrency_limit` jobs with this key run at once
    concurrency_key: str | None = None
    concurrency_limit: int = 1
    #: a second submission with this key returns the first one's job, for 7 days (`QueueSettings.remember`)
    idempotency_key: str | None = None
    #: a second submission with this key returns the first one's job while that job is pending
    unique_key: str | None = None
    #: up to 50 words to filter lists by
    tags: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise an error for values of a wrong type, here in the caller's code."""
        if not (self.config is None or type(self.config) is dict or isinstance(self.config, (BaseModel, Mapping))):
            raise BadConfig(
                f"The config of {self.job_type} is of type {type(self.config).__name__}; it must be a pydantic model or a dictionary."
            )
        # Options that were left out, which are nearly all, are not passed to a check.
        if not (self.delay is None and self.start_within is None and self.timeout_seconds is None):
            _check_seconds(self)
        if self.concurrency_limit != 1 and self.concurrency_key is None:
            raise BadSubmission(
                "concurrency_limit= was given without concurrency_key=.", fix="Give the key of the jobs that are limited together."
            )
        if self.tags != ():
            _check_list("tags", self.tags)
        if self.dependencies != ():
            _check_list("dependencies", self.dependencies)
            for other in self.dependencies:
                _check_id("dependencies", other)
        if self.job_id is not None:
            _check_id("job_id", self.job_id)
        if self.parent_job_id is not None:
            _check_id("parent_job_id", self.parent_job_id)
        if not (self.run_at is None and self.start_by is None):
            _check_times(self)

    @property
    def plain(self) -> bool:
        """Whether the job can be written without reading: it has no parent, dependencies, keys or chosen id."""
        return not (self.dependencies or self.parent_job_id or self.idempotency_key or self.unique_key or self.job_id)


class SubmitOptions(TypedDict, total=False):
    """The options of `Task.submit`: the fields of `Submission` except job type and config, which a test compares."""

    queue: str | None
    priority: int | None
    subject: str | None
    created_by: str | None
    tenant: str | None
    job_id: UUID | None
    run_at: datetime | None
    delay: float | None
    start_within: float | None
    start_by: datetime | None
    dependencies: Sequence[UUID]
    parent_job_id: UUID | None
    stage: str | None
    max_retries: int | None
    timeout_seconds: int | None
    concurrency_key: str | None
    concurrency_limit: int
    idempotency_key: str | None
    unique_key: str | None
    tags: Sequence[str]


Key = Annotated[str, Field(min_length=1, max_length=500)]
_LONGEST_WAIT = 366 * 86_400


class RunAttributes(BaseModel):
    """The attributes that every run of a schedule can have too. Empty ones have the defaults of the job type.

    Built at first use. The model of a route derives from it with `defer_build=False`: FastAPI needs a model that is whole.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, defer_build=True)

    queue: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(default=None, description="Instead of the job type's own.")
    priority: int | None = Field(default=None, ge=0, le=100, description="0 to 100, higher first.")
    subject: Key | None = Field(default=None, description="What the job is about: a conversation, a project.")
    max_retries: int | None = Field(default=None, ge=0, le=1000, description="The maximum number of retries after failures.")
    timeout_seconds: int | None = Field(
        default=None,
        title="Timeout",
        ge=1,
        le=31 * 86_400,
        validation_alias=AliasChoices("timeout_seconds", "timeout"),
        description="The maximum seconds of an attempt.",
    )
    start_within: float | None = Field(default=None, gt=0, le=_LONGEST_WAIT, description="Seconds after which it is no longer started.")
    concurrency_key: Key | None = Field(default=None, description="At most `concurrency_limit` jobs with this key run at once.")
    concurrency_limit: int = Field(default=1, ge=1, le=1000)
    tags: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default=[], max_length=50, description="Words to filter lists by, one per line."
    )

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """The attributes of typed or parsed values. Raises `BadSubmission` for invalid ones."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            problems = "; ".join(f"{problem['loc'][0]}: {problem_message(problem)}" for problem in error.errors())
            raise BadSubmission(f"The submission is invalid: {problems}.") from None

    def submission(self, job_type: str, config: dict[str, Any] | None = None, *, created_by: str | None = None) -> Submission:
        """A submission with these attributes."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name in ATTRIBUTES}
        return Submission(job_type, config, created_by=created_by, **own)


class JobAttributes(RunAttributes):
    """All attributes of a submission besides its job type, its config and its submitter."""

    job_id: UUID | None = Field(default=None, description="Chosen by the caller, so that jobs submitted together can depend on each other.")
    run_at: AwareDatetime | None = Field(default=None, description="Do not start it before this time.")
    delay: float | None = Field(default=None, ge=0, le=_LONGEST_WAIT, description="Seconds to wait before it may start.")
    start_by: AwareDatetime | None = Field(default=None, description="Do not start it after this time.")
    dependencies: list[UUID] = Field(
        default=[],
        max_length=MAX_DEPENDENCIES,
        validation_alias=AliasChoices("dependencies", "depends_on"),
        description="The ids of jobs that must be completed first, one per line.",
    )
    parent_job_id: UUID | None = Field(
        default=None, validation_alias=AliasChoices("parent_job_id", "parent"), description="The parent in the tree of jobs."
    )
    stage: Key | None = Field(
        default=None,
        validation_alias=AliasChoices("stage", "job_stage"),
        description="Its label in the tree, to distinguish children of the same type.",
    )
    idempotency_key: Key | None = Field(default=None, description="A second submission with this key returns the job of the first one.")
    unique_key: Key | None = Field(default=None, description="The same, but only while that job is waiting.")


#: The names of all attributes.
ATTRIBUTES = frozenset(JobAttributes.model_fields)
#: Those of the runs of a schedule.
RUN_ATTRIBUTES = frozenset(RunAttributes.model_fields)


@dataclass(frozen=True)
class Submitted:
    """The result of `submit`."""

    job: Job
    #: False if an earlier job with the same key or id was found instead
    created: bool = True


@dataclass(frozen=True)
class PreparedSubmission:
    """The result of `enlist`: the job, and the writes to put into the caller's transaction."""

    job: Job
    #: empty if an earlier job was found
    writes: Sequence[WriteOperation[Any]]
    #: False if an earlier job with the same key or id was found instead
    created: bool = True


class Submitter(Generic[S]):
    """A target that tasks can be submitted to: a queue or a `JobContext`. `S` is `Submitted`, or a coroutine that returns it."""

    def submit_task(self, submission: Submission) -> S:
        """Submit one job."""
        raise NotImplementedError


#: The maximum size of an idempotency, unique or concurrency key.
_MAX_KEY_BYTES = 500
_MICROSECOND = timedelta(microseconds=1)


def job_of(context: QueueContext, submission: Submission, now: datetime, place: int = 0, *, handler: Handler | None = None) -> Job:
    """The job of a submission, after all checks that need no reads.

    `place` is its position among jobs that are submitted together. Each gets a creation time one microsecond after the previous one, so
    that they start in this order. `handler` replaces the registered one.
    """
    check_submission(submission)
    handler = handler or context.jobs.of(submission.job_type)
    config = _checked_config(context, handler, submission)
    options = dict(handler.defaults)
    for name in options:
        if (chosen := getattr(submission, name)) not in (None, ""):
            options[name] = chosen
    queue = options["queue"]
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
        limit = "start_by" if submission.start_within is None else f"start_within={submission.start_within}"
        raise BadSubmission(
            f"{limit} ends before the job may start, which is at {run_at:%Y-%m-%d %H:%M:%S} UTC.",
            fix="Give a longer time: start_within counts from the submission.",
        )
    values: dict[str, Any] = {
        "job_id": submission.job_id or uuid4(),
        "created_at": now + place * _MICROSECOND,
        "updated_at": now,
        "job_type": submission.job_type,
        "internal": handler.internal or None,
        "job_config": config,
        **options,
        "subject": submission.subject,
        "created_by": submission.created_by,
        "tenant": submission.tenant,
        "owner": owner_of(submission.tenant, submission.created_by),
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
    submitted = submission.config
    config = handler.checked_config(dict(submitted) if isinstance(submitted, Mapping) else submitted)
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


def check_submission(submission: object) -> None:
    """Raise `BadSubmission` for anything but a `Submission`."""
    if not isinstance(submission, Submission):
        kind = type(submission).__name__
        if kind == "Task":
            fix = f"Write {getattr(submission, '__name__', 'task')}.submit(queue, config), or give its .submission(config)."
        else:
            name = repr(submission) if isinstance(submission, str) else '"..."'
            fix = f"Write submit(Submission({name}, config))."
        raise BadSubmission(f"submit() takes a Submission, not a {kind}.", fix=fix)


def _check_times(submission: Submission) -> None:
    for name in ("run_at", "start_by"):
        moment: Any = getattr(submission, name)
        if moment is not None and (not isinstance(moment, datetime) or moment.utcoffset() is None):
            raise BadSubmission(f"{name}={moment!r} has no time zone.", fix="Give an aware datetime, such as datetime.now(UTC).")
    if submission.start_by is not None and submission.start_within is not None:
        raise BadSubmission("start_within= and start_by= were both given.", fix="Give one of them.")


def _check_seconds(submission: Submission) -> None:
    for name in ("delay", "start_within", "timeout_seconds"):
        seconds: Any = getattr(submission, name)
        if not isinstance(seconds, (int, float, NoneType)):
            raise BadSubmission(f"{name}={seconds!r} is not a number.", fix=f"Give seconds, such as {name}=60.")
    if submission.start_within is not None and not submission.start_within > 0:
        raise BadSubmission(f"start_within={submission.start_within} is over before the job can start.", fix="Give more than 0 seconds.")
    if submission.timeout_seconds is not None and submission.timeout_seconds < 1:
        raise BadSubmission(
            f"timeout_seconds={submission.timeout_seconds} is too short.",
            fix="Give at least 1 second, or leave it out for that of the handler.",
        )


def _check_list(option: str, value: object) -> None:
    if isinstance(value, (str, UUID, Job, Submitted)):
        raise BadSubmission(f"{option} is a single {type(value).__name__}; it must be a list.", fix=f"Write {option}=[...].")


def _check_id(option: str, value: object) -> None:
    if isinstance(value, UUID):
        return
    if isinstance(value, Submitted | PreparedSubmission | Job):
        path = "job_id" if isinstance(value, Job) else "job.job_id"
        raise BadSubmission(f"{option} is a {type(value).__name__}; it must be the id of a job.", fix=f"Pass its .{path}.")
    raise BadSubmission(f"{option}={value!r} is not a UUID.", fix="Pass the id of a job, such as submitted.job.job_id.")


def as_json(submission: Submission) -> dict[str, Any]:
    """A submission for another process: values that `orjson` writes, without options that were left out."""
    config = submission.config.model_dump(mode="json") if isinstance(submission.config, BaseModel) else submission.config
    values = {field.name: getattr(submission, field.name) for field in fields(Submission)} | {"config": config}
    return {name: value for name, value in values.items() if value is not None}


def from_json(values: Mapping[str, Any]) -> Submission:
    """The submission in parsed JSON values of `as_json`."""
    options = _options_in_json().model_validate({name: value for name, value in values.items() if name != "config"})
    return Submission(**options.model_dump(exclude_unset=True), config=values.get("config"))


@functools.cache
def _options_in_json() -> type[BaseModel]:
    """A model with the fields of a submission besides its config, and their types."""
    hints: dict[str, Any] = {name: (hint, None) for name, hint in get_type_hints(Submission).items() if name != "config"}
    return create_model("SubmissionOptions", **hints)


def blocked_by(job: Job, waiting_for: Iterable[UUID]) -> Job:
    """The job, blocked until these jobs complete; unchanged if there are none."""
    ids = {str(other) for other in waiting_for}
    if not ids:
        return job
    return job.model_copy(update={"waiting_for": ids, "readiness": Readiness.BLOCKED})


def as_child(job: Job, parent: Job) -> Job:
    """The job as a child of `parent`."""
    root = parent.root_job_id or parent.job_id
    path = f"{parent.tree_path or parent.job_id}/{job.job_id}"
    if len(path) > 1000:
        raise BadSubmission(
            "The job would be more than 27 levels below its root.", fix="Start a new tree (without parent_job_id=) in deep recursions."
        )
    values = {"parent_job_id": parent.job_id, "root_job_id": root, "tree_path": path, "subject": job.subject or parent.subject}
    if job.created_by is None:
        values |= {"created_by": parent.created_by, "tenant": parent.tenant, "owner": parent.owner}
    return job.model_copy(update=values)


def check_cycles(jobs: Sequence[Job]) -> None:
    """Raise `DependencyCycle` for jobs that depend on each other or themselves."""
    if not any(job.dependencies for job in jobs):
        return
    ids = {job.job_id for job in jobs}
    try:
        TopologicalSorter({job.job_id: ids.intersection(job.dependencies) for job in jobs}).prepare()
    except CycleError as error:
        # graphlib lists the cycle in the opposite direction.
        cycle = reversed(error.args[1])
        raise DependencyCycle(f"These jobs depend on each other: {' -> '.join(map(str, cycle))}.") from None


def check_keys(jobs: Sequence[Job]) -> None:
    """Raise `BadSubmission` for jobs with the same key: only one of them could reserve it."""
    for name in ("idempotency_key", "unique_key"):
        keys = [key for job in jobs if (key := getattr(job, name)) is not None]
        if len(set(keys)) < len(keys):
            duplicate = next(key for key in keys if keys.count(key) > 1)
            raise BadSubmission(
                f"Two of the jobs have the {name.replace('_', ' ')} {duplicate!r}.", fix="Give each job its own key; nothing was submitted."
            )


def digest_of(job: Job) -> str:
    """A digest of type and config, which distinguishes a repeated submission from a different one."""
    text = orjson.dumps([job.job_type, job.job_config], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:32]


def not_yet_submitted(
    submissions: Sequence[Submission], jobs: Sequence[Job], there: Mapping[UUID, Submitted]
) -> tuple[list[Submission], list[Job]]:
    """The submissions and jobs that must still be written. References to repeated jobs become references to the existing ones."""
    left = [(submission, job) for submission, job in zip(submissions, jobs, strict=True) if job.job_id not in there]
    if len(left) < len(jobs):
        names = {job_id: entry.job.job_id for job_id, entry in there.items()}
        left = [(with_ids_replaced(submission, names), _with_dependencies_replaced(job, names)) for submission, job in left]
    return [submission for submission, _ in left], [job for _, job in left]


def with_ids_replaced(submission: Submission, names: Mapping[UUID, UUID]) -> Submission:
    """The submission with the ids of its dependencies and parent replaced."""
    parent = submission.parent_job_id
    return replace(
        submission,
        dependencies=[names.get(other, other) for other in submission.dependencies],
        parent_job_id=None if parent is None else names.get(parent, parent),
    )


def _with_dependencies_replaced(job: Job, names: Mapping[UUID, UUID]) -> Job:
    dependencies = list(dict.fromkeys(names.get(other, other) for other in job.dependencies))
    return job.model_copy(update={"dependencies": dependencies})
