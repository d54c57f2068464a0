"""The pages about jobs, and the tabs that lead from one to the other."""

from __future__ import annotations

from gateleg.web.console.markup import tag

PLACES = (
    ("/jobs", "All jobs"),
    ("/jobs/queues", "Queues"),
    ("/jobs/workers", "Workers"),
    ("/jobs/schedules", "Schedules"),
    ("/jobs/dead", "Dead letters"),
    ("/jobs/archive", "Archive"),
)


def place_tabs(current: str) -> None:
    """The tabs of the section."""
    with tag("nav", classes="tabs", aria_label="About jobs"):
        for href, title in PLACES:
            tag("a", title, href=href, aria_current="page" if href == current else None)
