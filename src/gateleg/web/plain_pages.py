"""Plain pages that work without scripts: signing in and out, and refused requests."""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse

from gateleg.web.headers import PLAIN_POLICY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.web.errors import Refusal


@cache
def _template() -> Template:
    return Template(resources.files("gateleg.web").joinpath("plain.html").read_text(encoding="utf-8"))


def plain_page(title: str, body: str, status: int = 200, headers: Mapping[str, str] | None = None) -> HTMLResponse:
    """A page with a title and a body in HTML."""
    text = _template().substitute(title=html.escape(title), body=body)
    return HTMLResponse(text, status, {"Cache-Control": "no-store", "Content-Security-Policy": PLAIN_POLICY} | dict(headers or {}))


def refusal_page(error: Refusal, *, home: str | None, signed_in: bool) -> HTMLResponse:
    """The page for a request that is refused. `home` is a page that the caller may see."""
    ways = [f'<a class="first" href="{html.escape(home)}">Go to your start page</a>'] if home else []
    if signed_in:
        ways.append('<a href="/signout">Sign in with another key</a>')
    return plain_page(
        {403: "Not allowed", 503: "Unavailable"}.get(error.status, "Not found"),
        f'<p>{html.escape(error.message)}</p><p class="hint">{html.escape(error.fix)}</p>{"".join(ways)}',
        error.status,
        error.headers,
    )
