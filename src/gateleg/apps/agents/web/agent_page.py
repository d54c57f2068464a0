"""The page of an agent: its threads, versions with differences, tools, and a form for a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.agents import delete_agent, find_agent
from gateleg.apps.agents.running.run_work import toolbox_for
from gateleg.apps.agents.save_checks import save_agent
from gateleg.apps.agents.tables import Thread
from gateleg.apps.agents.versions import AGENTS
from gateleg.apps.agents.web.agent_form import AgentForm, form_for_agent
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.urls import HOME, agent_place, in_part, thread_place
from gateleg.apps.agents.web.versions_part import VersionsPart
from gateleg.web.console.components import (
    Column,
    Crumb,
    Grid,
    ModelForm,
    Row,
    Tabs,
    ago,
    ago_cell,
    button,
    empty,
    frame,
    pager,
    show_when_loaded,
    tag,
)

if TYPE_CHECKING:
    from gateleg.apps.agents.running.tools.toolbox import Toolbox
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.host import Resources

_TABS = (("threads", "Threads"), ("versions", "Versions"), ("instructions", "Instructions"), ("tools", "Tools"), ("edit", "New version"))
_SIZE = 30
_TOOLS = (Column("name", "Tool"), Column("about", "About", wraps=True), Column("kind", "From", desk=True))
_THREADS = (
    Column("title", "Thread"),
    Column("user", "User", desk=True),
    Column("runs", "Runs", right=True),
    Column("last", "Last activity"),
)


async def agent_page(
    resources: Resources[AgentsSettings], agent_uuid: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0
) -> None:
    """The page of an agent of the current tenant."""
    with frame(title="Agent", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        agent = await find_agent(resources.store, visit.context, agent_uuid=agent_uuid)
        if agent is None:
            show_not_found("agent")
            return
        _head(visit, agent)
        versions = VersionsPart(
            visit,
            AGENTS,
            agent_uuid,
            lambda **state: agent_place(visit.context, agent_uuid, **state),
            lambda version: delete_agent(resources.store, resources.secrets, visit.context, version),
        )

        async def build(key: str) -> None:
            match key:
                case "threads":
                    await _threads(visit, agent, cursor)
                case "versions":
                    await versions.show(cursor, newer)
                case "instructions":
                    tag("pre", agent.instructions or "No instructions.", "agents-text", dir="auto")
                case "tools":
                    await _tools(visit, agent)
                case "edit":
                    await _edit(visit, agent)

        await Tabs(_TABS if visit.context.edits else _TABS[:-1], tab or None, build, keep=visit.kept).start()


def _head(visit: Visit, agent: Agent) -> None:
    async def duplicate() -> None:
        async def work() -> None:
            values = {"agent_version_uuid": agent.agent_version_uuid}
            made = await save_agent(visit.resources, visit.context, values, copied=True)
            ui.navigate.to(agent_place(visit.context, made.agent_uuid))

        await visit.do(work, "Duplicated", in_part(visit.context, HOME))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", agent.agent_name, dir="auto")
            if agent.agent_description:
                tag("p", agent.agent_description, "muted", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"{agent.llm_provider} {agent.configuration.get('model', '')}".strip())
                tag("span", f"{agent.num_of_messages} messages of history")
                ago(agent.updated_at)
        with tag("div", classes="deeds"):
            with tag("a", classes="deed small first", href=thread_place(visit.context, "new", agent=agent.agent_uuid)):
                ui.icon("chat")
                tag("span", "New thread")
            if visit.context.edits:
                button("Duplicate", duplicate, icon="content_copy", look="small")


async def _threads(visit: Visit, agent: Agent, cursor: str) -> None:
    """The threads with the agent that the user may see."""
    context, store = visit.context, visit.resources.store
    mine = Thread.of_owner(partition=context.partition, owner_id=context.owner).filter(Thread.agent_uuid == agent.agent_uuid)
    question = Thread.of_agent(partition=context.partition, agent_uuid=agent.agent_uuid) if context.sees_all else mine
    page = await store.page(question, limit=_SIZE, cursor=cursor or None)
    if not page.items and not cursor:
        empty("people", "No threads yet", "Start a thread to talk to the agent.")
        return
    rows = [
        Row(
            one.thread_uuid,
            {
                "title": one.title or one.thread_uuid,
                "user": one.user_id or one.owner_id.removeprefix("/"),
                "runs": f"{one.run_count:,}",
                "last": ago_cell(one.updated_at),
            },
            href=thread_place(context, one.thread_uuid),
        )
        for one in page
    ]
    Grid("Threads", _THREADS, rows)
    pager(agent_place(context, agent.agent_uuid), {}, cursor=cursor or None, following=page.next, shown=len(rows))


async def _tools(visit: Visit, agent: Agent) -> None:
    """The tools that the agent may call in a run of the user."""

    def show(toolbox: Toolbox) -> None:
        for problem in toolbox.problems:
            tag("p", problem, "note warning")
        if not toolbox.tools:
            empty("box", "No tools", "To add application tools or tool servers, create a new version.")
            return
        rows = [
            Row(one.name, {"name": one.name, "about": one.description, "kind": "tool server" if one.kind == "mcp" else one.kind})
            for one in toolbox.tools.values()
        ]
        Grid("Tools", _TOOLS, rows, complete=True)

    context = visit.context
    part = context.part_id if context.part_given else None
    await show_when_loaded(toolbox_for(visit.resources, agent, context.partition, context.principal, part), show)


async def _edit(visit: Visit, agent: Agent) -> None:
    """The form for a new version."""

    async def save(form: AgentForm) -> None:
        await save_agent(visit.resources, visit.context, {**form.values(), "agent_uuid": agent.agent_uuid})
        ui.navigate.to(agent_place(visit.context, agent.agent_uuid, tab="versions"))

    form = await form_for_agent(visit, agent)
    if form is not None:
        ModelForm(form, save, title="New version", submit="Save as active version", values=AgentForm.values_of(agent))
