"""Leaving a form: what was typed and not saved is asked about before it is lost. The browser's own script keeps watch; see `console.js`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from nicegui import ui

if TYPE_CHECKING:
    from nicegui.element import Element

E = TypeVar("E", bound="Element")


def guarded(part: E) -> E:
    """A part of a page in which typing is not to be lost by accident."""
    part.props["data-guards"] = ""
    return part


def unguarded(part: E) -> E:
    """A control that loses nothing when it is changed, or a link or button that says what it throws away."""
    part.props["data-free"] = ""
    return part


def leave_to(address: str) -> None:
    """Go on to another page once what was typed is saved."""
    ui.run_javascript(f"gateleg.leave({json.dumps(address)})")
