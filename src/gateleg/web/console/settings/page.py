"""The settings page, with a tab for each part.

The version, the stores, and what is installed.

The settings in effect: names, values, and the origin of each value.

The usage of models on a day, and its cost.

The audit log: who changed what, and when.
"""

from __future__ import annotations

import platform
import re
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

import gateleg
from gateleg.ai import ModelSettings
from gateleg.host.model_usage import read_usage
from gateleg.host.openid import OpenIdSettings
from gateleg.host.principal import Role
from gateleg.web.console.cells import Column, Row, ago_cell, id_cell, link_cell, meta_cell, mono_cell, tag_cell
from gateleg.web.console.failures import empty, refusal, trouble
from gateleg.web.console.frame import Tabs, frame
from gateleg.web.console.lists import PAGE_TIMEOUT_SECONDS, pager, show_when_loaded
from gateleg.web.console.markup import section, shortened, tag
from gateleg.web.console.settings.keys import keys_panel
from gateleg.web.console.settings.secrets import secrets_panel
from gateleg.web.console.settings.sessions import everyones_panel
from gateleg.web.console.settings.webhooks import webhooks_panel
from gateleg.web.console.widgets import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from gateleg.ai import UsageDay
    from gateleg.host.application import Application
    from gateleg.host.settings import Settings
    from gateleg.host.tables import AuditEntry
    from gateleg.store import Page
    from gateleg.web.console.cells import Cell, Part
    from gateleg.web.console.frame import View


APPLICATION_COLUMNS = (
    Column("title", "Application"),
    Column("about", "About", wraps=True),
    Column("tables", "Tables", right=True),
)


def application_row(application: Application) -> Row:
    """An installed application."""
    name = link_cell(application.title, f"/{application.name}") if application.pages is not None else application.title
    cells = {"title": name, "about": meta_cell(application.about), "tables": str(len(application.tables))}
    return Row(application.name, cells)


async def about_panel(view: View) -> None:
    """Show the version, the stores, and what is installed."""
    host = view.host
    facts = (
        ("Gateleg", gateleg.__version__),
        ("Python", platform.python_version()),
        ("Data", host.environment),
        ("Tables", f"{len(host.tables)} declared"),
        ("Job types", f"{len(list(host.queue.context.jobs))} registered"),
    )
    with tag("section", classes="card", aria_label="This host"), tag("dl", classes="facts"):
        for name, value in facts:
            tag("dt", name)
            tag("dd", value)
    with section("Applications"), tag("div", classes="card tight"):
        if host.applications:
            Grid("Applications", APPLICATION_COLUMNS, [application_row(one) for one in host.applications])
        else:
            empty("box", "No applications", "Applications add tables, jobs, routes and pages. None is installed on this host.")
    with section("API"), tag("p", classes="prose"):
        tag("span", "Everything here is also available over HTTP: ")
        tag("a", "the API documentation", "link", href="/api/docs")
        tag("span", ".")


SETTING_COLUMNS = (
    Column("name", "Setting"),
    Column("value", "Value", wraps=True),
    Column("origin", "From"),
    Column("about", "About", wraps=True),
)


def setting_rows(settings: Settings, applications: Sequence[Application] = ()) -> list[Row]:
    """All settings of the host and of its applications; those that are set come first."""
    described = {name: one.description or "" for name, one in type(settings).model_fields.items()}
    found = [*settings.table()]
    kit: tuple[tuple[str, type[BaseModel]], ...] = (("models", ModelSettings), ("oidc", OpenIdSettings))
    for section_name, model in kit:
        found += settings.section_table(section_name, model)
        described |= {f"{section_name}.{name}": one.description or "" for name, one in model.model_fields.items()}
    for application in applications:
        if application.settings is not None:
            found += settings.section_table(application.name, application.settings)
            fields = application.settings.model_fields
            described |= {f"{application.name}.{name}": one.description or "" for name, one in fields.items()}
    rows = [(origin == "default", Row(name, _cells(name, value, origin, described[name]))) for name, value, origin in found]
    return [row for _, row in sorted(rows, key=lambda one: one[0])]


def _cells(name: str, value: str, origin: str, about: str) -> dict[str, Cell]:
    return {
        "name": mono_cell(name),
        "value": mono_cell(value) if value else None,
        "origin": meta_cell("default") if origin == "default" else tag_cell(origin),
        "about": meta_cell(about),
    }


async def configuration_panel(view: View) -> None:
    """Show the settings in effect."""
    tag(
        "p",
        "The settings in effect. To change one, edit gateleg.toml, set a GATELEG_ environment variable or pass a flag, and "
        "restart the host.",
        "meta",
    )
    with tag("section", classes="card tight", aria_label="Configuration"):
        Grid("Configuration", SETTING_COLUMNS, setting_rows(view.host.settings, view.host.applications), complete=True)


MODEL_COLUMNS = (
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
    await show_when_loaded(read_usage(view.host.store, day, day), partial(_model_list, day), retry="/settings?tab=models")


def _model_list(day: date, found: Sequence[UsageDay]) -> None:
    with tag("section", classes="card tight", aria_label="Models"):
        if not found:
            empty("check", "No usage", f"The model usage of applications on {day} (UTC) is listed here, with its cost.")
            return
        Grid("Models", MODEL_COLUMNS, [usage_row(usage) for usage in found], complete=True)


AUDIT_COLUMNS = (
    Column("what", "Action"),
    Column("target", "Target", wraps=True),
    Column("who", "Actor"),
    Column("when", "When"),
    Column("details", "Details", wraps=True),
)
_PAGE_SIZE = 50


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
    await show_when_loaded(asked, partial(_audit_list, day, actor, cursor), retry="/settings?tab=audit")


def _audit_list(day: str | None, actor: str | None, cursor: str | None, page: Page[AuditEntry]) -> None:
    with tag("section", classes="card tight", aria_label="Audit log"):
        if not page.items:
            empty("check", "No changes", "Changes made with this console or the API are listed here, with the name of the caller.")
            return
        Grid("Audit log", AUDIT_COLUMNS, [entry_row(entry) for entry in page])
        with tag("div", classes="card-foot"):
            pager("/settings", {"tab": "audit", "day": day, "actor": actor}, cursor=cursor, following=page.next, shown=len(page))


TABS = (
    ("configuration", "Configuration"),
    ("keys", "API keys"),
    ("sessions", "Sessions"),
    ("secrets", "Secrets"),
    ("webhooks", "Webhooks"),
    ("audit", "Audit log"),
    ("models", "Models"),
    ("about", "About"),
)
PANELS = {
    "configuration": configuration_panel,
    "keys": keys_panel,
    "sessions": everyones_panel,
    "secrets": secrets_panel,
    "webhooks": webhooks_panel,
    "audit": audit_panel,
    "models": models_panel,
    "about": about_panel,
}


def register() -> None:
    """Serve the settings at `/settings`."""

    @ui.page("/settings", response_timeout=PAGE_TIMEOUT_SECONDS)
    async def settings(tab: str | None = None) -> None:
        with frame(title="Settings", section="settings") as view:
            await Tabs(TABS, tab, lambda key: PANELS[key](view)).start()
