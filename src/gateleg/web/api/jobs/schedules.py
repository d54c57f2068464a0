"""`/api/jobs/schedules`: schedules, which submit jobs repeatedly."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import AliasChoices, Field

from gateleg.host.host import Host
from gateleg.host.job_views import JobDetail, ScheduleView
from gateleg.jobs import ScheduleMissing
from gateleg.jobs.schedules import run_submission
from gateleg.jobs.submission import RunAttributes
from gateleg.jobs.tables import Schedule
from gateleg.web.api.calls import Operating, Viewing
from gateleg.web.api.etags import tagged
from gateleg.web.api.jobs.lists import SubmissionResult, Text
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")]


class NewSchedule(RunAttributes, defer_build=False):
    """When a job is submitted: by cron fields, or at an interval in seconds. The other attributes are those of its jobs."""

    job_type: Text
    config: dict[str, Any] = Field(default={}, validation_alias=AliasChoices("config", "job_config"))
    cron: Annotated[str, Field(max_length=200)] | None = Field(default=None, description="Minute, hour, day, month and weekday.")
    every: int | None = Field(default=None, ge=1, le=366 * 86_400, description="Seconds between two runs.")
    timezone: Annotated[str, Field(min_length=1, max_length=100)] = "UTC"
    enabled: bool = True
    max_delay: int = Field(default=600, ge=0, le=366 * 86_400, description="A run that is later than this many seconds is skipped.")


async def _found(host: Host, name: str) -> Schedule:
    found = await host.queue.find_schedule(name)
    if found is None:
        raise ScheduleMissing(f"There is no schedule {name!r}.")
    return found


@router.get("/schedules")
async def list_schedules(call: Viewing, limit: Limit = 50, cursor: Cursor = None) -> Listing[ScheduleView]:
    """The schedules by name."""
    page = await call.host.queue.schedules_page(limit=limit, cursor=cursor)
    return Listing(items=[ScheduleView.of(schedule) for schedule in page], next=page.next)


@router.get("/schedules/{name:path}", response_model=ScheduleView)
async def get_schedule(call: Viewing, request: Request, name: Name) -> Response:
    """One schedule."""
    return tagged(request, ScheduleView.of(await _found(call.host, name)))


@router.put("/schedules/{name:path}")
async def put_schedule(call: Operating, name: Name, new: NewSchedule) -> ScheduleView:
    """Create or replace a schedule."""
    submission = new.submission(new.job_type, new.config)
    made = await call.host.queue.schedule(
        name, submission, cron=new.cron, every=new.every, timezone=new.timezone, max_delay=new.max_delay, enabled=new.enabled
    )
    await call.note("schedule.put", name, job_type=new.job_type, cron=new.cron, every=new.every)
    return ScheduleView.of(made)


@router.delete("/schedules/{name:path}", status_code=204)
async def delete_schedule(call: Operating, name: Name) -> None:
    """Delete a schedule; the jobs that it submitted stay."""
    await call.host.queue.unschedule(name)
    await call.note("schedule.delete", name)


@router.post("/schedules/{name:path}/enable")
async def enable(call: Operating, name: Name) -> ScheduleView:
    """Enable a schedule. Missed runs are not made up for."""
    made = await call.host.queue.set_enabled(name, True)
    await call.note("schedule.enable", name)
    return ScheduleView.of(made)


@router.post("/schedules/{name:path}/disable")
async def disable(call: Operating, name: Name) -> ScheduleView:
    """Disable a schedule."""
    made = await call.host.queue.set_enabled(name, False)
    await call.note("schedule.disable", name)
    return ScheduleView.of(made)


@router.post("/schedules/{name:path}/run", status_code=201)
async def run_now(call: Operating, name: Name) -> SubmissionResult:
    """Submit a schedule's job now, in addition to its regular runs."""
    found = await _found(call.host, name)
    submission = replace(run_submission(found, call.principal.name), tags=[*found.tags[:49], f"schedule:{name}"[:100]])
    answer = await call.host.queue.submit(submission)
    await call.note("schedule.run", name, job_id=str(answer.job.job_id))
    return SubmissionResult(job=JobDetail.of(answer.job), created=answer.created)
