"""Drift and lint: how the deployed table differs from its declaration, and likely mistakes in the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.model.inspection import lint
from gateleg.web.console.badges import Badge, chip
from gateleg.web.console.empty import empty
from gateleg.web.console.markup import card, section, tag
from gateleg.web.console.tables.listing import badge_of, row_of
from gateleg.web.console.tables.snippets import StoreLocation

if TYPE_CHECKING:
    from gateleg.migrate import Plan
    from gateleg.model import Table
    from gateleg.model.inspection import Finding
    from gateleg.web.console.frame import View
    from gateleg.web.console.tables.table_snapshots import TableSnapshot


def health_tab(view: View, snapshot: TableSnapshot, table: Table) -> None:
    """The tab."""
    with section("Drift"), card("roomy", label="Drift"):
        with tag("div", classes="line gap-1"):
            chip(Badge(*badge_of(snapshot.state)))
            tag("span", row_of(snapshot).means)
        if snapshot.plan is not None and not snapshot.plan.done:
            _plan(view, snapshot.plan, table)
        for note in snapshot.plan.notes if snapshot.plan is not None else ():
            tag("p", note, "meta")
    with section("Lint"):
        found = list(dict.fromkeys(lint(table)))
        if not found:
            with card():
                empty("check", "No lint findings", "The declaration has no likely mistakes.")
        for code in dict.fromkeys(finding.code for finding in found):
            _rule(code, [finding for finding in found if finding.code == code])


def _plan(view: View, plan: Plan, table: Table) -> None:
    """The migration steps, and the command that runs them."""
    with tag("ol", classes="steps"):
        for step in plan.steps:
            with tag("li"):
                tag("span", f"{step.title[:1].upper()}{step.title[1:]}.", "strong")
                if step.loses:
                    tag("span", f"Loses: {step.loses}", "loses")
                if step.note:
                    tag("span", step.note, "meta")
        for reason in plan.rebuild:
            with tag("li"):
                tag("span", f"{reason[:1].upper()}{reason[1:]}.", "strong")
                tag("span", "DynamoDB cannot change this in place: it needs a new table.", "meta")
    modules = dict.fromkeys(spec.entity.__module__ for spec in table.specs)
    location = StoreLocation.of(view.host.settings)
    words = ["gateleg", "tables", "apply", *location.options, "--only", table.name, "--billing", "keep"]
    words += [word for module in modules for word in ("--tables", module)]
    command = location.command(table, words)
    tag("p", "Apply the changes with this command; it asks before a step that loses data.", "meta")
    tag("pre", command, "code wrap")
    with tag("div"):
        tag("button", "Copy", "deed small", type="button", data_copy=command)


def _rule(code: str, findings: list[Finding]) -> None:
    """One lint rule with its explanation, then each finding."""
    with card("roomy", label=code):
        with tag("div", classes="line gap-1"):
            ui.icon("lightbulb").style("color:var(--warning)")
            tag("h3", code.replace("-", " ").capitalize())
            tag("span", code, "plain-chip mono")
        tag("p", findings[0].why, "meta")
        with tag("ul", classes="remarks"):
            for finding in findings:
                with tag("li"):
                    tag("span", finding.where, "mono strong")
                    tag("span", finding.message)
        for fix in dict.fromkeys(finding.fix for finding in findings):
            with tag("div", classes="line gap-1"):
                ui.icon("arrow_forward").style("color:var(--muted)")
                tag("span", fix)
