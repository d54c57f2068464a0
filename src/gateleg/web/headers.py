"""Security headers of every response, which restrict pages to what ours need.

Plain pages that work without scripts: signing in and out, and refused requests.
"""

from __future__ import annotations

import html
from functools import cache
from importlib import resources
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import HTMLResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import Scope

    from gateleg.host.errors import Refusal


def console_policy(origins: Iterable[str] = ()) -> str:
    """The content security policy of console pages. `origins` are object stores that pages download from and upload to.

    The console is Vue with templates that are compiled in the browser, which needs `unsafe-eval`; scripts come from this host only.
    """
    stores = "".join(f" {origin}" for origin in dict.fromkeys(origins))
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            f"img-src 'self' data: blob:{stores}",
            f"media-src 'self' blob:{stores}",
            "font-src 'self' data:",
            # Which includes websockets to this host, and nothing that a script of somebody else's could send data to.
            f"connect-src 'self'{stores}",
            f"frame-src 'self' blob: data:{stores}",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


CONSOLE_POLICY = console_policy()
#: For the host's pages without scripts.
PLAIN_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: For the API documentation: Swagger UI, which needs neither inline scripts nor inline styles, calls this host.
API_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
#: For responses that are not pages.
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"


def sent_path(scope: Scope) -> str:
    """The path as it was sent, before decoding."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.decode("latin-1")


def security_headers(
    path: str, present: Mapping[str, str], secure: bool, *, programs: bool = False, console: str = CONSOLE_POLICY
) -> dict[str, str]:
    """The headers to add to a response. Headers that a route has set stay.

    `programs` means that the path is not a page; `console` is the policy of pages.
    """
    programs = programs or path.startswith(("/api/", "/events/", "/metrics", "/health", "/ready", "/dynamodb"))
    headers = {
        "content-security-policy": DATA_POLICY if programs else console,
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }
    if secure:
        headers["strict-transport-security"] = "max-age=31536000"
    return {name: value for name, value in headers.items() if name not in present}


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
