"""The kit over HTTP: jobs, tables, objects, keys and the audit log."""

from fastapi import APIRouter

from gateleg.web.api import audit, jobs, keys, objects, tables
from gateleg.web.api.shapes import FAILURES

__all__ = ["api_routes"]


def api_routes() -> APIRouter:
    """All routes of the kit under `/api`."""
    router = APIRouter(responses=FAILURES)
    for part in (jobs, tables, objects, keys, audit):
        router.include_router(part.router)
    return router
