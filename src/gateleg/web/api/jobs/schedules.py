"""`/api/jobs/schedules`: schedules, which submit jobs repeatedly."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from gateleg.host.host import Host
from gateleg.host.job_views import ScheduleView
from gateleg.jobs import ScheduleMissing
from gateleg.jobs.tables import Schedule
from gateleg.web.api.calls import Viewing
from gateleg.web.api.etags import tagged
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter(prefix="/api/jobs", tags=["Jobs"])
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:/-]{1,100}$")]


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
