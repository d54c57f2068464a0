"""Dialogs: a sheet over the page with a title that screen readers announce.

Buttons and the actions behind them: check the role, run, then notify of success or failure.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nicegui import context, ui

from gateleg.host.principal import Role
from gateleg.web.console.failures import describe_error
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from gateleg.web.console.frame import View

__all__ = ["button", "carry_out", "carry_out_and_open", "sheet"]


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


def button(text: str, do: Callable[[], Awaitable[Any] | Any] | None = None, *, icon: str | None = None, look: str = "") -> Tag:
    """A button. `look` is one or more of `first`, `danger`, `bare`, `small`; it is disabled while an asynchronous action runs."""
    element = tag("button", classes=f"deed {look}".strip(), type="button")
    with element:
        if icon is not None:
            ui.icon(icon)
        tag("span", text)
    if do is not None:
        wanted = do

        async def pressed() -> None:
            element.classes("busy")
            try:
                answer = wanted()
                if inspect.isawaitable(answer):
                    await answer
            finally:
                element.classes(remove="busy")

        element.on("click", pressed)
    return element


async def carry_out(view: View, role: Role, work: Callable[[], Awaitable[Any]], done: str = "") -> bool:
    """Run an action for the caller, who needs `role`; show `done` or the error. Returns whether it succeeded."""
    client = context.client
    try:
        view.require(role)
        await work()
    except Exception as error:
        words = describe_error(error)
        with client:
            ui.notification(f"{words.what} {words.fix}".strip(), icon="error", timeout=8, close_button="Close", position="bottom")
        return False
    if done:
        with client:
            ui.notification(done, icon="check", timeout=3, position="bottom")
    return True


async def carry_out_and_open(view: View, work: Callable[[], Awaitable[Any]], done: str, address: str) -> None:
    """Run an action that is guarded by an application's own rules, then open a page. Errors are shown."""
    if await carry_out(view, Role.MEMBER, work, done):
        ui.navigate.to(address)
