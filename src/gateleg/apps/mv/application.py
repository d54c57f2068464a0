"""Music videos as an application of a host. Importing it loads nothing that decodes, draws or computes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv import tables
from gateleg.apps.mv.needed import NEEDED
from gateleg.web import Application

if TYPE_CHECKING:
    from fastapi import APIRouter

    from gateleg.jobs import Jobs
    from gateleg.web import Resources


def check_installed() -> None:
    """Raise `ModuleNotFoundError` for the first package that jobs would miss, without importing any."""
    for name in NEEDED:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def make_jobs(resources: Resources[Any]) -> Jobs:
    """The job types of music videos."""
    from gateleg.apps.mv.work import mv_jobs

    return mv_jobs(resources)


def make_routes(resources: Resources[Any]) -> APIRouter:
    """The routes of music videos."""
    from fastapi import APIRouter

    from gateleg.apps.mv import api
    from gateleg.apps.mv.web import upload_api, work_api

    router = APIRouter()
    router.routes.extend((*api.router.routes, *work_api.router.routes, *upload_api.router.routes))
    return router


check_installed()
application = Application(
    name="mv",
    title="Music videos",
    icon="movie",
    about="A video cut to the beat from a song and a sentence, drawn on this machine.",
    tables=tables.TABLES,
    jobs=make_jobs,
    routes=make_routes,
    commands="gateleg.apps.mv.commands:app",
)
