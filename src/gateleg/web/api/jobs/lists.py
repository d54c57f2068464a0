"""`/api/jobs`: list and submit jobs, and cancel or retry many at once."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from gateleg.host.errors import BadRequest
from gateleg.jobs import JobStatus
from gateleg.jobs.submission import JobAttributes
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.jobs.views import JobDetail, JobListing, JobView, TypeView, UnreadableJobView, WorkerView
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

__all__ = ["SubmissionResult"]

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])
#: The maximum number of jobs that one request may submit or act on.
MAX_JOBS_PER_REQUEST = 1000
Text = Annotated[str, Field(min_length=1, max_length=500)]
Filter = Annotated[str | None, Query(min_length=1, max_length=500)]


def _job_type(
    job_type: Filter = None, type: Annotated[str | None, Query(min_length=1, max_length=500, description="The same as `job_type`.")] = None
) -> str | None:
    if job_type is not None and type is not None and job_type != type:
        raise BadRequest("`job_type` and `type` are synonyms, but have different values.", fix="Send `job_type` only.")
    return job_type or type


TypeFilter = Annotated[str | None, Depends(_job_type)]


class NewJob(JobAttributes, defer_build=False):
    """A job to submit. Its type provides the defaults."""

    job_type: Annotated[Text, Field(examples=["demo.decades"])]
    config: dict[str, Any] = Field(default={}, validation_alias=AliasChoices("config", "job_config"), examples=[{}])


class SubmissionResult(BaseModel):
    """The result of a submission."""

    job: JobDetail
    created: bool = Field(description="False if the key was taken; `job` is then the existing job.")


class NewJobs(BaseModel):
    """Jobs to submit together: all of them, or none."""

    model_config = ConfigDict(extra="forbid")

    jobs: list[NewJob] = Field(min_length=1, max_length=MAX_JOBS_PER_REQUEST)


class SubmissionResults(BaseModel):
    """The results of submissions, in order."""

    jobs: list[SubmissionResult]


@router.get("")
async def list_jobs(
    call: Viewing,
    job_type: TypeFilter,
    status: JobStatus | None = None,
    queue: Filter = None,
    subject: Filter = None,
    worker: Filter = None,
    tag: Filter = None,
    internal: bool = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> JobListing:
    """Jobs that match all filters, newest first. Internal jobs are included if `internal` is true or `job_type` names their type."""
    page = await call.host.queue.jobs_page(
        status=status,
        job_type=job_type,
        queue=queue,
        subject=subject,
        worker=worker,
        tag=tag,
        internal=internal,
        limit=limit,
        cursor=cursor,
    )
    return JobListing.of(page)


@router.post("", status_code=201)
async def submit(call: Operating, new: NewJob, response: Response) -> SubmissionResult:
    """Submit a job. Returns 200 instead of 201 if its key was taken."""
    answer = await call.host.queue.submit(new.submission(new.job_type, new.config, created_by=call.principal.name))
    if answer.created:
        await call.note("job.submit", str(answer.job.job_id), job_type=answer.job.job_type, queue=answer.job.queue)
    else:
        response.status_code = 200
    response.headers["Location"] = f"/api/jobs/{answer.job.job_id}"
    return SubmissionResult(job=JobDetail.of(answer.job), created=answer.created)


@router.post("/bulk", status_code=201)
async def submit_many(call: Operating, new: NewJobs) -> SubmissionResults:
    """Submit several jobs, which may depend on each other. If one of them is refused, none is submitted."""
    answers = await call.host.queue.submit_many(
        [job.submission(job.job_type, job.config, created_by=call.principal.name) for job in new.jobs]
    )
    await call.note("job.submit-many", answers[0].job.job_type, count=len(answers), created=sum(one.created for one in answers))
    return SubmissionResults(jobs=[SubmissionResult(job=JobDetail.of(one.job), created=one.created) for one in answers])


@router.get("/types")
async def list_types(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[TypeView]:
    """The job types that can be submitted, by name, with the schema of their config."""
    handlers, query = call.host.queue.context.jobs, "/api/jobs/types"
    page = page_by_key(handlers, lambda handler: handler.job_type, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    return Listing(items=[TypeView.of(handler) for handler in page], next=page.next)


@router.get("/workers")
async def list_workers(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[WorkerView]:
    """The running workers, by id."""
    records, query = await call.host.queue.workers(), "/api/jobs/workers"
    page = page_by_key(records, lambda record: record.worker_id, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    return Listing(items=[WorkerView.of(record) for record in page], next=page.next)


@router.get("/archive")
async def list_archive(call: Viewing, job_type: TypeFilter, subject: Filter = None, limit: Limit = 50, cursor: Cursor = None) -> JobListing:
    """Archived jobs about a subject, or of a type, newest first."""
    if (subject is None) == (job_type is None):
        raise BadRequest("The archive is listed by subject or by job type.", fix="Send either `subject` or `job_type`.")
    page = await call.host.queue.archive_page(subject=subject, job_type=job_type, limit=limit, cursor=cursor)
    return JobListing.of(page)


@router.get("/unreadable")
async def list_unreadable(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[UnreadableJobView]:
    """Items of the job table that are not valid jobs, by id: another program has written them, and they are set aside."""
    known, query = await call.host.queue.set_aside(), "/api/jobs/unreadable"
    page = page_by_key(known, lambda bad: bad.job_id, secret=call.host.secret, query=query, limit=limit, cursor=cursor)
    return Listing(items=[UnreadableJobView.of(bad) for bad in page], next=page.next)


class RetryFilter(BaseModel):
    """Selects the failed jobs to retry: those that match all filters, or all without a filter."""

    model_config = ConfigDict(extra="forbid")

    job_type: Text | None = None
    queue: Text | None = None
    subject: Text | None = None
    limit: int = Field(default=MAX_JOBS_PER_REQUEST, ge=1, le=MAX_JOBS_PER_REQUEST)


class ChangedJobs(BaseModel):
    """The jobs that were changed."""

    jobs: list[JobView]


@router.post("/retry")
async def retry_failed(call: Operating, filters: RetryFilter) -> ChangedJobs:
    """Retry failed jobs, oldest first."""
    jobs = await call.host.queue.retry_failed(**filters.model_dump())
    await call.note("job.retry-failed", filters.job_type or filters.queue or filters.subject or "all", count=len(jobs))
    return ChangedJobs(jobs=[JobView.of(job) for job in jobs])


class JobSelection(BaseModel):
    """Jobs by their ids."""

    model_config = ConfigDict(extra="forbid")

    job_ids: list[UUID] = Field(min_length=1, max_length=MAX_JOBS_PER_REQUEST)
    reason: Text | None = None
    force: bool = Field(default=False, description="Take running jobs from their workers instead of asking them to stop.")


@router.post("/cancel")
async def cancel_many(call: Operating, selection: JobSelection) -> ChangedJobs:
    """Cancel jobs. Finished jobs stay as they are. If one of the ids does not exist, nothing is cancelled."""
    for job_id in selection.job_ids:
        await call.host.queue.get(job_id)
    jobs = [await call.host.queue.cancel(job_id, reason=selection.reason, force=selection.force) for job_id in selection.job_ids]
    await call.note(
        "job.cancel-many", f"{len(jobs)} jobs", reason=selection.reason, job_ids=[str(job_id) for job_id in selection.job_ids[:50]]
    )
    return ChangedJobs(jobs=[JobView.of(job) for job in jobs])
