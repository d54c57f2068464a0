"""The console pages: `/agents` lists the items of a tenant; each item has a page below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.web.agent_page import agent_page
from gateleg.apps.agents.web.evaluation_pages import evaluation_page, set_page
from gateleg.apps.agents.web.flow_page import flow_page
from gateleg.apps.agents.web.home_page import home_page, new_page
from gateleg.apps.agents.web.prompt_page import prompt_page
from gateleg.apps.agents.web.run_page import run_page
from gateleg.apps.agents.web.server_page import server_page
from gateleg.apps.agents.web.thread_page import thread_page
from gateleg.apps.agents.web.urls import EVALUATION, EVALUATION_SET, FLOW, HOME, NEW, PROMPT, SERVER
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources


def register(resources: Resources[AgentsSettings]) -> None:
    """Register the pages with the console."""
    ui.add_css(Path(__file__).parent / "web" / "agents.css", shared=True)

    @ui.page(HOME, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def home(part: str = "", tab: str = "", cursor: str = "", by: str = "", days: str = "", sets: str = "") -> None:
        await home_page(resources, part, tab, cursor, {"by": by, "days": days, "sets": sets})

    @ui.page(NEW, response_timeout=PAGE_TIMEOUT_SECONDS)
    async def new(part: str = "") -> None:
        await new_page(resources, part)

    @ui.page(f"{HOME}/agent/{{agent}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def agent_of(agent: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0) -> None:
        await agent_page(resources, agent, part, tab, cursor, newer)

    @ui.page(f"{PROMPT}/{{prompt}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def prompt_of(prompt: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0) -> None:
        await prompt_page(resources, prompt, part, tab, cursor, newer)

    @ui.page(f"{FLOW}/{{flow}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def flow_of(flow: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0) -> None:
        await flow_page(resources, flow, part, tab, cursor, newer)

    @ui.page(f"{SERVER}/{{server}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def server_of(server: str, part: str = "", tab: str = "") -> None:
        await server_page(resources, server, part, tab)

    _register_conversations(resources)


def _register_conversations(resources: Resources[AgentsSettings]) -> None:
    """Register the pages of threads, runs and evaluations."""

    @ui.page(f"{HOME}/thread/{{thread}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def thread_of(thread: str, part: str = "", agent: str = "", cursor: str = "") -> None:
        await thread_page(resources, thread, part, agent, cursor)

    @ui.page(f"{HOME}/thread/{{thread}}/run/{{run}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def run_of(thread: str, run: str, part: str = "") -> None:
        await run_page(resources, thread, run, part)

    @ui.page(f"{EVALUATION_SET}/{{evaluation_set}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def set_of(evaluation_set: str, part: str = "", tab: str = "", agent: str = "") -> None:
        await set_page(resources, evaluation_set, part, tab, agent)

    @ui.page(f"{EVALUATION}/{{evaluation}}", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def evaluation_of(evaluation: str, part: str = "") -> None:
        await evaluation_page(resources, evaluation, part)
