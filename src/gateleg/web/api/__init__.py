"""The kit over HTTP: jobs, tables, objects, keys, secrets, search, the audit log and the usage of models."""

from gateleg.extras import explained

try:
    import fastapi  # noqa: F401 - every module below needs it
except ModuleNotFoundError as error:
    raise explained(error) from error
from gateleg.web.api import audit, jobs, keys, models, objects, search, secrets, sessions, tables

__all__ = ["ROUTERS"]

#: All routes of the kit under `/api`, with their whole paths.
ROUTERS = (
    *jobs.ROUTERS,
    tables.router,
    objects.router,
    keys.router,
    sessions.router,
    secrets.router,
    search.router,
    audit.router,
    models.router,
)
