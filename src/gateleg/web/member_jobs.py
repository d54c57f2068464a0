"""The jobs of an application for its users: `/api/{application}/jobs` and `/events/{application}/jobs`.

Members see the jobs that the application's rule `sees_job` allows, by default those that they submitted, and never a job of another tenant.
Viewers and higher roles see all jobs of the application. A job that the caller may not see is reported as not found.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from gateleg.host.application import Application
from gateleg.host.errors import BadRequest, NotAllowed, Unknown
from gateleg.host.principal import Principal, Role, submitted_by
from gateleg.host.queues import sees_job, submitted
from gateleg.host.resources import Resources
from gateleg.jobs import Job, JobMissing, JobUnreadable
from gateleg.jobs.tables import ArchivedJob
from gateleg.store import Page
from gateleg.web.access import principal_of
from gateleg.web.api.etags import tagged
from gateleg.web.api.jobs.lists import ChangedJobs, Filter
from gateleg.web.api.jobs.single import CancelOptions, LogPage, read_log_page
from gateleg.web.api.jobs.views import BranchView, JobDetail, JobView
from gateleg.web.api.pages import Cursor, Limit, Listing, page_by_position
from gateleg.web.sse import AccessCheck, EventStream, job_stream

if TYPE_CHECKING:
    from gateleg.host.host import Host

__all__ = ["MemberJobs", "member_job_routes", "submitted_by"]

#: The output of a job that names objects.
ARTIFACTS = "s3_artifacts"
#: An open event stream checks at most this often whether its caller may still see the job.
_ACCESS_CACHE_SECONDS = 1.0


@dataclass(frozen=True)
class MemberJobs:
    """The jobs of an application as one caller may see them."""

    application: Application
    resources: Resources[Any]
    principal: Principal

    @property
    def job_types(self) -> frozenset[str]:
        """The job types of the application."""
        name = self.application.name
        return frozenset(one.job_type for one in self.resources.queue.context.jobs if one.application == name)

    async def sees(self, job: Job | ArchivedJob) -> bool:
        """Whether the caller may see a job."""
        return job.job_type in self.job_types and await sees_job(self.application, self.resources, self.principal, job)

    async def may_change(self, job: Job | ArchivedJob) -> bool:
        """Whether the caller may cancel and retry a job that they see."""
        if self.principal.may(Role.OPERATOR):
            return True
        rule = self.application.changes_job
        return submitted(self.principal, job) if rule is None else await rule(self.resources, self.principal, job)

    async def get(self, job_id: UUID) -> Job | ArchivedJob:
        """A job, in the queue or in the archive."""
        try:
            job = await self.resources.queue.get_or_archived(job_id)
        except (JobMissing, JobUnreadable):
            job = None
        if job is None or not await self.sees(job):
            raise Unknown(f"There is no job {job_id}.", fix=f"GET /api/{self.application.name}/jobs lists those that you have submitted.")
        return job

    async def changeable(self, job_id: UUID) -> Job | ArchivedJob:
        """A job that the caller may change."""
        job = await self.get(job_id)
        if not await self.may_change(job):
            raise NotAllowed(f"{self.principal.name!r} may see job {job_id}, but not change it.", fix="Ask the person who submitted it.")
        return job

    async def page(self, *, subject: str | None = None, limit: int = 50, cursor: str | None = None) -> Page[Job]:
        """The jobs that the caller submitted, or those about a subject that they may see, newest first. A page may be short."""
        queue = self.resources.queue
        if subject is None:
            return await queue.own_jobs_page(
                self.principal.name, self.principal.tenant, job_types=self.job_types, limit=limit, cursor=cursor
            )
        found = await queue.jobs_page(subject=subject, limit=limit, cursor=cursor)
        return Page([job for job in found if await self.sees(job)], found.next)

    async def note(self, action: str, job_id: UUID, request: Request, **details: Any) -> None:
        """Write an action of the caller to the audit log."""
        name = f"{self.application.name}.job.{action}"
        await self.resources.audit.note(self.principal, name, str(job_id), request_id=request.state.request_id, **details)


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


@router.post("/{job_id}/cancel")
async def cancel(jobs: CallerJobs, request: Request, job_id: UUID, options: CancelOptions | None = None) -> JobDetail:
    """Cancel a job. A waiting job is cancelled at once, a running one is asked to stop; a finished one stays as it is."""
    await jobs.changeable(job_id)
    options = _without_force(options)
    job = await jobs.resources.queue.cancel(job_id, reason=options.reason)
    await jobs.note("cancel", job_id, request, reason=options.reason)
    return JobDetail.of(job)


@router.post("/{job_id}/tree/cancel")
async def cancel_tree(jobs: CallerJobs, request: Request, job_id: UUID, options: CancelOptions | None = None) -> ChangedJobs:
    """Cancel a job and all jobs below it."""
    await jobs.changeable(job_id)
    options = _without_force(options)
    found = await jobs.resources.queue.cancel_tree(job_id, reason=options.reason)
    await jobs.note("cancel-tree", job_id, request, reason=options.reason, count=len(found))
    return ChangedJobs(jobs=[JobView.of(job) for job in found])


@router.post("/{job_id}/retry")
async def retry(jobs: CallerJobs, request: Request, job_id: UUID) -> JobDetail:
    """Retry a failed or cancelled job."""
    await jobs.changeable(job_id)
    job = await jobs.resources.queue.retry(job_id)
    await jobs.note("retry", job_id, request)
    return JobDetail.of(job)


def _without_force(options: CancelOptions | None) -> CancelOptions:
    if options is not None and options.force:
        raise BadRequest("Only operators may cancel with `force`.", fix="Omit `force`.")
    return options or CancelOptions()


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
