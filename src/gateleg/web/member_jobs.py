"""The jobs of an application for those who use it: `/api/{application}/jobs` and `/events/{application}/jobs`.

Members see what the application's rule `sees_job` gives them, without a rule what they have submitted, and never a job of another tenant.
Viewers and those above them see all jobs of the application. A job that the caller may not see is answered like one that is not there.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel

from gateleg.jobs import ArchivedJob, Job, JobMissing
from gateleg.store import Page
from gateleg.web.access import principal_of
from gateleg.web.api.jobs.lists import Changed, Filter
from gateleg.web.api.jobs.single import Cancelling, Lines, read_lines
from gateleg.web.api.jobs.views import BranchView, JobDetail, JobView
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.api.tagging import tagged
from gateleg.web.application import Application
from gateleg.web.errors import BadRequest, NotAllowed, Unknown
from gateleg.web.principal import Principal, Role, submitted_by
from gateleg.web.resources import Resources
from gateleg.web.streams import EventStream, Welcome, job_stream

if TYPE_CHECKING:
    from gateleg.web.host import Host

__all__ = ["MemberJobs", "member_job_routes", "submitted_by"]

#: The output of a job that names objects.
ARTIFACTS = "s3_artifacts"
#: Seconds for which a listener who saw a job is believed to see it still.
_BELIEVED = 1.0


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
        if job.job_type not in self.job_types:
            return False
        if self.principal.may(Role.VIEWER):
            return True
        if job.tenant is not None and job.tenant != self.principal.tenant:
            return False
        rule = self.application.sees_job
        return self._owns(job) if rule is None else await rule(self.resources, self.principal, job)

    async def may_change(self, job: Job | ArchivedJob) -> bool:
        """Whether the caller may cancel a job that they see, and let it begin again."""
        if self.principal.may(Role.OPERATOR):
            return True
        rule = self.application.changes_job
        return self._owns(job) if rule is None else await rule(self.resources, self.principal, job)

    def _owns(self, job: Job | ArchivedJob) -> bool:
        return job.created_by == self.principal.name and job.tenant == self.principal.tenant

    async def get(self, job_id: UUID) -> Job | ArchivedJob:
        """A job, in the queue or in the archive."""
        try:
            job = await self.resources.queue.get_or_archived(job_id)
        except JobMissing:
            job = None
        if job is None or not await self.sees(job):
            raise Unknown(f"There is no job {job_id}.", fix=f"GET /api/{self.application.name}/jobs lists those that you have submitted.")
        return job

    async def changeable(self, job_id: UUID) -> Job | ArchivedJob:
        """A job that the caller may change."""
        job = await self.get(job_id)
        if not await self.may_change(job):
            raise NotAllowed(f"{self.principal.name!r} may look at job {job_id}, and not change it.", fix="Ask whoever submitted it.")
        return job

    async def page(self, *, subject: str | None = None, limit: int = 50, cursor: str | None = None) -> Page[Job]:
        """The jobs that the caller has submitted, or those about a subject that they see, newest first. A page may be short."""
        queue = self.resources.queue
        if subject is None:
            return await queue.own_jobs_page(
                self.principal.name, self.principal.tenant, job_types=self.job_types, limit=limit, cursor=cursor
            )
        found = await queue.jobs_page(subject=subject, limit=limit, cursor=cursor)
        return Page([job for job in found if await self.sees(job)], found.next)

    async def note(self, action: str, job_id: UUID, request: Request, **details: Any) -> None:
        """Write what the caller has done to the audit log."""
        name = f"{self.application.name}.job.{action}"
        await self.resources.audit.note(self.principal, name, str(job_id), request_id=request.state.request_id, **details)


class ArtifactView(BaseModel):
    """A file that a job has made, by a signed link."""

    key: str
    url: str


def _mine(request: Request) -> MemberJobs:
    """The jobs of the application whose path is asked, for whoever asks."""
    host: Host = request.app.state.host
    name = request.url.path.split("/")[2]
    application = next(one for one in host.applications if one.name == name)
    return MemberJobs(application, host.resources[name], principal_of(request))


Mine = Annotated[MemberJobs, Depends(_mine)]
router = APIRouter()
events = APIRouter()


def member_job_routes(application: Application) -> APIRouter:
    """The routes of an application's jobs, with whole paths."""
    found = APIRouter(tags=[application.title])
    found.include_router(router, prefix=f"/api/{application.name}/jobs")
    found.include_router(events, prefix=f"/events/{application.name}/jobs")
    return found


@router.get("")
async def list_jobs(jobs: Mine, subject: Filter = None, limit: Limit = 50, cursor: Cursor = None) -> Listing[JobView]:
    """The jobs that the caller has submitted, newest first; or those about a subject that the caller may see."""
    page = await jobs.page(subject=subject, limit=limit, cursor=cursor)
    return Listing(items=[JobView.of(job) for job in page], next=page.next)


@router.get("/{job_id}", response_model=JobDetail)
async def get_job(jobs: Mine, request: Request, job_id: UUID) -> Response:
    """A job, in the queue or in the archive."""
    return tagged(request, JobDetail.of(await jobs.get(job_id)))


@router.get("/{job_id}/tree", response_model=BranchView)
async def get_tree(jobs: Mine, request: Request, job_id: UUID) -> Response:
    """A job with all jobs below it."""
    await jobs.get(job_id)
    return tagged(request, BranchView.of(await jobs.resources.queue.tree(job_id)))


@router.get("/{job_id}/logs")
async def get_logs(
    jobs: Mine,
    job_id: UUID,
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Lines:
    """The lines of a job's log from number `after` on, counted from 0; also while it runs, and once it is archived."""
    return await read_lines(jobs.resources.queue, jobs.resources.objects, await jobs.get(job_id), after, limit)


@router.get("/{job_id}/artifacts")
async def get_artifacts(jobs: Mine, job_id: UUID, expires: Annotated[int, Query(ge=1, le=86_400)] = 3600) -> list[ArtifactView]:
    """The files that a job has made, each by a signed link that expires after so many seconds."""
    job = await jobs.get(job_id)
    keys = [] if job.job_results is None else job.job_results.output_location.get(ARTIFACTS, [])
    return [ArtifactView(key=key, url=await jobs.resources.objects.presign(key, expires=expires)) for key in keys]


@router.post("/{job_id}/cancel")
async def cancel(jobs: Mine, request: Request, job_id: UUID, how: Cancelling | None = None) -> JobDetail:
    """Cancel a job. One that waits is cancelled at once, a running one is asked to stop; a finished one stays as it is."""
    await jobs.changeable(job_id)
    chosen = _gentle(how)
    job = await jobs.resources.queue.cancel(job_id, reason=chosen.reason)
    await jobs.note("cancel", job_id, request, reason=chosen.reason)
    return JobDetail.of(job)


@router.post("/{job_id}/tree/cancel")
async def cancel_tree(jobs: Mine, request: Request, job_id: UUID, how: Cancelling | None = None) -> Changed:
    """Cancel a job and all jobs below it."""
    await jobs.changeable(job_id)
    chosen = _gentle(how)
    found = await jobs.resources.queue.cancel_tree(job_id, reason=chosen.reason)
    await jobs.note("cancel-tree", job_id, request, reason=chosen.reason, count=len(found))
    return Changed(jobs=[JobView.of(job) for job in found])


@router.post("/{job_id}/retry")
async def retry(jobs: Mine, request: Request, job_id: UUID) -> JobDetail:
    """Let a failed or cancelled job begin again."""
    await jobs.changeable(job_id)
    job = await jobs.resources.queue.retry(job_id)
    await jobs.note("retry", job_id, request)
    return JobDetail.of(job)


def _gentle(how: Cancelling | None) -> Cancelling:
    if how is not None and how.force:
        raise BadRequest("Only operators take running jobs from their workers.", fix="Leave `force` out.")
    return how or Cancelling()


@events.get("/{job_id}", response_class=EventStream)
async def follow_job(jobs: Mine, request: Request, job_id: UUID) -> EventStream:
    """A job as it changes: `job` with its state, `log` with new lines, `emit` with what its handler has emitted, `end` when it is
    finished. `Last-Event-ID` goes on."""
    await jobs.get(job_id)
    return await job_stream(jobs.resources.queue, jobs.resources.events, job_id, request, _still_seen(jobs, job_id, request.state.welcome))


def _still_seen(jobs: MemberJobs, job_id: UUID, welcome: Welcome) -> Welcome:
    """Whether a listener may go on: is still let in, and still sees the job, which is asked once a second at most."""
    ticks = jobs.resources.store.setup.ticks
    asked = ticks()

    async def check() -> bool:
        nonlocal asked
        if not await welcome():
            return False
        if ticks() - asked < _BELIEVED:
            return True
        asked = ticks()
        return await jobs.sees(await jobs.resources.queue.get_or_archived(job_id))

    return check
