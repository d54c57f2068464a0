"""Dialogs: a sheet over the page with a title that screen readers announce.

Secrets that are shown once, when they are created.

Buttons and the actions behind them: check the role, run, then notify of success or failure.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from nicegui import context, ui

from gateleg.host.principal import Role
from gateleg.web.console.failures import describe_error
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from gateleg.host.actions import ShownOnce
    from gateleg.web.console.frame import View

__all__ = ["button", "carry_out", "carry_out_and_open", "sheet", "show_once"]


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


async def show_once(shown: ShownOnce, note: str = "") -> None:
    """Show a secret to be copied, until the user says that it is."""
    with sheet(shown.title, lasting=True) as dialog:
        tag("p", f"{shown.note} {note}".strip())
        tag("pre", shown.value, "code wrap", tabindex=0)
        with tag("div", classes="deeds"):
            tag("button", "Copy", "deed", type="button", data_copy=shown.value)
            button("I have copied it", lambda: dialog.submit(True), look="first")
    await dialog
    dialog.delete()
    with suppress(TimeoutError):
        # The result says that the page has closed the dialog.
        await ui.run_javascript("0", timeout=3.0)


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
