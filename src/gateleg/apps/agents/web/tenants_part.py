"""The tenants of an endpoint with counts and links, for host operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.apps.agents.erasing.tenants import begin_erasure, begin_export
from gateleg.apps.agents.tenants import COUNTED, list_tenants
from gateleg.apps.agents.web.urls import HOME, in_part
from gateleg.host import Role
from gateleg.web.console.components import Column, Field, Grid, Row, address, ago_cell, button, carry_out, confirm, empty, pager, tag

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from uuid import UUID

    from gateleg.apps.agents.tenants import TenantRow
    from gateleg.apps.agents.web.page_context import Visit

_COLUMNS = (
    Column("part", "Tenant"),
    Column("agents", "Agents", right=True),
    Column("prompts", "Prompts", right=True, desk=True),
    Column("flows", "Flows", right=True, desk=True),
    Column("servers", "Tool servers", right=True, desk=True),
    Column("threads", "Threads", right=True),
    Column("changed", "Agents changed", desk=True),
)


async def show_tenants(visit: Visit, cursor: str) -> None:
    """The tenants that have an agent, and a field to open any tenant."""
    with tag("div", classes="line gap-1 agents-enter"):
        field = Field("Tenant", "", placeholder="acme", on_enter=lambda: _enter(field.text))
        button("Enter", lambda: _enter(field.text), look="small")
    page = await list_tenants(visit.resources.store, visit.context, cursor or None)
    if not page.items and not cursor and page.next is None:
        empty("people", "No tenants yet", f"Tenants of the endpoint {visit.context.endpoint_id} appear here once they have an agent.")
        return
    Grid("Tenants", _COLUMNS, [_row(one) for one in page.items])
    pager(in_part(visit.context, HOME), {"tab": "tenants"}, cursor=cursor or None, following=page.next, shown=len(page.items))


def offer_tenant_jobs(visit: Visit) -> None:
    """Buttons that export and erase the current tenant."""
    part = visit.context.part_id

    async def export() -> None:
        await _begin(visit, begin_export(visit.resources, visit.context))

    async def erase() -> None:
        loss = (
            "All its agents, prompts, threads, files and secrets are permanently deleted. Revoke its keys first, and export what you need."
        )
        if await confirm(f"Erase all data of {part}?", loss, verb="Erase", name=part):
            await _begin(visit, begin_erasure(visit.resources, visit.context))

    button("Export", export, icon="download", look="small")
    button("Erase", erase, icon="delete_forever", look="small danger")


async def _begin(visit: Visit, work: Coroutine[Any, Any, UUID]) -> None:
    async def begun() -> None:
        ui.navigate.to(f"/jobs/{await work}")

    await carry_out(visit.view, Role.OPERATOR, begun)


def _enter(part: str) -> None:
    if part:
        ui.navigate.to(address(HOME, {"part": part}))


def _row(one: TenantRow) -> Row:
    counts = {name: _count(getattr(one, name)) for name in ("agents", "prompts", "flows", "servers", "threads")}
    return Row(one.part_id, {"part": one.part_id, **counts, "changed": ago_cell(one.changed_at)}, href=address(HOME, {"part": one.part_id}))


def _count(number: int) -> str:
    return f"{number:,} or more" if number >= COUNTED else f"{number:,}"
