"""Asking before something is lost: what it is, and its name when it is a lot."""

from __future__ import annotations

from nicegui import ui

from gateleg.web.console.markup import tag


async def confirm(title: str, loss: str, *, verb: str, name: str | None = None) -> bool:
    """Ask whether to go on. `loss` says what will be gone; with `name`, that must be typed first. Escape is no."""
    with ui.dialog() as dialog, tag("div", classes="sheet", role="document"):
        tag("h2", title)
        tag("p", loss)
        go = tag("button", verb, "deed danger first", type="button")
        if name is not None:
            with tag("label", classes="field"):
                tag("span", f"Type {name} to go on", "name")
                typed = ui.input().classes("box-input").props("outlined dense autofocus")
            go.props["disabled"] = True

            def check() -> None:
                go.props["disabled"] = typed.value != name
                go.update()

            typed.on_value_change(check)
        with tag("div", classes="deeds") as row:
            tag("button", "Keep it", "deed", type="button").on("click", lambda: dialog.submit(False))
        go.move(row)
        go.on("click", lambda: dialog.submit(True))
    answer = await dialog
    dialog.delete()
    return answer is True
