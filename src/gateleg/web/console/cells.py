"""Cells of a grid: plain texts, or values with a type of presentation. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gateleg.web.console.ids import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.web.console.badges import Badge
    from gateleg.web.console.theme import Kind

__all__ = ["Column", "Row", "ago_cell", "meta_cell", "tag_cell"]

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
