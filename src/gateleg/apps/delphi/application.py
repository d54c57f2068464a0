"""Delphi as an application of a host. Importing this module does not import NumPy or the analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.delphi import tables
from gateleg.apps.delphi.extra_packages import PACKAGES
from gateleg.apps.delphi.runs import run_tables, vote_tables
from gateleg.apps.delphi.settings import DelphiSettings
from gateleg.extras import check_installed
from gateleg.host import Application

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import APIRouter

    from gateleg.host import AgentTool, Principal, Resources, SearchHit, Tile
    from gateleg.jobs import Job, Jobs
    from gateleg.jobs.tables import ArchivedJob, TableNames


def make_jobs(resources: Resources[DelphiSettings]) -> Jobs:
    """The job types of Delphi."""
    from gateleg.apps.delphi.model_checks import ModelChecks
    from gateleg.apps.delphi.work import delphi_jobs

    # The models are looked up late: a command that only lists job types has none.
    checks = ModelChecks(
        lambda address: resources.models.chat(address),
        lambda address: resources.models.embeddings(address),
        lenient=resources.settings.missing_models == "do-without",
    )
    return delphi_jobs(
        resources.store, resources.objects, lambda: resources.models.for_threads(), queue=lambda: resources.queue, checks=checks
    )


def queue_tables() -> TableNames:
    """The queue tables of Delphi's public schema, for jobs of its types."""
    from gateleg.apps.delphi.queue_tables import NAMES

    return NAMES


def make_routes(resources: Resources) -> APIRouter:
    """The routes of Delphi."""
    from fastapi import APIRouter

    from gateleg.apps.delphi import api
    from gateleg.apps.delphi.web import run_api, self_description_api, upload_api

    router = APIRouter()
    for part in (api, upload_api, self_description_api, run_api):
        router.routes.extend(part.router.routes)
    return router


def register_pages(resources: Resources) -> None:
    """Register the console pages of Delphi."""
    from gateleg.apps.delphi.pages import register

    register(resources)


async def find_tiles(resources: Resources, principal: Principal) -> Sequence[Tile]:
    """Tiles of the latest reports."""
    from gateleg.apps.delphi.web.showcase import last_reports

    return await last_reports(resources.store, principal)


async def search(resources: Resources, principal: Principal, text: str) -> Sequence[SearchHit]:
    """Find conversations by topic or name."""
    from gateleg.apps.delphi.web.showcase import find_conversations

    return await find_conversations(resources.store, principal, text)


async def sees_job(resources: Resources, principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member may see the conversation of a job."""
    from gateleg.apps.delphi.rules import may_see

    conversation = await _conversation_of(resources, job)
    return conversation is not None and may_see(principal, conversation.group, conversation.tenant)


async def changes_job(resources: Resources, principal: Principal, job: Job | ArchivedJob) -> bool:
    """Whether a member may change the conversation of a job."""
    from gateleg.apps.delphi.rules import may_change

    conversation = await _conversation_of(resources, job)
    return conversation is not None and may_change(principal, conversation.group, conversation.tenant)


async def _conversation_of(resources: Resources, job: Job | ArchivedJob) -> run_tables.StoredConversation | None:
    if job.subject is None:
        return None
    return await resources.store.find(run_tables.StoredConversation, conversation_id=job.subject, consistent=True)


async def load_demo(resources: Resources) -> None:
    """Upload a demo conversation and submit its pipeline. Idempotent."""
    from gateleg.apps.delphi.demonstration import load

    await load(resources.store, resources.queue)


def make_tools(resources: Resources) -> Sequence[AgentTool]:
    """The tools with which agents look up conversations."""
    from gateleg.apps.delphi.web.agent_tools import delphi_tools

    return delphi_tools(resources)


check_installed(PACKAGES)
application = Application(
    name="delphi",
    title="Opinion maps",
    icon="scatter_plot",
    about="Groups, common ground, topics and a report from the votes and comments of a conversation.",
    tables=(*tables.TABLES, *vote_tables.TABLES, *run_tables.TABLES),
    jobs=make_jobs,
    queue_tables=queue_tables,
    routes=make_routes,
    pages=register_pages,
    tiles=find_tiles,
    search=search,
    tools=make_tools,
    sees_job=sees_job,
    changes_job=changes_job,
    commands="gateleg.apps.delphi.commands:app",
    demo=load_demo,
    settings=DelphiSettings,
)
