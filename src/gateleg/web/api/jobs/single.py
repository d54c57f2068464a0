"""`/api/jobs/{job_id}`: one job, its tree and log, and what is done to it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gateleg.jobs import ArchivedJob, AsyncQueue, Job
from gateleg.jobs.retention.archiving import Archivist
from gateleg.objects import AsyncObjects
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.jobs.lists import Changed, Text
from gateleg.web.api.jobs.views import BranchView, JobDetail, JobView, LineView
from gateleg.web.api.tagging import tagged

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])


@router.get("/{job_id}", response_model=JobDetail)
async def get_job(call: Viewing, request: Request, job_id: UUID) -> Response:
    """A job, in the queue or in the archive."""
    return tagged(request, JobDetail.of(await call.host.queue.get_or_archived(job_id)))


@router.get("/{job_id}/tree", response_model=BranchView)
async def get_tree(call: Viewing, request: Request, job_id: UUID) -> Response:
    """A job with all jobs below it."""
    return tagged(request, BranchView.of(await call.host.queue.tree(job_id)))


class Lines(BaseModel):
    """A part of a job's log."""

    lines: list[LineView]
    next: int = Field(description="Give it back as `after` for the lines that come next.")
    finished: bool = Field(description="Whether no more lines will come.")


@router.get("/{job_id}/logs")
async def get_logs(
    call: Viewing,
    job_id: UUID,
    after: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Lines:
    """The lines of a job's log from number `after` on, counted from 0; also while it runs, and once it is archived."""
    return await read_lines(call.host.queue, call.host.objects, await call.host.queue.get_or_archived(job_id), after, limit)


async def read_lines(queue: AsyncQueue, objects: AsyncObjects, job: Job | ArchivedJob, after: int, limit: int) -> Lines:
    """A part of the log of a job, wherever its lines are."""
    if job.logs.log_location is None:
        lines = await queue.log(job.job_id, after=after)
    else:
        lines = (await Archivist(queue, objects).log(job))[after:]
    shown = lines[:limit]
    finished = len(shown) == len(lines) and bool(getattr(job, "finished", True))
    return Lines(lines=LineView.numbered(shown, after), next=after + len(shown), finished=finished)


class Cancelling(BaseModel):
    """How a job is cancelled."""

    model_config = ConfigDict(extra="forbid")

    reason: Text | None = None
    force: bool = Field(default=False, description="Take a running job from its worker instead of asking it to stop.")


@router.post("/{job_id}/cancel")
async def cancel(call: Operating, job_id: UUID, how: Cancelling | None = None) -> JobDetail:
    """Cancel a job. One that waits is cancelled at once, a running one is asked to stop; a finished one stays as it is."""
    chosen = how or Cancelling()
    job = await call.host.queue.cancel(job_id, reason=chosen.reason, force=chosen.force)
    await call.note("job.cancel", str(job_id), reason=chosen.reason, force=chosen.force or None)
    return JobDetail.of(job)


@router.post("/{job_id}/tree/cancel")
async def cancel_tree(call: Operating, job_id: UUID, how: Cancelling | None = None) -> Changed:
    """Cancel a job and all jobs below it."""
    chosen = how or Cancelling()
    jobs = await call.host.queue.cancel_tree(job_id, reason=chosen.reason, force=chosen.force)
    await call.note("job.cancel-tree", str(job_id), reason=chosen.reason, count=len(jobs))
    return Changed(jobs=[JobView.of(job) for job in jobs])


@router.post("/{job_id}/retry")
async def retry(call: Operating, job_id: UUID) -> JobDetail:
    """Let a failed or cancelled job begin again."""
    job = await call.host.queue.retry(job_id)
    await call.note("job.retry", str(job_id))
    return JobDetail.of(job)


class Priority(BaseModel):
    """Where a job stands in its queue."""

    model_config = ConfigDict(extra="forbid")

    priority: int = Field(ge=0, le=100, description="0 to 100, higher first.")


@router.put("/{job_id}/priority")
async def set_priority(call: Operating, job_id: UUID, new: Priority) -> JobDetail:
    """Move a waiting job forwards or backwards."""
    await call.host.queue.get(job_id)
    job = await call.host.queue.set_priority(job_id, new.priority)
    await call.note("job.priority", str(job_id), priority=new.priority)
    return JobDetail.of(job)
