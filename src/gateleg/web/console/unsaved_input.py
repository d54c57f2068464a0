"""Warns before unsaved input is lost. The browser's script watches for it; see `console.js`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from nicegui import ui

if TYPE_CHECKING:
    from nicegui.element import Element

E = TypeVar("E", bound="Element")


def guarded(part: E) -> E:
    """A part of a page whose unsaved input is protected."""
    part.props["data-guards"] = ""
    return part


def unguarded(part: E) -> E:
    """A control whose change loses nothing, or a link or button that says what it discards."""
    part.props["data-free"] = ""
    return part


def open_after_save(address: str) -> None:
    """Open another page after the input was saved."""
    ui.run_javascript(f"gateleg.leave({json.dumps(address)})")
