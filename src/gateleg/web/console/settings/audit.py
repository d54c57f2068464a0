"""The audit log: who changed what, and when."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from gateleg.web.console.cells import Column, Row, ago_cell, id_cell, link_cell, meta_cell
from gateleg.web.console.empty import empty
from gateleg.web.console.failures import refusal, trouble
from gateleg.web.console.grid import Grid
from gateleg.web.console.ids import shortened
from gateleg.web.console.loading import show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.console.paging import pager
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.store import Page
    from gateleg.web.console.cells import Part
    from gateleg.web.console.frame import View
    from gateleg.web.tables import AuditEntry

COLUMNS = (
    Column("what", "Action"),
    Column("target", "Target", wraps=True),
    Column("who", "Actor"),
    Column("when", "When"),
    Column("details", "Details", wraps=True),
)
_PAGE_SIZE = 50
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def entry_row(entry: AuditEntry) -> Row:
    """An entry of the log; if it is about a job, it links to it."""
    details = ", ".join(f"{name}: {value}" for name, value in entry.details.items())
    cells = {"what": entry.action, "target": _target(entry), "who": entry.actor, "when": ago_cell(entry.at)}
    return Row(str(entry.entry_id), {**cells, "details": meta_cell(details) if details else None})


def _target(entry: AuditEntry) -> Part | None:
    if not entry.target:
        return None
    if entry.action.startswith("job.") and len(entry.target) == 36:
        return link_cell(shortened(entry.target), f"/jobs/{entry.target}")
    return id_cell(entry.target, 40)


async def audit_panel(view: View) -> None:
    """Show the log of a day, or of an actor."""
    if not view.may(Role.ADMIN):
        trouble(refusal(Role.ADMIN))
        return
    query = view.request.query_params
    day = query.get("day", "") if _DAY.fullmatch(query.get("day", "")) else None
    actor, cursor = query.get("actor", "").strip() or None, query.get("cursor") or None
    with tag("form", classes="filters", action="/settings", method="get", data_tidy="", aria_label="Filters"):
        tag("input", type="hidden", name="tab", value="audit")
        today = f"{view.host.store.setup.now():%Y-%m-%d}"
        tag("input", classes="box", type="date", name="day", value=day or ("" if actor else today), aria_label="Day", data_submits="")
        tag("input", classes="box", type="search", name="actor", value=actor or "", placeholder="Actor", aria_label="Actor")
        tag("button", "Show", "deed", type="submit")
    asked = view.host.audit.page(day=day, actor=actor, limit=_PAGE_SIZE, cursor=cursor)
    await show_when_loaded(asked, partial(_list, day, actor, cursor), retry="/settings?tab=audit")


def _list(day: str | None, actor: str | None, cursor: str | None, page: Page[AuditEntry]) -> None:
    with tag("section", classes="card tight", aria_label="Audit log"):
        if not page.items:
            empty("check", "No changes", "Changes made with this console or the API are listed here, with the name of the caller.")
            return
        Grid("Audit log", COLUMNS, [entry_row(entry) for entry in page])
        with tag("div", classes="card-foot"):
            pager("/settings", {"tab": "audit", "day": day, "actor": actor}, cursor=cursor, following=page.next, shown=len(page))
