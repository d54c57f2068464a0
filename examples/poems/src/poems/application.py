"""The application as a host sees it. Functions import what they need when they are called, so that declaring it loads little."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gateleg.host import AgentTool, Application, Check, CheckResult, SearchHit, Tile
from poems.settings import PoemSettings
from poems.tables import poems

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fastapi import APIRouter

    from gateleg.host import EventRoute, Principal, Resources, Surface
    from gateleg.jobs import Jobs

    Poems = Resources[PoemSettings]


def make_jobs(resources: Poems) -> Jobs:
    """The job that sets poems."""
    from poems import work

    return work.make_jobs(resources)


def make_routes(resources: Poems) -> APIRouter:
    """The routes below /api/poems."""
    from poems import api

    return api.make_routes(resources)


def make_surfaces(resources: Poems) -> list[Surface]:
    """GraphQL and MCP."""
    from poems import surfaces

    return surfaces.make_surfaces(resources)


def make_streams(resources: Poems) -> list[EventRoute]:
    """The event streams below /events/poems."""
    from poems import streams

    return streams.make_streams(resources)


def register_pages(resources: Poems) -> None:
    """The page at /poems."""
    from poems import pages

    pages.register_pages(resources)


@asynccontextmanager
async def lifespan(resources: Poems) -> AsyncIterator[None]:
    """Keep what a process of the host works with."""
    resources.state["ink"] = "black"
    yield
    resources.state.clear()


async def find_tiles(resources: Poems, principal: Principal) -> list[Tile]:
    """The poems of somebody, the latest first."""
    from poems import service

    found = sorted(await service.poems_of(resources, principal), key=lambda poem: poem.written_at, reverse=True)
    return [Tile(poem.title, "/poems", at=poem.written_at) for poem in found]


async def search(resources: Poems, principal: Principal, text: str) -> list[SearchHit]:
    """Poems by their title."""
    from poems import service

    return [SearchHit(poem.title, "/poems", "Poem") for poem in await service.find_poems(resources, principal, text)]


class Title(BaseModel):
    """What to look for."""

    text: str


def make_tools(resources: Poems) -> list[AgentTool]:
    """What agents may do for somebody."""
    from poems import service

    async def find(principal: Principal, title: Title) -> list[str]:
        return [poem.title for poem in await service.find_poems(resources, principal, title.text)]

    return [AgentTool("find", "Find poems by their title.", Title, find)]


def make_checks(resources: Poems) -> list[Check]:
    """Whether there is ink."""

    async def ink() -> CheckResult:
        colour: Any = resources.state.get("ink")
        return CheckResult("ok", f"{colour} ink") if colour else CheckResult("failed", "no ink", fix="Start the application.")

    return [Check("ink", ink)]


application = Application(
    name="poems",
    title="Poems",
    icon="history_edu",
    about="Poems, and what is known of them.",
    tables=(poems,),
    settings=PoemSettings,
    jobs=make_jobs,
    routes=make_routes,
    surfaces=make_surfaces,
    streams=make_streams,
    pages=register_pages,
    commands="poems.commands:app",
    lifespan=lifespan,
    tiles=find_tiles,
    search=search,
    tools=make_tools,
    checks=make_checks,
)
