"""`/api/jobs`: the queue over HTTP."""

from fastapi import Depends

from gateleg.host.actions.jobs import JOB_ACTIONS
from gateleg.host.actions.queues import QUEUE_ACTIONS, SCHEDULE_ACTIONS
from gateleg.web.action_routes import routes_of
from gateleg.web.api.calls import refuse_set_aside
from gateleg.web.api.jobs import lists, queues, schedules, single

__all__ = ["ROUTERS"]

_actions = routes_of((*QUEUE_ACTIONS, *SCHEDULE_ACTIONS, *JOB_ACTIONS), tag="Jobs", dependencies=[Depends(refuse_set_aside)])
#: The router with `{job_id}` comes last, because the others have fixed names in its place.
ROUTERS = (lists.router, queues.router, schedules.router, _actions, single.router)
