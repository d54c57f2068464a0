"""The lists of the start page: agents, prompts, flows, tool servers and runs. Each is a paged tab."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.flows import list_flows
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import list_prompts
from gateleg.apps.agents.servers import list_servers
from gateleg.apps.agents.thread_tables import Run
from gateleg.apps.agents.web.statuses import run_cell
from gateleg.apps.agents.web.urls import FLOW, FRESH, HOME, NEW, PROMPT, SERVER, agent_place, in_part, item_place, run_place
from gateleg.web.console.components import Column, Grid, Row, ago_cell, empty, pager, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.web.page_context import Visit

__all__ = ["show_agents", "show_flows", "show_list", "show_prompts", "show_runs", "show_servers"]

_ACTIVE = ("active",)
_SIZE = 50
_NAMED = (Column("name", "Name"), Column("about", "About", wraps=True, desk=True), Column("changed", "Changed", desk=True))
_RUNS = (
    Column("question", "Run"),
    Column("status", "Status"),
    Column("user", "User", desk=True),
    Column("model", "Model", desk=True),
    Column("tokens", "Tokens", right=True, desk=True),
    Column("cost", "Cost", right=True, desk=True),
    Column("when", "Begun"),
)


def _paging(cursor: str) -> Paging:
    return Paging(limit=_SIZE, cursor=cursor or None)


def offer_new(words: str, href: str) -> None:
    """A link to the page for a new item."""
    with tag("div", classes="line"), tag("a", classes="deed small first", href=href):
        ui.icon("add")
        tag("span", words)


def show_list(
    visit: Visit, tab: str, label: str, columns: Sequence[Column], rows: Sequence[Row], cursor: str, following: str | None
) -> None:
    """A page of a list, with links to the next and previous ones."""
    if not rows and not cursor and following is None:
        empty("box", f"No {label.lower()} yet", "New ones appear here.")
        return
    Grid(label, columns, rows)
    state = {} if tab == "agents" else {"tab": tab}
    pager(in_part(visit.context, HOME), state, cursor=cursor or None, following=following, shown=len(rows))


async def show_agents(visit: Visit, cursor: str) -> None:
    """The agents of the tenant."""
    found = await list_agents(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    if not found.items and not cursor and found.next is None:
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
    show_list(visit, "agents", "Agents", columns, rows, cursor, found.next)


async def show_prompts(visit: Visit, cursor: str) -> None:
    """The prompts of the tenant."""
    if visit.context.edits:
        offer_new("New prompt", item_place(visit.context, PROMPT, FRESH))
    found = await list_prompts(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    rows = [
        Row(
            one.prompt_uuid,
            {"name": one.prompt_name, "about": one.prompt_description or one.prompt_type, "changed": ago_cell(one.updated_at)},
            href=item_place(visit.context, PROMPT, one.prompt_uuid),
        )
        for one in found.items
    ]
    show_list(visit, "prompts", "Prompts", _NAMED, rows, cursor, found.next)


async def show_flows(visit: Visit, cursor: str) -> None:
    """The flows of the tenant."""
    if visit.context.edits:
        offer_new("New flow", item_place(visit.context, FLOW, FRESH))
    found = await list_flows(visit.resources.store, visit.context, _paging(cursor), statuses=_ACTIVE)
    rows = [
        Row(
            one.flow_snippet_uuid,
            {
                "name": one.flow_name,
                "about": f"{len(one.enabled_tools)} tools enabled" if one.enabled_tools else "all tools enabled",
                "changed": ago_cell(one.updated_at),
            },
            href=item_place(visit.context, FLOW, one.flow_snippet_uuid),
        )
        for one in found.items
    ]
    show_list(visit, "flows", "Flows", _NAMED, rows, cursor, found.next)


async def show_servers(visit: Visit, cursor: str) -> None:
    """The MCP servers of the tenant."""
    if visit.context.edits:
        offer_new("New tool server", item_place(visit.context, SERVER, FRESH))
    found = await list_servers(visit.resources.store, visit.context, _paging(cursor))
    rows = [
        Row(
            one.mcp_server_uuid,
            {"name": one.mcp_label, "about": one.mcp_server_url, "changed": ago_cell(one.updated_at)},
            href=item_place(visit.context, SERVER, one.mcp_server_uuid),
        )
        for one in found.items
    ]
    show_list(visit, "servers", "Tool servers", _NAMED, rows, cursor, found.next)


async def show_runs(visit: Visit, cursor: str) -> None:
    """The newest runs: the caller's own, or for viewers those of the whole tenant."""
    context, store = visit.context, visit.resources.store
    mine = Run.of_owner(partition=context.partition, owner_id=context.owner)
    question = Run.in_partition(partition=context.partition) if context.sees_all else mine
    page = await store.page(question, limit=_SIZE, cursor=cursor or None)
    show_list(visit, "runs", "Runs", _RUNS, [_run_row(visit, one) for one in page], cursor, page.next)


def _run_row(visit: Visit, one: Run) -> Row:
    cells = {
        "question": one.run_uuid[:13],
        "status": run_cell(one.status),
        "user": one.user_id or one.owner_id.rpartition("/")[2],
        "model": one.model or "",
        "tokens": f"{one.total_tokens:,}",
        "cost": "" if one.known_cost is None else f"${one.known_cost:.4f}",
        "when": ago_cell(one.created_at),
    }
    return Row(one.run_uuid, cells, href=run_place(visit.context, one.thread_uuid, one.run_uuid))
