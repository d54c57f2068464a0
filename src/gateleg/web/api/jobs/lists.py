"""`/api/jobs`: list and submit jobs, and cancel or retry many at once."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from gateleg.host.errors import BadRequest
from gateleg.host.job_views import JobView, TypeView, UnreadableJobView, WorkerView
from gateleg.jobs import JobStatus
from gateleg.jobs.queue_context import UnreadableJob
from gateleg.store import Page
from gateleg.web.api.calls import Viewing
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_key

__all__ = ["JobListing"]

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


class JobListing(Listing[JobView]):
    """One page of jobs."""

    unreadable: list[UnreadableJobView] = Field(
        default=[], description="Items that belong on this page, but are not valid jobs: another program has written them."
    )

    @classmethod
    def of(cls, page: Page[Any]) -> "JobListing":
        """A page of the queue or of the archive."""
        unreadable = [UnreadableJobView.of(UnreadableJob.of(bad)) for bad in page.unreadable]
        return cls(items=[JobView.of(job) for job in page], next=page.next, unreadable=unreadable)


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
