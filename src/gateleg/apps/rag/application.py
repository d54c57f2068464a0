"""The `rag` application of a host. Importing this module loads no parser, model or index."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gateleg.apps.rag import tables
from gateleg.apps.rag.answering.tables import CONVERSATION_TABLES
from gateleg.apps.rag.evaluating.tables import EVALUATION_TABLES
from gateleg.apps.rag.extra_packages import PACKAGES
from gateleg.apps.rag.settings import RagSettings
from gateleg.extras import check_installed
from gateleg.host import Application

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fastapi import APIRouter

    from gateleg.host import AgentTool, Check, Principal, Resources, SearchHit, Surface, Tile
    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.tables import ArchivedJob


def make_jobs(resources: Resources[RagSettings]) -> Jobs:
    """The job types of this application."""
    from gateleg.apps.rag.work import rag_jobs

    return rag_jobs(resources)


def make_routes(resources: Resources[RagSettings]) -> APIRouter:
    """The routes of this application."""
    from fastapi import APIRouter

    from gateleg.apps.rag import api
    from gateleg.apps.rag.web import (
        ask_api,
        collection_api,
        document_api,
        evaluation_api,
        ingest_api,
        job_api,
        page_api,
        pipeline_api,
        reingest_api,
        search_api,
        upload_api,
    )
    from gateleg.web.uploads.routes import upload_routes

    router = APIRouter()
    router.include_router(upload_routes(resources, [upload_api.document_kind(resources)]))
    # The first match wins, so fixed paths come before placeholders: /repository/collections is not a repository, and the legacy paths match
    # any word. Paths below a collection come before the collection itself, because a collection id may contain slashes.
    parts = (
        evaluation_api,
        reingest_api,
        collection_api,
        job_api,
        search_api,
        ask_api,
        ingest_api,
        pipeline_api,
        page_api,
        document_api,
        api,
    )
    for part in parts:
        router.routes.extend(part.router.routes)
    router.routes.extend(document_api.older.routes)
    return router


def make_surfaces(resources: Resources[RagSettings]) -> Sequence[Surface]:
    """Search and ask over the Model Context Protocol, if the `mcp` package is installed."""
    if find_spec("mcp") is None:
        return ()
    from gateleg.apps.rag.web.mcp_api import mcp_surface

    return (mcp_surface(resources),)


def register_pages(resources: Resources[RagSettings]) -> None:
    """Register the console pages of this application."""
    from gateleg.apps.rag.pages import register

    register(resources)


async def find_tiles(resources: Resources[RagSettings], principal: Principal) -> Sequence[Tile]:
    """Tiles for the newest collections that the principal can read."""
    from gateleg.apps.rag.web.showcase import newest_collections

    return await newest_collections(resources, principal)


async def search(resources: Resources[RagSettings], principal: Principal, text: str) -> Sequence[SearchHit]:
    """Find repositories, collections and documents by name."""
    from gateleg.apps.rag.web.showcase import find_by_name

    return await find_by_name(resources, principal, text)


def make_tools(resources: Resources[RagSettings]) -> Sequence[AgentTool]:
    """The tools `search` and `ask` for agents."""
    from gateleg.apps.rag.tools import rag_tools

    return rag_tools(resources)


@asynccontextmanager
async def run(resources: Resources[RagSettings]) -> AsyncIterator[None]:
    """On start, add repositories that other programs or an older version have written to the list of repositories; on stop, close the open
    search indexes."""
    from gateleg.apps.rag.index.registry import close_indexes
    from gateleg.apps.rag.repository_list import reconcile
    from gateleg.store import TableMissing

    # Commands may run on a store whose tables have not been created yet.
    with suppress(TableMissing):
        await reconcile(resources.store)
    try:
        yield
    finally:
        close_indexes(resources)


def make_checks(resources: Resources[RagSettings]) -> Sequence[Check]:
    """The checks for `gateleg doctor`."""
    from gateleg.apps.rag.host_checks import embedding_check

    return [embedding_check(resources)]


async def sees_job(resources: Resources[RagSettings], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member sees a job: their own jobs if they can still read the subject, and all jobs of collections that they may change."""
    from gateleg.apps.rag.job_access import may_see_job

    return await may_see_job(resources, principal, job)


async def changes_job(resources: Resources[RagSettings], principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member may cancel and retry a job: everybody who sees it may."""
    from gateleg.apps.rag.job_access import may_see_job

    return await may_see_job(resources, principal, job)


async def job_subject(resources: Resources[RagSettings], principal: Principal, job: Job | ArchivedJob) -> SearchHit | None:
    """The repository or collection that a job is about."""
    from gateleg.apps.rag.web.showcase import found_subject

    return await found_subject(resources, principal, job.subject)


async def load_demo(resources: Resources[RagSettings]) -> None:
    """Ingest Gateleg's manual. Calling it again changes nothing."""
    from gateleg.apps.rag.demonstration import load

    await load(resources)


check_installed(PACKAGES)
application = Application(
    name="rag",
    title="Documents",
    icon="library_books",
    about="Collections of documents that can be searched and asked, with answers that cite page and passage.",
    tables=(*tables.TABLES, *CONVERSATION_TABLES, *EVALUATION_TABLES),
    jobs=make_jobs,
    routes=make_routes,
    surfaces=make_surfaces,
    pages=register_pages,
    lifespan=run,
    settings=RagSettings,
    tiles=find_tiles,
    search=search,
    tools=make_tools,
    checks=make_checks,
    sees_job=sees_job,
    changes_job=changes_job,
    job_subject=job_subject,
    commands="gateleg.apps.rag.commands:app",
    demo=load_demo,
)
