"""Asking before something is lost: what it is, and its name when it is a lot."""

from __future__ import annotations

from gateleg.web.console.dialogs import sheet
from gateleg.web.console.fields import Field
from gateleg.web.console.markup import tag


async def confirm(title: str, loss: str, *, verb: str, name: str | None = None, harmless: bool = False) -> bool:
    """Ask whether to go on. `loss` says what will be gone; with `name`, that must be typed first. Escape is no.

    What is `harmless`, but a lot, is asked without the colour of danger.
    """
    with sheet(title) as dialog:
        tag("p", loss)
        typed = None if name is None else Field(f"Type {name} to go on", on_change=lambda _: check())
        with tag("div", classes="deeds"):
            tag("button", "Leave it", "deed", type="button").on("click", lambda: dialog.submit(False))
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
