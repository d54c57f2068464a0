"""Cells of a grid: plain texts, or values with a type of presentation. Pure.

Status badges: an icon, a word and a colour, always together.

The look of states on pages and in tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from nicegui import ui

from gateleg.jobs import Job, JobStatus
from gateleg.jobs.tables import Readiness
from gateleg.web.console.markup import shortened, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nicegui.element import Element

    from gateleg.web.console.theme import Kind

__all__ = ["Column", "Row", "ago_cell", "badge_of", "chip", "meta_cell", "tag_cell"]

S = TypeVar("S")

Part = str | dict[str, Any]
#: None is an empty cell; several parts are shown beside each other.
Cell = Part | list[Part] | None


@dataclass(frozen=True)
class Column:
    """A column of a grid. `right` is for numbers, `desk` hides it on phones, `wraps` allows several lines."""

    key: str
    label: str
    right: bool = False
    desk: bool = False
    wraps: bool = False
    width: str | None = None


@dataclass(frozen=True)
class Row:
    """A row of a grid, identified by `id` across updates. `href` opens it."""

    id: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    href: str | None = None
    #: the accessible name of the row; by default its first text
    label: str | None = None

    @cached_property
    def drawn(self) -> dict[str, Any]:
        """The row as it is sent to browsers: built once for all pages."""
        return {"id": self.id, "href": self.href, "label": self.label, "cells": dict(self.cells)}


def chip_cell(badge: Badge, href: str | None = None) -> Part:
    """A state, optionally a link."""
    return {"t": "chip", "kind": badge.kind, "word": badge.word, "icon": badge.icon, **({"href": href} if href else {})}


def ago_cell(moment: datetime | None) -> Cell:
    """A relative time."""
    return None if moment is None else {"t": "ago", "at": _stamp(moment)}


def since_cell(moment: datetime) -> Part:
    """A running duration."""
    return {"t": "since", "at": _stamp(moment)}


def id_cell(text: str, length: int = 18) -> Part:
    """A shortened id that is copied whole."""
    return {"t": "id", "full": text, "short": shortened(text, length)}


def link_cell(text: str, href: str) -> Part:
    """A link."""
    return {"t": "link", "text": text, "href": href}


def mono_cell(text: str) -> Part:
    """Keys and code."""
    return {"t": "mono", "text": text}


def meta_cell(text: str) -> Part:
    """Secondary text."""
    return {"t": "meta", "text": text}


def tag_cell(text: str) -> Part:
    """A tag."""
    return {"t": "tag", "text": text}


def bar_cell(part: float, kind: Kind = "running", text: str = "") -> Part:
    """Progress from 0 to 1."""
    return {"t": "bar", "part": round(part, 4), "kind": kind, "text": text}


def button_cell(verb: str, text: str, *, look: str = "", off: bool = False) -> Part:
    """A button. The grid's `on_action` is called with its verb and the row's id."""
    return {"t": "deed", "verb": verb, "text": text, "look": look, "off": off}


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


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


#: The icon of each kind of state.
ICONS: dict[Kind, str] = {
    "waiting": "schedule",
    "running": "play_circle",
    "done": "check_circle",
    "failed": "error",
    "cancelled": "cancel",
    "warning": "warning",
    "neutral": "circle",
}


class Statuses(dict[S, tuple[str, "Kind"]]):
    """The label and colour of every state: `Statuses({Status.QUEUED: ("Waiting", "waiting"), Status.DONE: ("Answered", "done")})`."""

    def badge(self, status: S) -> Element:
        """A state on a page."""
        return chip(self.style(status))

    def cell(self, status: S) -> Part:
        """A state in a cell of a `Grid`."""
        return chip_cell(self.style(status))

    def style(self, status: S) -> Badge:
        """Its colour, word and icon."""
        word, kind = self[status]
        return Badge(kind, word, ICONS[kind])
