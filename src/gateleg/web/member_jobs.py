"""The jobs of an application for its users: `/api/{application}/jobs` and `/events/{application}/jobs`.

`gateleg.host.member_jobs` has the rules.
"""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from gateleg.host.application import Application
from gateleg.host.job_views import BranchView, JobDetail, JobView
from gateleg.host.member_jobs import MemberJobs, member_actions
from gateleg.web.access import principal_of
from gateleg.web.action_routes import add_action
from gateleg.web.api.etags import tagged
from gateleg.web.api.jobs.lists import Filter
from gateleg.web.api.jobs.single import LogPage, read_log_page
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_position
from gateleg.web.sse import AccessCheck, EventStream, job_stream

if TYPE_CHECKING:
    from gateleg.host.host import Host

__all__ = ["member_job_routes"]

#: The output of a job that names objects.
ARTIFACTS = "s3_artifacts"
#: An open event stream checks at most this often whether its caller may still see the job.
_ACCESS_CACHE_SECONDS = 1.0


class ArtifactView(BaseModel):
    """A file that a job has written, with a signed link."""

    key: str
    url: str


def _caller_jobs(request: Request) -> MemberJobs:
    """The jobs of the application in the request's path, for its caller."""
    host: Host = request.app.state.host
    name = request.url.path.split("/")[2]
    application = next(one for one in host.applications if one.name == name)
    return MemberJobs(application, host.resources[name], principal_of(request))


CallerJobs = Annotated[MemberJobs, Depends(_caller_jobs)]
router = APIRouter()
events = APIRouter()


def member_job_routes(application: Application) -> APIRouter:
    """The routes of an application's jobs, with whole paths."""
    found = APIRouter(tags=[application.title])
    found.include_router(router, prefix=f"/api/{application.name}/jobs")
    for action in member_actions(application):
        add_action(found, action)
    found.include_router(events, prefix=f"/events/{application.name}/jobs")
    return found


@router.get("")
async def list_jobs(jobs: CallerJobs, subject: Filter = None, limit: Limit = 50, cursor: Cursor = None) -> Listing[JobView]:
    """The jobs that the caller has submitted, newest first; or those about a subject that the caller may see."""
    page = await jobs.page(subject=subject, limit=limit, cursor=cursor)
    return Listing(items=[JobView.of(job) for job in page], next=page.next)


@router.get("/{job_id}", response_model=JobDetail)
async def get_job(jobs: CallerJobs, request: Request, job_id: UUID) -> Response:
    """A job, in the queue or in the archive."""
    return tagged(request, JobDetail.of(await jobs.get(job_id)))


@router.get("/{job_id}/tree", response_model=BranchView)
async def get_tree(jobs: CallerJobs, request: Request, job_id: UUID) -> Response:
    """A job with all jobs below it."""
    await jobs.get(job_id)
    return tagged(request, BranchView.of(await jobs.resources.queue.tree(job_id)))


@router.get("/{job_id}/logs")
async def get_logs(
    jobs: CallerJobs,
    job_id: UUID,
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> LogPage:
    """The lines of a job's log from number `after` on, counted from 0; also while it runs, and once it is archived."""
    return await read_log_page(jobs.resources.queue, jobs.resources.objects, await jobs.get(job_id), after, limit)


@router.get("/{job_id}/artifacts")
async def get_artifacts(
    jobs: CallerJobs,
    request: Request,
    job_id: UUID,
    expires: Annotated[int, Query(ge=1, le=86_400, description="Seconds until the links expire.")] = 3600,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[ArtifactView]:
    """The files that a job has written, each with a signed link."""
    job = await jobs.get(job_id)
    keys: list[str] = [] if job.job_results is None else job.job_results.output_location.get(ARTIFACTS, [])
    secret = request.app.state.host.secret
    page = page_by_position(keys, secret=secret, query=f"artifacts of {job_id}", limit=limit, cursor=cursor)
    links = [ArtifactView(key=key, url=await jobs.resources.objects.presign(key, expires=expires)) for key in page]
    return Listing(items=links, next=page.next)


@events.get("/{job_id}", response_class=EventStream)
async def follow_job(jobs: CallerJobs, request: Request, job_id: UUID) -> EventStream:
    """A job as it changes: `job` with its state, `log` with new lines, `emit` with events of its handler, `end` when it is finished.

    `Last-Event-ID` resumes after the last event received.
    """
    await jobs.get(job_id)
    return await job_stream(
        jobs.resources.queue, jobs.resources.events, job_id, request, _job_access_check(jobs, job_id, request.state.is_still_authenticated)
    )


def _job_access_check(jobs: MemberJobs, job_id: UUID, has_access: AccessCheck) -> AccessCheck:
    """A check that the caller is still authenticated and may still see the job."""
    ticks = jobs.resources.store.setup.ticks
    checked_at = ticks()

    async def check() -> bool:
        nonlocal checked_at
        if not await has_access():
            return False
        if ticks() - checked_at < _ACCESS_CACHE_SECONDS:
            return True
        checked_at = ticks()
        return await jobs.sees(await jobs.resources.queue.get_or_archived(job_id))

    return check
