"""The routes of `/api/rag` that list the jobs of a repository. The other job routes are at `/api/rag/jobs`, as for every application."""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from gateleg.apps.rag.access import Action
from gateleg.apps.rag.api import PageSize, Token, caller_of, clamp_page_size, resources_of
from gateleg.apps.rag.job_list import list_repository_jobs
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.subjects import parse_subject
from gateleg.apps.rag.web.views import View
from gateleg.host.errors import Unknown
from gateleg.host.job_views import JobDetail
from gateleg.host.member_jobs import MemberJobs
from gateleg.jobs import Job
from gateleg.jobs.tables import ArchivedJob
from gateleg.web.api.calls import ApiCall, Using

router = APIRouter()


class JobsView(View):
    """A page of jobs."""

    jobs: list[JobDetail]
    last_evaluated_key: str | None
    has_next_page: bool
    has_previous_page: bool


def _jobs_of(call: ApiCall) -> MemberJobs:
    application = next(one for one in call.host.applications if one.name == "rag")
    return MemberJobs(application, resources_of(call), call.principal)


def _is_about(job: Job | ArchivedJob, repository_id: str) -> bool:
    subject = parse_subject(job.subject)
    return subject is not None and subject.repository_id == repository_id


@router.get("/repository/{repository_id}/jobs")
async def list_jobs(
    call: Using,
    repository_id: str,
    hours: Annotated[int, Query(alias="timeLimit", ge=1, le=8760, description="Only jobs of the last hours, this many.")] = 720,
    page_size: PageSize = 10,
    token: Token = None,
) -> JobsView:
    """List the caller's jobs for a repository, newest first; for its administrators, everybody's.

    A page may be short even if it is not the last."""
    caller, jobs, size = caller_of(call), _jobs_of(call), clamp_page_size(page_size)
    repository = await get_repository(call.host.store, caller, repository_id)
    since = call.host.store.setup.now() - timedelta(hours=hours)
    if caller.may(Action.CHANGE_PIPELINES, repository):
        page = await list_repository_jobs(resources_of(call), call.principal, repository, jobs.sees, since=since, size=size, token=token)
        shown = [JobDetail.of(job) for job in page.rows]
        return JobsView(jobs=shown, last_evaluated_key=page.next, has_next_page=page.next is not None, has_previous_page=token is not None)
    found = await jobs.page(limit=size, cursor=token)
    recent = [job for job in found if job.created_at >= since]
    own = [JobDetail.of(job) for job in recent if _is_about(job, repository_id)]
    onward = found.next if len(recent) == len(found) else None
    return JobsView(jobs=own, last_evaluated_key=onward, has_next_page=onward is not None, has_previous_page=token is not None)


@router.get("/repository/{repository_id}/jobs/{job_id}")
async def get_job(call: Using, repository_id: str, job_id: UUID) -> JobDetail:
    """Read a job of the repository with its progress, result or error."""
    await get_repository(call.host.store, caller_of(call), repository_id)
    job = await _jobs_of(call).get(job_id)
    if not _is_about(job, repository_id):
        raise Unknown(f"There is no job {job_id} in the repository {repository_id!r}.")
    return JobDetail.of(job)
