"""`/api/jobs`: the queue over HTTP."""

from fastapi import APIRouter

from gateleg.web.api.jobs import lists, queues, schedules, single

__all__ = ["router"]

router = APIRouter()
for part in (lists, queues, schedules, single):
    # The one with `{job_id}` comes last: the others have names in its place.
    router.include_router(part.router)
