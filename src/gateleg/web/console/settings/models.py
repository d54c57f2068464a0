"""The usage of models on a day, and its cost."""

from __future__ import annotations

import re
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from gateleg.web.console.cells import Column, Row, meta_cell
from gateleg.web.console.empty import empty
from gateleg.web.console.grid import Grid
from gateleg.web.console.loading import show_when_loaded
from gateleg.web.console.markup import tag
from gateleg.web.model_usage import read_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai import UsageDay
    from gateleg.web.console.frame import View

COLUMNS = (
    Column("model", "Model", wraps=True),
    Column("application", "Application"),
    Column("tenant", "Tenant"),
    Column("calls", "Calls"),
    Column("tokens", "Tokens"),
    Column("cost", "Cost"),
    Column("notes", "Notes", wraps=True),
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def usage_row(usage: UsageDay) -> Row:
    """One application's usage of a model. An incomplete cost is marked."""
    notes = [
        text
        for count, text in (
            (usage.failed, "failed"),
            (usage.unpriced, "without a price, not included in the cost"),
            (usage.estimated, "estimated"),
        )
        if count
        for text in [f"{count:,} {text}"]
    ]
    if usage.images:
        notes.append(f"{usage.images:,} images")
    if usage.seconds:
        notes.append(f"{usage.seconds:,} seconds")
    unknown = usage.unpriced and usage.unpriced + usage.failed == usage.calls
    return Row(
        f"{usage.day} {usage.slot}",
        {
            "model": usage.model,
            "application": usage.application,
            "tenant": usage.tenant,
            "calls": f"{usage.calls:,}",
            "tokens": f"{usage.input:,} in, {usage.output:,} out",
            "cost": "unknown" if unknown else f"{usage.cost:,.4f}",
            "notes": meta_cell(", ".join(notes)) if notes else None,
        },
    )


async def models_panel(view: View) -> None:
    """Show the usage of a day."""
    asked = view.request.query_params.get("day", "")
    today = view.host.store.setup.now().date()
    try:
        day = date.fromisoformat(asked) if _DAY.fullmatch(asked) else today
    except ValueError:
        day = today
    with tag("form", classes="filters", action="/settings", method="get", data_tidy="", aria_label="Filters"):
        tag("input", type="hidden", name="tab", value="models")
        tag("input", classes="box", type="date", name="day", value=f"{day}", aria_label="Day", data_submits="")
        tag("button", "Show", "deed", type="submit")
    await show_when_loaded(read_usage(view.host.store, day, day), partial(_list, day), retry="/settings?tab=models")


def _list(day: date, found: Sequence[UsageDay]) -> None:
    with tag("section", classes="card tight", aria_label="Models"):
        if not found:
            empty("check", "No usage", f"The model usage of applications on {day} (UTC) is listed here, with its cost.")
            return
        Grid("Models", COLUMNS, [usage_row(usage) for usage in found], complete=True)
