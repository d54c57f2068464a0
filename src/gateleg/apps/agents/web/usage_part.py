"""Usage and cost of runs: summed by day, agent, user or model, and as paged rows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.agents.usage import GROUPS, MOST_ROWS, Group, UsageSum, summarise_usage, usage_question
from gateleg.apps.agents.versions import AGENTS, load_active
from gateleg.apps.agents.web.urls import HOME, agent_place, in_part, tab_place
from gateleg.web.console.components import Column, Grid, Row, empty, link_cell, meta_cell, pager, tag

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from gateleg.apps.agents.usage_tables import DailyUsage
    from gateleg.apps.agents.web.page_context import Visit
    from gateleg.web.console.components import Part

_PERIODS = {"7": "7 days", "30": "30 days", "90": "90 days"}
_TITLES: dict[Group, str] = {"day": "Day", "agent": "Agent", "user": "User", "model": "Model"}
_SIZE = 50
_ROWS = "rows"
_SUMS = (
    Column("runs", "Runs", right=True),
    Column("input", "Tokens in", right=True, desk=True),
    Column("output", "Tokens out", right=True, desk=True),
    Column("cost", "Cost", right=True),
    Column("notes", "Notes", wraps=True, desk=True),
)


async def show_usage(visit: Visit, cursor: str, by: str = "", days: str = "") -> None:
    """Usage by `by`, or row by row, in the last days."""
    chosen = by if by in (*GROUPS, _ROWS) else "day"
    period = days if days in _PERIODS else "30"
    until = visit.resources.store.setup.now().date()
    since = until - timedelta(days=int(period) - 1)
    _choices(visit, chosen, period)
    if chosen == _ROWS:
        await _rows(visit, cursor, since, until, period)
    else:
        await _sums(visit, chosen, since, until)  # type: ignore[arg-type]


def _choices(visit: Visit, by: str, days: str) -> None:
    named: dict[str, str] = {**_TITLES, _ROWS: "Row by row"}  # type: ignore[dict-item]
    with tag("nav", classes="line gap-1", aria_label="What is shown"):
        for key, title in named.items():
            here = {"aria_current": "true"} if key == by else {}
            tag("a", title, f"deed small{' first' if here else ''}", href=tab_place(visit.context, "usage", by=key, days=days), **here)
    with tag("nav", classes="line gap-1", aria_label="Period"):
        for key, title in _PERIODS.items():
            here = {"aria_current": "true"} if key == days else {}
            tag("a", title, f"deed small{' first' if here else ''}", href=tab_place(visit.context, "usage", by=by, days=key), **here)


async def _sums(visit: Visit, by: Group, since: date, until: date) -> None:
    found = await summarise_usage(visit.resources.store, visit.context, by, since, until)
    if not found.groups:
        empty("clock", "Nothing was used", f"From {since} to {until} no model has answered a run that you may see.")
        return
    total = found.total
    tokens = f"{total.prompt_tokens:,} tokens in and {total.completion_tokens:,} out"
    tag("p", f"From {since} to {until}: {total.runs:,} runs, {tokens}, {cost_text(total)}.", "meta num")
    if not found.complete:
        tag("p", f"There is more than is added up here: the newest {MOST_ROWS:,} rows are. Choose fewer days.", "note warning")
    names = await _agent_names(visit, found.groups) if by == "agent" else {}
    ranked = found.groups.items() if by == "day" else sorted(found.groups.items(), key=lambda one: (-one[1].cost, -one[1].prompt_tokens))
    rows = [
        Row(key, {"name": names.get(key) or _user(key) if by != "model" else key, **_cells(one)}, label=key, href=_link(visit, by, key))
        for key, one in ranked
    ]
    Grid("Usage", (Column("name", _TITLES[by]), *_SUMS), rows, complete=True)


def _user(key: str) -> str:
    return key.removeprefix("/")


def _link(visit: Visit, by: Group, key: str) -> str | None:
    return agent_place(visit.context, key) if by == "agent" else None


async def _agent_names(visit: Visit, uuids: Iterable[str]) -> dict[str, str]:
    """The names of agents; one that was deleted keeps its id."""
    wanted = list(uuids)
    found = await load_active(visit.resources.store, visit.context, AGENTS, wanted)
    return {uuid: agent.agent_name for uuid, agent in zip(wanted, found, strict=True) if agent is not None}


async def _rows(visit: Visit, cursor: str, since: date, until: date, days: str) -> None:
    page = await visit.resources.store.page(usage_question(visit.context, since, until), limit=_SIZE, cursor=cursor or None)
    if not page.items and not cursor:
        empty("clock", "Nothing was used", f"From {since} to {until} no model has answered a run that you may see.")
        return
    names = await _agent_names(visit, dict.fromkeys(one.agent_uuid for one in page.items))
    columns = (
        Column("day", "Day"),
        Column("agent", "Agent"),
        Column("user", "User", desk=True),
        Column("model", "Model", desk=True),
        *_SUMS,
    )
    Grid("Usage", columns, [_row(visit, one, names) for one in page.items])
    state = {"tab": "usage", "by": _ROWS, "days": days}
    pager(in_part(visit.context, HOME), state, cursor=cursor or None, following=page.next, shown=len(page.items))


def _row(visit: Visit, one: DailyUsage, names: dict[str, str]) -> Row:
    summed = UsageSum()
    summed.add(one)
    cells = {
        "day": f"{one.day}",
        "agent": link_cell(names.get(one.agent_uuid, one.agent_uuid), agent_place(visit.context, one.agent_uuid)),
        "user": one.user_id or _user(one.owner_id),
        "model": one.model,
        **_cells(summed),
    }
    return Row(f"{one.day} {one.slot}", cells)


def _cells(one: UsageSum) -> dict[str, str | Part | None]:
    notes = []
    if one.unpriced:
        notes.append(f"{one.unpriced:,} replies without a price")
    if one.estimated:
        notes.append(f"{one.estimated:,} estimated")
    return {
        "runs": f"{one.runs:,}",
        "input": f"{one.prompt_tokens:,}",
        "output": f"{one.completion_tokens:,}",
        "cost": cost_text(one),
        "notes": meta_cell(", ".join(notes)) if notes else None,
    }


def cost_text(one: UsageSum) -> str:
    """What replies cost, as far as that is known."""
    return "no price known" if one.replies and one.unpriced == one.replies else f"${one.cost:,.4f}"
