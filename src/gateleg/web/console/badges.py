"""Chips that say a state: an icon, a word and a colour, always together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Job, JobStatus, Readiness
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.console.theme import Kind

__all__ = ["chip", "look_of"]


@dataclass(frozen=True)
class Look:
    """How a state looks."""

    kind: Kind
    word: str
    icon: str


WAITING = Look("waiting", "Waiting", "schedule")
DELAYED = Look("waiting", "Delayed", "snooze")
BLOCKED = Look("waiting", "Blocked", "account_tree")
RUNNING = Look("running", "Running", "play_circle")
STOPPING = Look("warning", "Stopping", "stop_circle")
DONE = Look("done", "Done", "check_circle")
FAILED = Look("failed", "Failed", "error")
CANCELLED = Look("cancelled", "Cancelled", "cancel")

BY_STATUS = {
    JobStatus.PENDING: WAITING,
    JobStatus.PROCESSING: RUNNING,
    JobStatus.COMPLETED: DONE,
    JobStatus.FAILED: FAILED,
    JobStatus.CANCELLED: CANCELLED,
}


def look_of(job: Job) -> Look:
    """How a job looks: what waits says for what, and what was asked to stop says so."""
    if job.status == JobStatus.PENDING:
        return {Readiness.DELAYED: DELAYED, Readiness.BLOCKED: BLOCKED}.get(job.readiness, WAITING)
    if job.status == JobStatus.PROCESSING and job.cancel_requested is not None:
        return STOPPING
    return BY_STATUS[job.status]


def chip(look: Look, *, large: bool = False) -> Element:
    """A state on a page."""
    with tag("span", classes=f"chip k-{look.kind}{' large' if large else ''}") as made:
        ui.icon(look.icon)
        tag("span", look.word)
    return made
