"""The page of a tenant's agents, prompts, flows and tool servers, and a form for a new agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.catalogue import list_llms
from gateleg.apps.agents.flows import list_flows
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import list_prompts
from gateleg.apps.agents.saving import save_agent
from gateleg.apps.agents.servers import list_servers
from gateleg.apps.agents.thread_tables import Run
from gateleg.apps.agents.web.agent_form import AgentForm, agent_form
from gateleg.apps.agents.web.places import HOME, NEW, agent_place, in_part, thread_place
from gateleg.apps.agents.web.statuses import run_cell
from gateleg.apps.agents.web.visiting import Visit
from gateleg.web.console.components import Column, Crumb, Grid, ModelForm, Row, Tabs, ago_cell, empty, frame, pager, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Resources

_TABS = (
    *(("agents", "Agents"), ("prompts", "Prompts"), ("flows", "Flows"), ("servers", "Tool servers"), ("runs", "Runs")),
    *(("evaluation", "Evaluation"), ("usage", "Usage")),
)
_TENANTS = ("tenants", "Tenants")
_ACTIVE = ("active",)
_SIZE = 50
_NAMED = (Column("name", "Name"), Column("about", "About", wraps=True, desk=True), Column("changed", "Changed", desk=True))
_RUNS = (
    Column("question", "Run"),
    Column("status", "Status"),
    Column("model", "Model", desk=True),
    Column("tokens", "Tokens", right=True, desk=True),
    Column("cost", "Cost", right=True, desk=True),
    Column("when", "Begun"),
)


async def home_page(resources: Resources[AgentsSettings], part: str = "", tab: str = "", cursor: str = "") -> None:
    """What a tenant has."""
    with frame(title="Agents", section="agents", titled=False) as view:
        visit = Visit.of(view, resources, part)
        with tag("div", classes="head"):
            with tag("div", classes="titles"):
                tag("h1", "Agents")
                tag("p", f"Tenant {visit.context.part_id} on {visit.context.endpoint_id}", "meta")
            if visit.context.edits:
                with tag("div", classes="deeds"), tag("a", classes="deed first", href=in_part(visit.context, NEW)):
                    ui.icon("add")
                    tag("span", "New agent")

        async def build(key: str) -> None:
            await _BUILDERS[key](visit, cursor if key == (tab or "agents") else "")

        await Tabs(_TABS, tab or None, build).start()


def _paging(cursor: str) -> Paging:
    return Paging(limit=_SIZE, cursor=cursor or None)


def _listed(visit: Visit, tab: str, label: str, columns: Sequence[Column], rows: Sequence[Row], cursor: str, following: str | None) -> None:
    if not rows and not cursor:
        empty("box", f"No {label.lower()} yet", "They are listed here when there are some.")
        return
    Grid(label, columns, rows)
    state = {} if tab == "agents" else {"tab": tab}
    pager(in_part(visit.context, HOME), state, cursor=cursor or None, following=following, shown=len(rows))


async def _agents(visit: Visit, cursor: str) -> None:
    found = await list_agents(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    if not found.items and not cursor:
        more = {"button": "New agent", "href": in_part(visit.context, NEW)} if visit.context.edits else {}
        empty("people", "No agents yet", "An agent has a model, instructions and tools, and answers in threads.", **more)
        return
    columns = (*_NAMED[:2], Column("model", "Model"), _NAMED[2])
    rows = [
        Row(
            one.agent_uuid,
            {
                "name": one.agent_name,
                "about": one.agent_description or "",
                "model": f"{one.llm_provider} {one.configuration.get('model', '')}".strip(),
                "changed": ago_cell(one.updated_at),
            },
            href=agent_place(visit.context, one.agent_uuid),
        )
        for one in found.items
    ]
    _listed(visit, "agents", "Agents", columns, rows, cursor, found.next)


async def _prompts(visit: Visit, cursor: str) -> None:
    found = await list_prompts(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    rows = [
        Row(
            one.prompt_uuid,
            {"name": one.prompt_name, "about": one.prompt_description or one.prompt_type, "changed": ago_cell(one.updated_at)},
        )
        for one in found.items
    ]
    _listed(visit, "prompts", "Prompts", _NAMED, rows, cursor, found.next)


async def _flows(visit: Visit, cursor: str) -> None:
    found = await list_flows(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    rows = [
        Row(
            one.flow_snippet_uuid,
            {"name": one.flow_name, "about": f"{len(one.enabled_tools)} tools", "changed": ago_cell(one.updated_at)},
        )
        for one in found.items
    ]
    _listed(visit, "flows", "Flows", _NAMED, rows, cursor, found.next)


async def _servers(visit: Visit, cursor: str) -> None:
    found = await list_servers(visit.resources.store, visit.context, _paging(cursor))
    rows = [
        Row(one.mcp_server_uuid, {"name": one.mcp_label, "about": one.mcp_server_url, "changed": ago_cell(one.updated_at)})
        for one in found.items
    ]
    _listed(visit, "servers", "Tool servers", _NAMED, rows, cursor, found.next)


async def _runs(visit: Visit, cursor: str) -> None:
    """The newest runs: the caller's own, or those of the whole tenant for those who see them."""
    context, store = visit.context, visit.resources.store
    mine = Run.of_owner(partition=context.partition, owner_id=context.owner)
    question = Run.in_partition(partition=context.partition) if context.sees_all else mine
    page = await store.page(question, limit=_SIZE, cursor=cursor or None)
    _listed(visit, "runs", "Runs", _RUNS, [_run_row(visit, one) for one in page], cursor, page.next)


def _run_row(visit: Visit, one: Run) -> Row:
    cells = {
        "question": one.run_uuid[:13],
        "status": run_cell(one.status),
        "model": one.model or "",
        "tokens": f"{one.total_tokens:,}",
        "cost": "" if one.cost is None else f"${one.cost:.4f}",
        "when": ago_cell(one.created_at),
    }
    return Row(one.run_uuid, cells, href=thread_place(visit.context, one.thread_uuid))


_BUILDERS = {"agents": _agents, "prompts": _prompts, "flows": _flows, "servers": _servers, "runs": _runs}


async def new_page(resources: Resources[AgentsSettings], part: str = "") -> None:
    """A new agent."""
    with frame(title="New agent", section="agents", crumbs=[Crumb("Agents", HOME)]) as view:
        visit = Visit.of(view, resources, part)
        llms = (await list_llms(resources.store, visit.context, Paging())).items
        if not llms:
            empty("box", "No models yet", "Operators of the host add models to the catalogue with the mutation insertUpdateLlm.")
            return

        async def make(form: AgentForm) -> None:
            made = await save_agent(resources, visit.context, form.values())
            ui.navigate.to(agent_place(visit.context, made.agent_uuid))

        ModelForm(agent_form(llms), make, title="New agent", submit="Create")
