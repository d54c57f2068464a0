"""Status badges: an icon, a word and a colour, always together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.tables import Readiness
from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.console.theme import Kind

__all__ = ["badge_of", "chip"]


@dataclass(frozen=True)
class Badge:
    """The colour, word and icon of a status."""

    kind: Kind
    word: str
    icon: str


WAITING = Badge("waiting", "Waiting", "schedule")
DELAYED = Badge("waiting", "Delayed", "snooze")
BLOCKED = Badge("waiting", "Blocked", "account_tree")
RUNNING = Badge("running", "Running", "play_circle")
STOPPING = Badge("warning", "Stopping", "stop_circle")
DONE = Badge("done", "Done", "check_circle")
FAILED = Badge("failed", "Failed", "error")
CANCELLED = Badge("cancelled", "Cancelled", "cancel")

UNREADABLE = Badge("failed", "Unreadable", "help")

BY_STATUS = {
    JobStatus.PENDING: WAITING,
    JobStatus.PROCESSING: RUNNING,
    JobStatus.COMPLETED: DONE,
    JobStatus.FAILED: FAILED,
    JobStatus.CANCELLED: CANCELLED,
}


def badge_of(job: Job) -> Badge:
    """The badge of a job, which also tells delayed, blocked and stopping jobs apart."""
    if job.status == JobStatus.PENDING:
        return {Readiness.DELAYED: DELAYED, Readiness.BLOCKED: BLOCKED}.get(job.readiness, WAITING)
    if job.status == JobStatus.PROCESSING and job.cancel_requested is not None:
        return STOPPING
    return BY_STATUS[job.status]


def chip(badge: Badge, *, large: bool = False) -> Element:
    """Draw a badge."""
    with tag("span", classes=f"chip k-{badge.kind}{' large' if large else ''}") as made:
        ui.icon(badge.icon)
        tag("span", badge.word)
    return made
