"""Show errors in place: what went wrong, what to do, and details to copy.

Empty states: a picture, a sentence and a button for the next step.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.errors import GatelegError
from gateleg.host.errors import NotAllowed
from gateleg.web.console.markup import tag
from gateleg.web.envelope import advice_for

if TYPE_CHECKING:
    from nicegui.element import Element

    from gateleg.host.principal import Role

__all__ = ["empty"]


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


#: Line drawings of 72 px, by name.
PICTURES: dict[str, str] = {
    "tray": '<path d="M10 40 18 20h36l8 20v14a4 4 0 0 1-4 4H14a4 4 0 0 1-4-4Z"/><path d="M10 40h16l4 7h12l4-7h16"/>',
    "table": '<path d="M8 26h56"/><path d="M18 26v30M54 26v30"/><path d="M36 26 24 56M36 26l12 30" stroke="var(--running)"/>',
    "clock": '<circle cx="36" cy="36" r="24"/><path d="M36 22v14l10 6" stroke="var(--running)"/>',
    "people": '<circle cx="28" cy="28" r="9"/><path d="M10 58c0-11 8-17 18-17s18 6 18 17M46 20a8 8 0 0 1 0 16M50 42c8 2 12 8 12 16"/>',
    "folder": '<path d="M10 20h18l6 7h28v29H10Z"/><path d="M10 34h52" stroke="var(--running)"/>',
    "check": '<circle cx="36" cy="36" r="24"/><path d="m25 37 8 8 15-17" stroke="var(--done)"/>',
    "search": '<circle cx="32" cy="32" r="18"/><path d="m46 46 14 14" stroke="var(--running)"/>',
    "box": '<path d="M12 26 36 14l24 12v22L36 60 12 48Z"/><path d="m12 26 24 12 24-12M36 38v22" stroke="var(--running)"/>',
}


def picture(name: str) -> str:
    """A drawing as SVG."""
    return (
        '<svg class="picture" viewBox="0 0 72 72" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
        f'stroke-linejoin="round" aria-hidden="true">{PICTURES[name]}</svg>'
    )


def empty(shown: str, title: str, sentence: str, *, button: str | None = None, href: str | None = None) -> Element:
    """Explain why nothing is here yet, and what to do.

    `shown` is a drawing ("tray", "table", "clock", "people", "folder", "check", "search" or "box") or any Material icon.
    """
    with tag("div", classes="empty") as made:
        if shown in PICTURES:
            ui.html(picture(shown), sanitize=False)
        else:
            ui.icon(shown, size="72px").classes("picture").props("aria-hidden=true")
        tag("h2", title, "empty-title")
        tag("p", sentence)
        if button is not None and href is not None:
            tag("a", button, "deed first", href=href)
    return made
