"""Dialogs: a sheet over the page with a title that screen readers announce."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.web.console.markup import tag

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["sheet"]


@contextmanager
def sheet(title: str, *, broad: bool = False, lasting: bool = False) -> Iterator[ui.dialog]:
    """Build a dialog: `with sheet("Priority") as dialog: ...`, then `answer = await dialog`, and finally `dialog.delete()`.

    Escape and a click outside close a dialog with the result None, unless it is `lasting`.
    """
    dialog = ui.dialog()
    dialog.props["aria-label"] = title
    if lasting:
        dialog.props("persistent")
    with dialog, tag("div", classes="sheet broad" if broad else "sheet"):
        tag("h2", title)
        yield dialog
