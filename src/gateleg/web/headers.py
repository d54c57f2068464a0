"""Security headers of every response, which restrict pages to what ours need."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import Scope


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
#: For the API documentation, whose own script calls this host.
REFERENCE_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; "
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
