"""The kit over HTTP: jobs, tables, objects, keys, secrets, search, the audit log and the usage of models."""

from gateleg.extras import explained

try:
    import fastapi  # noqa: F401 - every module below needs it
except ModuleNotFoundError as error:
    raise explained(error) from error
from gateleg.host.actions.items import ITEM_ACTIONS
from gateleg.host.actions.objects import OBJECT_ACTIONS
from gateleg.web.action_routes import routes_of
from gateleg.web.api import audit, jobs, keys, models, objects, search, secrets, sessions, tables

__all__ = ["ROUTERS"]

#: All routes of the kit under `/api`, with their whole paths.
ROUTERS = (
    *jobs.ROUTERS,
    tables.router,
    routes_of(ITEM_ACTIONS, tag="Tables"),
    routes_of(OBJECT_ACTIONS, tag="Objects"),
    objects.router,
    keys.router,
    sessions.router,
    secrets.router,
    search.router,
    audit.router,
    models.router,
)
