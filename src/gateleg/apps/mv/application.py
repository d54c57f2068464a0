"""The music video application. Importing it does not load the libraries that decode or draw."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from gateleg.apps.mv import tables
from gateleg.apps.mv.extra_packages import PACKAGES
from gateleg.apps.mv.settings import MVSettings
from gateleg.extras import check_installed
from gateleg.host import Application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import APIRouter

    from gateleg.host import Principal, Resources, SearchHit, Tile
    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.tables import ArchivedJob


def make_jobs(resources: Resources[MVSettings]) -> Jobs:
    """The job types of music videos."""
    from gateleg.apps.mv.work import mv_jobs

    return mv_jobs(resources)


def make_routes(resources: Resources[MVSettings]) -> APIRouter:
    """The routes of music videos."""
    from fastapi import APIRouter

    from gateleg.apps.mv import api
    from gateleg.apps.mv.web import job_api, template_api, upload_api

    router = APIRouter()
    router.routes.extend((*api.router.routes, *job_api.router.routes, *upload_api.router.routes, *template_api.router.routes))
    return router


def register_pages(resources: Resources[MVSettings]) -> None:
    """The pages of music videos."""
    from gateleg.apps.mv.pages import register

    register(resources)


async def find_tiles(resources: Resources[MVSettings], principal: Principal) -> Sequence[Tile]:
    """The newest films, for the console's overview."""
    from gateleg.apps.mv.web.showcase import last_films

    return await last_films(resources, principal)


async def search(resources: Resources[MVSettings], principal: Principal, text: str) -> Sequence[SearchHit]:
    """Find projects by title or concept."""
    from gateleg.apps.mv.web.showcase import find_projects

    return await find_projects(resources, principal, text)


async def load_demo(resources: Resources[MVSettings]) -> None:
    """Create the demonstration project and start its film. A second call changes nothing."""
    from gateleg.apps.mv.demonstration import load

    await load(resources)


async def sees_job(resources: Resources[MVSettings], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member may see a job: it belongs to a visible project, or the member submitted it."""
    from gateleg.apps.mv.rules import may_see

    if job.subject is None:
        return _own(principal, job)
    project = await _project_of(resources, job)
    return project is not None and may_see(principal, project.owner_id)


async def changes_job(resources: Resources[MVSettings], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member may cancel or retry a job: it belongs to a project that the member may change, or the member submitted it."""
    from gateleg.apps.mv.rules import may_change

    if job.subject is None:
        return _own(principal, job)
    project = await _project_of(resources, job)
    return project is not None and may_change(principal, project.owner_id)


async def job_subject(resources: Resources[MVSettings], principal: Principal, job: Job | ArchivedJob) -> SearchHit | None:
    """The project that a job belongs to, as a search result."""
    from gateleg.apps.mv.rules import may_see
    from gateleg.apps.mv.web.showcase import found_project

    project = await _project_of(resources, job)
    return found_project(project) if project is not None and may_see(principal, project.owner_id) else None


def _own(principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether the caller submitted a job that belongs to no project."""
    return (job.created_by, job.tenant) == (principal.name, principal.tenant)


async def _project_of(resources: Resources[MVSettings], job: Job | ArchivedJob) -> tables.Project | None:
    try:
        project_id = UUID(job.subject or "")
    except ValueError:
        return None
    return await resources.store.find(tables.Project, project_id=project_id, consistent=True)


check_installed(PACKAGES)
application = Application(
    name="mv",
    title="Music videos",
    icon="movie",
    about="A video cut to the beat from a song and a sentence, drawn on this machine.",
    tables=tables.TABLES,
    table_variables={"DYNAMODB_TABLE_NAME": tables.projects_table},
    jobs=make_jobs,
    routes=make_routes,
    pages=register_pages,
    settings=MVSettings,
    tiles=find_tiles,
    search=search,
    sees_job=sees_job,
    changes_job=changes_job,
    job_subject=job_subject,
    commands="gateleg.apps.mv.commands:app",
    demo=load_demo,
)
