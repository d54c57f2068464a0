"""Show errors in place: what went wrong, what to do, and details to copy."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.errors import GatelegError
from gateleg.web.console.markup import tag
from gateleg.web.envelope import advice_for
from gateleg.web.errors import NotAllowed

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.web.principal import Role


@dataclass(frozen=True)
class ErrorText:
    """The text of an error as a page shows it."""

    what: str
    fix: str = ""
    code: str = ""
    details: str = ""


def refusal(role: Role) -> NotAllowed:
    """The error for a caller who lacks a role."""
    return NotAllowed(f"This needs the role {role.word}.")


def describe_error(error: BaseException) -> ErrorText:
    """Describe an error for users. A `GatelegError` has the advice that clients of the API get; other errors show their message and
    traceback.

    Only server faults (status 500 and above) have a traceback: it would not help with a refused request.
    """
    if isinstance(error, GatelegError) and error.status < 500:
        return ErrorText(error.message, advice_for(error), error.code)
    details = "".join(traceback.format_exception(error)).strip()
    if isinstance(error, GatelegError):
        return ErrorText(error.message, advice_for(error), error.code, details)
    # The text of a KeyError is only the key.
    message = f"KeyError: {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return ErrorText(
        f"Something went wrong: {message}", "Try again; if the error persists, send the details to the operator of this host.", "", details
    )


def trouble(error: BaseException | ErrorText, *, retry: str | None = None) -> Element:
    """Show an error. `retry` is an address that tries again."""
    words = error if isinstance(error, ErrorText) else describe_error(error)
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
