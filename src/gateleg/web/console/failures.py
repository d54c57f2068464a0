"""Errors where they happen: what went wrong, what to do, and the details to copy."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.errors import GatelegError
from gateleg.web.console.markup import tag
from gateleg.web.errors import NotAllowed

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.principal import Role


@dataclass(frozen=True)
class Told:
    """An error in words."""

    what: str
    fix: str = ""
    code: str = ""
    details: str = ""


def refusal(role: Role) -> NotAllowed:
    """That the caller may not do this."""
    return NotAllowed(f"This needs the role {role.word}.")


def told(error: BaseException) -> Told:
    """An error in words. Our own errors say what to do; of others the class, the message and the place are told.

    What was refused has no place in the code that would help: only faults of the host have one.
    """
    if isinstance(error, GatelegError) and error.status < 500:
        return Told(error.message, error.fix, error.code)
    details = "".join(traceback.format_exception(error)).strip()
    if isinstance(error, GatelegError):
        return Told(error.message, error.fix, error.code, details)
    message = str(error) or type(error).__name__
    return Told(f"Something went wrong: {message}", "Try again; if it stays, send the details to whoever runs this host.", "", details)


def trouble(error: BaseException | Told, *, retry: str | None = None) -> Element:
    """Show an error. `retry` is an address that tries again."""
    words = error if isinstance(error, Told) else told(error)
    with tag("div", classes="trouble", role="alert") as made:
        with tag("div", classes="line gap-1"):
            ui.icon("error").style("color:var(--failed)")
            tag("span", words.what, "what")
        if words.fix:
            tag("div", words.fix, "meta")
        if retry is not None:
            with tag("div"):
                tag("a", "Try again", "deed small", href=retry)
        if words.details:
            with tag("details"):
                tag("summary", f"Details{f' ({words.code})' if words.code else ''}")
                tag("pre", words.details, "code wrap")
                tag("button", "Copy", "deed small", type="button", data_copy=words.details)
    return made
