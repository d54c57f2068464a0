"""The version, the stores, and what is installed."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import gateleg
from gateleg.web.console.cells import Column, Row, link_cell, meta_cell
from gateleg.web.console.empty import empty
from gateleg.web.console.grid import Grid
from gateleg.web.console.markup import section, tag

if TYPE_CHECKING:
    from gateleg.web.application import Application
    from gateleg.web.console.frame import View

COLUMNS = (
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
            Grid("Applications", COLUMNS, [application_row(one) for one in host.applications])
        else:
            empty("box", "No applications", "Applications add tables, jobs, routes and pages. None is installed on this host.")
    with section("API"), tag("p", classes="prose"):
        tag("span", "Everything here is also available over HTTP: ")
        tag("a", "the API documentation", "link", href="/api/docs")
        tag("span", ".")
