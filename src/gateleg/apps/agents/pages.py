"""The pages of agents in the console: `/agents` has what a tenant has, below it are agents and threads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.web.agent_page import agent_page
from gateleg.apps.agents.web.home_page import home_page, new_page
from gateleg.apps.agents.web.places import HOME, NEW
from gateleg.apps.agents.web.thread_page import thread_page
from gateleg.web.console.patience import PATIENT

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Resources


def register(resources: Resources[AgentsSettings]) -> None:
    """Make the pages known to the console."""
    ui.add_css(Path(__file__).parent / "web" / "agents.css", shared=True)

    @ui.page(HOME, response_timeout=PATIENT)
    async def home(part: str = "", tab: str = "", cursor: str = "") -> None:
        await home_page(resources, part, tab, cursor)

    @ui.page(NEW, response_timeout=PATIENT)
    async def new(part: str = "") -> None:
        await new_page(resources, part)

    @ui.page(f"{HOME}/agent/{{agent}}", response_timeout=PATIENT)
    async def agent_of(agent: str, part: str = "", tab: str = "", cursor: str = "") -> None:
        await agent_page(resources, agent, part, tab, cursor)

    @ui.page(f"{HOME}/thread/{{thread}}", response_timeout=PATIENT)
    async def thread_of(thread: str, part: str = "", agent: str = "") -> None:
        await thread_page(resources, thread, part, agent)
