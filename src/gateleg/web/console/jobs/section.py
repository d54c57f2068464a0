"""The pages about jobs, and the tabs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.web.console.live import LiveIndicator
from gateleg.web.console.markup import tag
from gateleg.web.console.navigation import Crumb
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from gateleg.web.console.frame import View

PAGES = (
    ("/jobs", "All jobs"),
    ("/jobs/queues", "Queues"),
    ("/jobs/workers", "Workers"),
    ("/jobs/schedules", "Schedules"),
    ("/jobs/dead", "Failed"),
    ("/jobs/changes", "Failed changes"),
    ("/jobs/archive", "Archive"),
)
#: Breadcrumbs of the section.
CRUMBS = (Crumb("Jobs", "/jobs"),)


def section_head(view: View, current: str, *, button: tuple[str, str] = ("Submit a job", "/jobs/submit")) -> LiveIndicator:
    """The title, the live indicator, the main button, and the tabs of the section."""
    with tag("header", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", "Jobs")
        with tag("div", classes="deeds"):
            pulse = LiveIndicator()
            if view.may(Role.OPERATOR):
                words, href = button
                with tag("a", classes="deed first", href=href):
                    ui.icon("add")
                    tag("span", words)
    with tag("nav", classes="tabs", aria_label="Jobs"):
        for href, title in PAGES:
            tag("a", title, href=href, aria_current="page" if href == current else None)
    return pulse
