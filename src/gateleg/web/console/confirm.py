"""Confirmation before data is lost; for large losses the user must type a name."""

from __future__ import annotations

from gateleg.web.console.dialogs import sheet
from gateleg.web.console.fields import Field
from gateleg.web.console.markup import tag


async def confirm(title: str, loss: str, *, verb: str, name: str | None = None, harmless: bool = False) -> bool:
    """Ask for confirmation. `loss` says what will be lost; with `name`, the user must type it first. Escape declines.

    A `harmless` action is confirmed without the colour of danger.
    """
    with sheet(title) as dialog:
        tag("p", loss)
        typed = None if name is None else Field(f"Type {name} to continue", on_change=lambda _: check())
        with tag("div", classes="deeds"):
            tag("button", "Cancel", "deed", type="button").on("click", lambda: dialog.submit(False))
            go = tag("button", verb, "deed first" if harmless else "deed danger first", type="button")

    def named() -> bool:
        return typed is None or typed.text == name

    def check() -> None:
        go.props["disabled"] = not named()
        go.update()

    check()
    go.on("click", lambda: dialog.submit(True) if named() else None)
    answer = await dialog
    dialog.delete()
    return answer is True
