"""Buttons, and carrying out what they ask for: who may, what is said afterwards, and what is shown when it fails."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from nicegui import context, ui

from gateleg.web.console.failures import told
from gateleg.web.console.markup import Tag, tag
from gateleg.web.principal import Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from gateleg.web.console.frame import View

__all__ = ["carry_out", "carry_out_and_open", "deed"]


def deed(text: str, do: Callable[[], Awaitable[Any] | Any] | None = None, *, icon: str | None = None, look: str = "") -> Tag:
    """A button. `look` is one or more of `first`, `danger`, `bare`, `small`; while an asynchronous deed runs it cannot be pressed again."""
    button = tag("button", classes=f"deed {look}".strip(), type="button")
    with button:
        if icon is not None:
            ui.icon(icon)
        tag("span", text)
    if do is not None:
        wanted = do

        async def pressed() -> None:
            button.classes("busy")
            try:
                answer = wanted()
                if inspect.isawaitable(answer):
                    await answer
            finally:
                button.classes(remove="busy")

        button.on("click", pressed)
    return button


async def carry_out(view: View, role: Role, work: Callable[[], Awaitable[Any]], done: str = "") -> bool:
    """Do something on behalf of who looks: refused without the role, told when done, and shown when it fails; whether it was done."""
    client = context.client
    try:
        view.require(role)
        await work()
    except Exception as error:
        words = told(error)
        with client:
            ui.notification(f"{words.what} {words.fix}".strip(), icon="error", timeout=8, close_button="Close", position="bottom")
        return False
    if done:
        with client:
            ui.notification(done, icon="check", timeout=3, position="bottom")
    return True


async def carry_out_and_open(view: View, work: Callable[[], Awaitable[Any]], done: str, address: str) -> None:
    """Do something that an application's own rules allow who looks, and open a page. What the rules refuse is shown."""
    if await carry_out(view, Role.MEMBER, work, done):
        ui.navigate.to(address)
