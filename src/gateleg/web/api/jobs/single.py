"""`/api/jobs/{job_id}`: one job, its tree and log, and the actions on it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.jobs import AsyncQueue, Job
from gateleg.jobs.retention import Archiver
from gateleg.jobs.tables import ArchivedJob
from gateleg.objects import AsyncObjects
from gateleg.web.api.calls import Operating, Viewing, refuse_set_aside
from gateleg.web.api.etags import tagged
from gateleg.web.api.jobs.lists import ChangedJobs, Text
from gateleg.web.api.jobs.views import BranchView, JobDetail, JobView, LineView

router = APIRouter(prefix="/api/jobs", tags=["Jobs"], dependencies=[Depends(refuse_set_aside)])


@router.get("/{job_id}", response_model=JobDetail)
async def get_job(call: Viewing, request: Request, job_id: UUID) -> Response:
    """A job, in the queue or in the archive."""
    return tagged(request, JobDetail.of(await call.host.queue.get_or_archived(job_id)))


@router.get("/{job_id}/tree", response_model=BranchView)
async def get_tree(call: Viewing, request: Request, job_id: UUID) -> Response:
    """A job with all jobs below it."""
    return tagged(request, BranchView.of(await call.host.queue.tree(job_id)))


class LogPage(BaseModel):
    """Consecutive lines of a job's log."""

    lines: list[LineView]
    next: int = Field(description="Pass it as `after` for the following lines.")
    finished: bool = Field(description="Whether the log is complete.")


@router.get("/{job_id}/logs")
async def get_logs(
    call: Viewing,
    job_id: UUID,
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> LogPage:
    """The lines of a job's log from number `after` on, counted from 0; also while it runs, and once it is archived."""
    return await read_log_page(call.host.queue, call.host.objects, await call.host.queue.get_or_archived(job_id), after, limit)


async def read_log_page(queue: AsyncQueue, objects: AsyncObjects, job: Job | ArchivedJob, after: int, limit: int) -> LogPage:
    """Read log lines of a job, from the table or from the object store."""
    lines = (await Archiver(queue, objects).log(job))[after:]
    shown = lines[:limit]
    finished = len(shown) == len(lines) and bool(getattr(job, "finished", True))
    return LogPage(lines=LineView.numbered(shown, after), next=after + len(shown), finished=finished)


class CancelOptions(BaseModel):
    """Options for cancelling a job."""

    model_config = ConfigDict(extra="forbid")

    reason: Text | None = None
    force: bool = Field(default=False, description="Take a running job from its worker instead of asking it to stop.")


@router.post("/{job_id}/cancel")
async def cancel(call: Operating, job_id: UUID, options: CancelOptions | None = None) -> JobDetail:
    """Cancel a job. A waiting job is cancelled at once, a running one is asked to stop; a finished one stays as it is."""
    options = options or CancelOptions()
    job = await call.host.queue.cancel(job_id, reason=options.reason, force=options.force)
    await call.note("job.cancel", str(job_id), reason=options.reason, force=options.force or None)
    return JobDetail.of(job)


@router.post("/{job_id}/tree/cancel")
async def cancel_tree(call: Operating, job_id: UUID, options: CancelOptions | None = None) -> ChangedJobs:
    """Cancel a job and all jobs below it."""
    options = options or CancelOptions()
    jobs = await call.host.queue.cancel_tree(job_id, reason=options.reason, force=options.force)
    await call.note("job.cancel-tree", str(job_id), reason=options.reason, count=len(jobs))
    return ChangedJobs(jobs=[JobView.of(job) for job in jobs])


@router.post("/{job_id}/retry")
async def retry(call: Operating, job_id: UUID) -> JobDetail:
    """Retry a failed or cancelled job."""
    job = await call.host.queue.retry(job_id)
    await call.note("job.retry", str(job_id))
    return JobDetail.of(job)


class Priority(BaseModel):
    """The priority of a job."""

    model_config = ConfigDict(extra="forbid")

    priority: int = Field(ge=0, le=100, description="0 to 100, higher first.")


@router.put("/{job_id}/priority")
async def set_priority(call: Operating, job_id: UUID, new: Priority) -> JobDetail:
    """Move a waiting job forwards or backwards."""
    await call.host.queue.get(job_id)
    job = await call.host.queue.set_priority(job_id, new.priority)
    await call.note("job.priority", str(job_id), priority=new.priority)
    return JobDetail.of(job)
