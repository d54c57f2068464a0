"""What may be done to jobs: cancel, retry, move, archive; one, a tree, or all that a filter selects."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from gateleg.host.actions.action import Action, ActionCall, BulkAction, BulkReply, BulkResult, RefusedTargetReply, perform_all
from gateleg.host.errors import BadRequest
from gateleg.host.job_views import JobDetail, JobView
from gateleg.host.principal import Role
from gateleg.jobs import Job, JobStatus, WrongState
from gateleg.jobs.retention import Archiver
from gateleg.jobs.submission import JobAttributes, Submitted

__all__ = [
    "JOB_ACTIONS",
    "MAX_JOBS",
    "CancelJob",
    "ChangedJobs",
    "JobChoice",
    "JobPriority",
    "JobTarget",
    "NewJob",
    "SubmissionResult",
    "actions_of_members",
    "archive_job",
    "archive_jobs",
    "cancel_job",
    "cancel_jobs",
    "cancel_tree",
    "prioritise_jobs",
    "retry_job",
    "retry_jobs",
    "set_priority",
    "submit_job",
]

#: The most jobs that one bulk acts on.
MAX_JOBS = 1000
#: How many jobs a page of a filter reads.
_PAGE = 200
#: How many jobs a filter looks at, at most, to find those that match it.
_MOST_READ = 20_000
_FILTERS = ("status", "job_type", "queue", "subject", "worker", "tag", "error_kind", "error")
Text = Annotated[str, Field(min_length=1, max_length=500)]


class JobTarget(BaseModel):
    """A job."""

    model_config = ConfigDict(extra="forbid")

    job_id: UUID


class CancelJob(JobTarget):
    """A job to cancel."""

    reason: Text | None = Field(default=None, description="Why, shown with the job.")
    force: bool = Field(default=False, description="Take a running job from its worker instead of asking it to stop.")


class JobPriority(JobTarget):
    """A waiting job, and its new priority."""

    priority: int = Field(ge=0, le=100, description="0 to 100, higher first.")


class JobChoice(BaseModel):
    """Jobs by their ids, or all that match every given filter."""

    model_config = ConfigDict(extra="forbid")

    job_ids: list[UUID] | None = Field(default=None, min_length=1, max_length=MAX_JOBS, description="These jobs; no filters then.")
    status: JobStatus | None = None
    job_type: Text | None = None
    queue: Text | None = None
    subject: Text | None = None
    worker: Text | None = None
    tag: Text | None = None
    error_kind: Text | None = Field(default=None, description="The class of the last error, such as `builtins.ValueError` or `ValueError`.")
    error: Text | None = Field(default=None, description="A part of the message of the last error.")
    all: bool = Field(default=False, description="All of them, without a filter.")
    limit: int = Field(default=MAX_JOBS, ge=1, le=MAX_JOBS, description="The maximum number of jobs.")

    @property
    def filters(self) -> dict[str, Any]:
        """The filters that are given."""
        return {name: value for name in _FILTERS if (value := getattr(self, name)) is not None}

    @model_validator(mode="after")
    def _either_ids_or_filters(self) -> Self:
        if self.job_ids is not None and self.filters:
            raise ValueError("send either `job_ids` or filters, not both")
        if self.all and (self.job_ids is not None or self.filters):
            raise ValueError("`all` goes without ids and without filters")
        return self


class JobsToCancel(JobChoice):
    """Jobs to cancel."""

    reason: Text | None = Field(default=None, description="Why, shown with the jobs.")
    force: bool = Field(default=False, description="Take running jobs from their workers instead of asking them to stop.")

    @model_validator(mode="after")
    def _some_choice(self) -> Self:
        if self.job_ids is None and not self.filters and not self.all:
            raise ValueError("say which jobs: send `job_ids`, filters, or `all`")
        return self


class JobsToMove(JobsToCancel):
    """Waiting jobs, and their new priority."""

    priority: int = Field(ge=0, le=100, description="0 to 100, higher first.")


class ChangedJobs(BulkReply):
    """The jobs that were changed, and those for which it was refused."""

    jobs: list[JobView]

    @classmethod
    def of(cls, result: BulkResult[Any]) -> "ChangedJobs":
        """The result of a bulk."""
        return cls(
            jobs=[JobView.of(job) for job in result.done],
            refused=[RefusedTargetReply.of(refused) for refused in result.refused],
        )


async def chosen(call: ActionCall, choice: JobChoice, status: Sequence[JobStatus] = ()) -> list[Job]:
    """The jobs of a choice, oldest first if they were selected by filters; only those in one of the states, if any are given.

    Raises `JobMissing` if one of the ids does not exist.
    """
    queue = call.host.queue
    if choice.job_ids is not None:
        return [await queue.get(job_id) for job_id in dict.fromkeys(choice.job_ids)]
    filters = choice.filters
    kind, message = filters.pop("error_kind", None), filters.pop("error", None)
    states: list[JobStatus | None] = [filters.pop("status")] if "status" in filters else list(status) or [None]
    jobs: list[Job] = []
    read = 0
    for state in states:
        cursor: str | None = None
        while True:
            page = await queue.jobs_page(status=state, **filters, internal=True, limit=_PAGE, cursor=cursor)
            read += len(page)
            jobs += [job for job in page if _failed_with(job, kind, message)]
            cursor = page.next
            if cursor is None:
                break
            if read > _MOST_READ:
                raise BadRequest(f"More than {_MOST_READ:,} jobs would have to be read.", fix="Send more filters.")
    return sorted(jobs, key=lambda job: (job.created_at, job.job_id))[: choice.limit]


def _failed_with(job: Job, kind: str | None, message: str | None) -> bool:
    """Whether the last error of a job is of a class, and has a text in its message."""
    if kind is None and message is None:
        return True
    last = next((attempt.error for attempt in reversed(job.attempts) if attempt.error is not None), None)
    if last is None:
        return kind == "unknown" and message is None
    fits = kind is None or kind in (last.kind, last.kind.rpartition(".")[2])
    return fits and (message is None or message.casefold() in last.message.casefold())


def _job_id(given: JobTarget, result: object = None) -> str:
    return str(given.job_id)


async def _cancel(call: ActionCall, given: CancelJob) -> Job:
    return await call.host.queue.cancel(given.job_id, reason=given.reason, force=given.force)


cancel_job = Action(
    name="job.cancel",
    title="Cancel",
    help="Cancel a job. A waiting job is cancelled at once, a running one is asked to stop; a finished one stays as it is.",
    role=Role.OPERATOR,
    input=CancelJob,
    run=_cancel,
    http="POST /api/jobs/{job_id}/cancel",
    command="jobs cancel",
    target=_job_id,
    details=lambda given, job: {"reason": given.reason, "force": given.force or None},
    reply=JobDetail.of,
    reply_type=JobDetail,
    done=lambda job: _state_in_words(job),
    dangerous=True,
)


def _state_in_words(job: Job) -> str:
    asked = job.cancel_requested is not None and not job.finished
    return f"Job {job.job_id} is asked to stop" if asked else f"Job {job.job_id} is {job.status}"


def _cancelling_trees(cancel: Action[CancelJob, Job]) -> Callable[[ActionCall, CancelJob], Awaitable[BulkResult[Job]]]:
    async def run(call: ActionCall, given: CancelJob) -> BulkResult[Job]:
        """Parents first: jobs that are cancelled, or asked to stop, get no more children, so none is missed."""
        result: BulkResult[Job] = BulkResult()
        seen: set[UUID] = set()
        while fresh := [job_id for job_id in await call.host.queue.unfinished_tree(given.job_id) if job_id not in seen]:
            seen |= set(fresh)
            targets = [given.model_copy(update={"job_id": job_id}) for job_id in fresh]
            part = await perform_all(cancel, call, targets, verb="cancelled", name=_job_id)
            result.done.extend(part.done)
            result.refused.extend(part.refused)
        return result

    return run


cancel_tree = Action(
    name="job.cancel-tree",
    title="Cancel tree",
    help="Cancel a job and all jobs below it. Finished ones stay as they are.",
    role=Role.OPERATOR,
    input=CancelJob,
    run=_cancelling_trees(cancel_job),
    http="POST /api/jobs/{job_id}/tree/cancel",
    command="jobs cancel",
    flag="tree",
    target=_job_id,
    each="job.cancel",
    reply=ChangedJobs.of,
    reply_type=ChangedJobs,
    done=lambda result: result.words("cancelled"),
    asks="All jobs of the tree that have not ended are cancelled.",
    dangerous=True,
)


async def _retry(call: ActionCall, given: JobTarget) -> Job:
    return await call.host.queue.retry(given.job_id)


retry_job = Action(
    name="job.retry",
    title="Retry",
    help="Retry a failed or cancelled job, also one in the archive.",
    role=Role.OPERATOR,
    input=JobTarget,
    run=_retry,
    http="POST /api/jobs/{job_id}/retry",
    command="jobs retry",
    target=_job_id,
    reply=JobDetail.of,
    reply_type=JobDetail,
    done=lambda job: f"Job {job.job_id} waits for a worker again",
)


async def _set_priority(call: ActionCall, given: JobPriority) -> Job:
    await call.host.queue.get(given.job_id)
    return await call.host.queue.set_priority(given.job_id, given.priority)


set_priority = Action(
    name="job.priority",
    title="Priority",
    help="Move a waiting job forwards or backwards.",
    role=Role.OPERATOR,
    input=JobPriority,
    run=_set_priority,
    http="PUT /api/jobs/{job_id}/priority",
    command="jobs priority",
    target=_job_id,
    details=lambda given, job: {"priority": given.priority},
    reply=JobDetail.of,
    reply_type=JobDetail,
    done=lambda job: f"Job {job.job_id} has priority {job.priority}",
)


async def _archive(call: ActionCall, given: JobTarget) -> Job:
    job = await call.host.queue.get(given.job_id)
    if job.status != JobStatus.FAILED:
        raise WrongState(f"Job {job.job_id} is {job.status}; only failed jobs are archived early.")
    if not await Archiver(call.host.queue, call.host.objects).archive(job):
        raise WrongState(f"Job {job.job_id} has changed meanwhile.")
    return job


archive_job = Action(
    name="job.archive",
    title="Archive",
    help="Move a failed job that is not to be retried to the archive, where it can still be read.",
    role=Role.OPERATOR,
    input=JobTarget,
    run=_archive,
    http="POST /api/jobs/{job_id}/archive",
    command="jobs archive-failed",
    target=_job_id,
    reply=JobView.of,
    reply_type=JobView,
    done=lambda job: f"Job {job.job_id} is in the archive",
)


class NewJob(JobAttributes, defer_build=False):
    """A job to submit. Its type provides the defaults."""

    job_type: Annotated[Text, Field(examples=["demo.decades"])]
    config: dict[str, Any] = Field(default={}, validation_alias=AliasChoices("config", "job_config"), examples=[{}])


class SubmissionResult(BaseModel):
    """The result of a submission."""

    job: JobDetail
    created: bool = Field(description="False if the key was taken; `job` is then the existing job.")

    @classmethod
    def of(cls, answer: Submitted) -> "SubmissionResult":
        """The job that was submitted, or found."""
        return cls(job=JobDetail.of(answer.job), created=answer.created)


class NewJobs(BaseModel):
    """Jobs to submit together: all of them, or none."""

    model_config = ConfigDict(extra="forbid")

    jobs: list[NewJob] = Field(min_length=1, max_length=MAX_JOBS)


class SubmissionResults(BaseModel):
    """The results of submissions, in order."""

    jobs: list[SubmissionResult]


async def _submit(call: ActionCall, given: NewJob) -> Submitted:
    return await call.host.queue.submit(given.submission(given.job_type, given.config, created_by=call.principal.name))


submit_job = Action(
    name="job.submit",
    title="Submit",
    help="Submit a job. If its key is taken, the job that has it is returned.",
    role=Role.OPERATOR,
    input=NewJob,
    run=_submit,
    http="POST /api/jobs",
    command="jobs submit",
    hand_made=True,
    target=lambda given, answer: str(answer.job.job_id),
    details=lambda given, answer: {"job_type": answer.job.job_type, "queue": answer.job.queue},
    changed=lambda answer: answer.created,
    reply=SubmissionResult.of,
    reply_type=SubmissionResult,
    made=lambda answer: f"/api/jobs/{answer.job.job_id}",
    created=lambda answer: answer.created,
    done=lambda answer: f"Submitted job {answer.job.job_id}" if answer.created else f"The key is taken by job {answer.job.job_id}",
)


async def _submit_all(call: ActionCall, given: NewJobs) -> list[Submitted]:
    submissions = [job.submission(job.job_type, job.config, created_by=call.principal.name) for job in given.jobs]
    return await call.host.queue.submit_many(submissions)


submit_jobs = Action(
    name="job.submit-many",
    title="Submit",
    help="Submit several jobs, which may depend on each other. If one of them is refused, none is submitted.",
    role=Role.OPERATOR,
    input=NewJobs,
    run=_submit_all,
    http="POST /api/jobs/bulk",
    command="jobs submit-many",
    hand_made=True,
    target=lambda given, answers: answers[0].job.job_type,
    details=lambda given, answers: {"count": len(answers), "created": sum(answer.created for answer in answers)},
    reply=lambda answers: SubmissionResults(jobs=[SubmissionResult.of(answer) for answer in answers]),
    reply_type=SubmissionResults,
    made=lambda answers: "",
    done=lambda answers: f"{len(answers):,} submitted",
)


def _selecting(
    status: Sequence[JobStatus], made: Callable[[Any, Job], BaseModel]
) -> Callable[[ActionCall, Any], Awaitable[list[BaseModel]]]:
    """A selection of jobs in one of the states, each as the input of its action."""

    async def select(call: ActionCall, given: JobChoice) -> list[BaseModel]:
        return [made(given, job) for job in await chosen(call, given, status)]

    return select


cancel_jobs = BulkAction(
    of=cancel_job,
    title="Cancel",
    help="Cancel jobs: those with these ids, or all that match the filters. If one of the ids does not exist, nothing is cancelled.",
    input=JobsToCancel,
    select=_selecting(
        (JobStatus.PENDING, JobStatus.PROCESSING), lambda given, job: CancelJob(job_id=job.job_id, reason=given.reason, force=given.force)
    ),
    http="POST /api/jobs/cancel",
    command="jobs cancel",
    verb="cancelled",
    name_of=_job_id,
    choices=("all", *_FILTERS),
    reply=ChangedJobs.of,
    reply_type=ChangedJobs,
    asks="All these jobs are cancelled; running ones are asked to stop.",
).action

retry_jobs = BulkAction(
    of=retry_job,
    title="Retry",
    help="Retry jobs, oldest first: those with these ids, or all failed ones that match the filters.",
    input=JobChoice,
    select=_selecting((JobStatus.FAILED,), lambda given, job: JobTarget(job_id=job.job_id)),
    http="POST /api/jobs/retry",
    command="jobs retry",
    verb="retried",
    name_of=_job_id,
    choices=("all", *_FILTERS),
    reply=ChangedJobs.of,
    reply_type=ChangedJobs,
    asks="Each of these jobs is retried from the start.",
).action

prioritise_jobs = BulkAction(
    of=set_priority,
    title="Set priority",
    help="Move waiting jobs forwards or backwards: those with these ids, or all that match the filters.",
    input=JobsToMove,
    select=_selecting((JobStatus.PENDING,), lambda given, job: JobPriority(job_id=job.job_id, priority=given.priority)),
    http="POST /api/jobs/priority",
    command="jobs priority",
    verb="moved",
    name_of=_job_id,
    choices=("all", *_FILTERS),
    reply=ChangedJobs.of,
    reply_type=ChangedJobs,
).action

archive_jobs = BulkAction(
    of=archive_job,
    title="Archive",
    help="Move failed jobs to the archive: those with these ids, or all failed ones that match the filters.",
    input=JobsToCancel,
    select=_selecting((JobStatus.FAILED,), lambda given, job: JobTarget(job_id=job.job_id)),
    http="POST /api/jobs/archive",
    command="jobs archive-failed",
    verb="archived",
    name_of=_job_id,
    choices=("all", *_FILTERS),
    reply=ChangedJobs.of,
    reply_type=ChangedJobs,
    asks="They move to the archive, where they can still be read.",
).action


def actions_of_members(application: str, may_change: Callable[[ActionCall, JobTarget], Awaitable[None]]) -> tuple[Action[Any, Any], ...]:
    """What members may do to the jobs of an application, by its own rule."""

    async def permission(call: ActionCall, given: JobTarget) -> None:
        await may_change(call, given)
        if isinstance(given, CancelJob) and given.force and not call.principal.may(Role.OPERATOR):
            raise BadRequest("Only operators may cancel with `force`.", fix="Omit `force`.")

    async def checked_for_the_tree(call: ActionCall, given: JobTarget) -> None:
        """Whoever may change a job may cancel what is below it."""

    def of_members(action: Action[Any, Any], **changes: Any) -> Action[Any, Any]:
        name = f"{application}.{action.name}"
        http = action.http.replace("/api/jobs/", f"/api/{application}/jobs/")
        values: dict[str, Any] = {"name": name, "http": http, "role": Role.MEMBER, "permission": permission, "command": "", "tool": False}
        return replace(action, **values | changes)

    below = of_members(cancel_job, permission=checked_for_the_tree)
    return of_members(cancel_job), of_members(cancel_tree, run=_cancelling_trees(below), each=below.name), of_members(retry_job)


JOB_ACTIONS = (
    submit_job,
    submit_jobs,
    cancel_job,
    cancel_tree,
    retry_job,
    set_priority,
    archive_job,
    cancel_jobs,
    retry_jobs,
    prioritise_jobs,
    archive_jobs,
)
