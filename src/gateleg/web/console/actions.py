"""Actions on a page: ask, perform, and say what was done or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.actions import ActionCall, perform
from gateleg.host.principal import Role
from gateleg.web.console.dialogs import button, carry_out, show_once
from gateleg.web.console.forms import confirm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from gateleg.host.actions import Action
    from gateleg.web.console.frame import View
    from gateleg.web.console.markup import Tag

__all__ = ["act", "action_button", "call_of", "tell"]


def call_of(view: View) -> ActionCall:
    """The caller of a page, as actions know them."""
    return ActionCall(view.host, view.principal, view.request_id)


async def act(
    view: View, action: Action[Any, Any], given: BaseModel, *, title: str = "", loss: str = "", confirmed: bool = False, shown: bool = False
) -> bool:
    """Perform an action for the caller of a page. Returns whether it was done.

    An action that asks is confirmed first, unless that is done; `title` and `loss` say it better than the action's own question, if the
    page knows more. What can be shown only once is shown, unless it was `shown` before.
    """
    question = loss or action.asks
    title = title or f"{action.title}?"
    if question and not confirmed and not await confirm(title, question, verb=action.title, harmless=not action.dangerous):
        return False
    results: list[Any] = []

    async def work() -> None:
        results.append(await perform(action, call_of(view), given))

    # The action checks who may do it.
    if not await carry_out(view, Role.MEMBER, work):
        return False
    await tell(view, action, results[0], shown=shown)
    return True


async def tell(view: View, action: Action[Any, Any], result: Any, *, shown: bool = False) -> None:
    """Say what an action has done."""
    ui.notification(action.done(result), icon="check", timeout=3, position="bottom")
    once = None if shown else action.once(result)
    if once is not None:
        await show_once(once)
    view.live.refresh_all()


def action_button(
    view: View,
    action: Action[Any, Any],
    given: Callable[[], BaseModel],
    *,
    text: str | None = None,
    icon: str | None = None,
    look: str = "",
    loss: Callable[[], str] = str,
) -> Tag:
    """A button that performs an action. `given` is asked for its input when the button is pressed."""
    return button(text or action.title, lambda: act(view, action, given(), loss=loss()), icon=icon, look=look)
