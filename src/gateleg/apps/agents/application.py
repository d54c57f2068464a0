"""The agents application. Importing it does not load GraphQL, MCP or a model."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from gateleg.apps.agents.catalogue_tables import TABLES
from gateleg.apps.agents.evaluation_tables import EVALUATION_TABLES
from gateleg.apps.agents.extra_packages import PACKAGES
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.usage_tables import USAGE_TABLES
from gateleg.extras import check_installed
from gateleg.host import Application

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from fastapi import APIRouter

    from gateleg.host import Check, EventRoute, Principal, Resources, SearchHit, Surface, Tile
    from gateleg.jobs import Jobs


def make_checks(resources: Resources[AgentsSettings]) -> Sequence[Check]:
    """The checks for `gateleg doctor`."""
    from gateleg.apps.agents.checks import agents_checks

    return agents_checks(resources)


def make_jobs(resources: Resources[AgentsSettings]) -> Jobs:
    """The job types of agents."""
    from gateleg.apps.agents.work import agents_jobs

    return agents_jobs(resources)


def make_routes(resources: Resources[AgentsSettings]) -> APIRouter:
    """The routes of agents."""
    from fastapi import APIRouter

    from gateleg.apps.agents import api
    from gateleg.apps.agents.web import evaluation_api, tenant_api

    router = APIRouter()
    router.routes.extend((*api.router.routes, *evaluation_api.router.routes, *tenant_api.router.routes))
    return router


def make_surfaces(resources: Resources[AgentsSettings]) -> Sequence[Surface]:
    """GraphQL, OpenAI's API, and agents as MCP tools."""
    from gateleg.apps.agents.graphql.view import graphql_surface
    from gateleg.apps.agents.web.mcp_api import mcp_surface
    from gateleg.apps.agents.web.openai_api import openai_surface

    return [graphql_surface(resources), openai_surface(resources), mcp_surface(resources)]


def make_streams(resources: Resources[AgentsSettings]) -> Sequence[EventRoute]:
    """The event streams of agents."""
    from gateleg.apps.agents.web.events import run_streams

    return run_streams(resources)


@asynccontextmanager
async def lifespan(resources: Resources[AgentsSettings]) -> AsyncIterator[None]:
    """Add the local model to the catalogue."""
    from gateleg.apps.agents.running.local_model import add_local_model

    await add_local_model(resources.store)
    yield


async def load_demo(resources: Resources[AgentsSettings]) -> None:
    """Create the demonstration agent and ask it questions. A second call changes nothing."""
    from gateleg.apps.agents.demonstration import load

    await load(resources)


def register_pages(resources: Resources[AgentsSettings]) -> None:
    """The pages of agents."""
    from gateleg.apps.agents.pages import register

    register(resources)


async def find_tiles(resources: Resources[AgentsSettings], principal: Principal) -> Sequence[Tile]:
    """The agents of the caller's tenant, for the console's overview."""
    from gateleg.apps.agents.tenancy import assemble
    from gateleg.apps.agents.web.showcase import newest_agents

    return await newest_agents(resources.store, assemble(principal, resources.settings))


async def search(resources: Resources[AgentsSettings], principal: Principal, text: str) -> Sequence[SearchHit]:
    """Find agents, prompts, flows and tool servers of the caller's tenant by name."""
    from gateleg.apps.agents.tenancy import assemble
    from gateleg.apps.agents.web.showcase import find_by_name

    return await find_by_name(resources.store, assemble(principal, resources.settings), text)


def check_tenant(settings: AgentsSettings, tenant: str) -> None:
    """Raise `BadPartition` for a tenant that no request could work in."""
    from gateleg.apps.agents.tenancy import assemble
    from gateleg.host import Principal, Role

    assemble(Principal("key", Role.MEMBER, tenant=tenant), settings)


check_installed(PACKAGES)
#: Members see the jobs that they submitted: a run belongs to the caller who asked.
application = Application(
    name="agents",
    title="Agents",
    icon="smart_toy",
    about="Agents with tools and versioned prompts and flows, for many tenants.",
    tables=(*TABLES, *EVALUATION_TABLES, *USAGE_TABLES),
    settings=AgentsSettings,
    check_tenant=check_tenant,
    migrations="gateleg.apps.agents.migrations",
    jobs=make_jobs,
    routes=make_routes,
    surfaces=make_surfaces,
    streams=make_streams,
    lifespan=lifespan,
    commands="gateleg.apps.agents.commands:app",
    demo=load_demo,
    pages=register_pages,
    tiles=find_tiles,
    search=search,
    checks=make_checks,
)
