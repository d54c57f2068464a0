"""Secrets that are shown once, when they are created."""

from __future__ import annotations

from gateleg.web.console.actions import button
from gateleg.web.console.dialogs import sheet
from gateleg.web.console.markup import tag


async def show_once(title: str, note: str, secret: str) -> None:
    """Show a secret to be copied, until the user says that it is."""
    with sheet(title, lasting=True) as dialog:
        tag("p", note)
        tag("pre", secret, "code wrap", tabindex=0)
        with tag("div", classes="deeds"):
            tag("button", "Copy", "deed", type="button", data_copy=secret)
            button("I have copied it", lambda: dialog.submit(True), look="first")
    await dialog
    dialog.delete()
