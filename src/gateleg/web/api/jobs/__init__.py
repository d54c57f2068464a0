"""`/api/jobs`: the queue over HTTP."""

from gateleg.web.api.jobs import lists, queues, schedules, single

__all__ = ["ROUTERS"]

#: The router with `{job_id}` comes last, because the others have fixed names in its place.
ROUTERS = (lists.router, queues.router, schedules.router, single.router)
