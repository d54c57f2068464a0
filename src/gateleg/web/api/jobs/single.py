"""`/api/jobs/{job_id}`: one job, its tree and log."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, Field

from gateleg.host.job_views import BranchView, JobDetail, LineView
from gateleg.jobs import AsyncQueue, Job
from gateleg.jobs.retention import Archiver
from gateleg.jobs.tables import ArchivedJob
from gateleg.objects import AsyncObjects
from gateleg.web.api.calls import Viewing, refuse_set_aside
from gateleg.web.api.etags import tagged

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
