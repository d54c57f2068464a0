"""Actions on a page: ask, perform, and say what was done or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.host.actions import ActionCall, perform
from gateleg.host.principal import Role
from gateleg.web.console.dialogs import button, carry_out
from gateleg.web.console.forms import confirm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from gateleg.host.actions import Action
    from gateleg.web.console.frame import View
    from gateleg.web.console.markup import Tag

__all__ = ["act", "action_button", "call_of"]


def call_of(view: View) -> ActionCall:
    """The caller of a page."""
    return ActionCall(view.host, view.principal, view.request_id)


async def act(view: View, action: Action[Any, Any], given: BaseModel, *, loss: str = "", confirmed: bool = False) -> bool:
    """Perform an action for the caller of a page. Returns whether it was done.

    An action that asks is confirmed first, unless that is done; `loss` says it better than the action's own question, if the page knows
    more.
    """
    question = loss or action.asks
    if question and not confirmed and not await confirm(f"{action.title}?", question, verb=action.title, harmless=not action.dangerous):
        return False
    words: list[str] = []

    async def work() -> None:
        result = await perform(action, call_of(view), given)
        words.append(action.done(result))

    # The action checks who may do it.
    if not await carry_out(view, Role.MEMBER, work):
        return False
    ui.notification(words[0], icon="check", timeout=3, position="bottom")
    view.live.refresh_all()
    return True


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
