"""Page ownership: only the caller that a page was built for may use it, and only through the socket of its browser.

NiceGUI trusts everyone who knows the id of a page. An id is hard to guess, but it is in the page's HTML, which can be shared, so it must
not grant permissions.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from nicegui import Client, core

from gateleg.web.envelope import error_response
from gateleg.web.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gateleg.web.principal import Principal

_log = logging.getLogger("gateleg.web")
#: Socket events that refer to a page.
_PAGE_EVENTS = ("event", "javascript_response", "ack", "log")
_MARK = "_gateleg_guarded"
#: URL prefix of a page's own routes, such as uploads; the page id follows.
_PAGE_PREFIX = "/_nicegui/client/"


class PageOwnership:
    """ASGI middleware: allow requests to a page's own routes, such as uploads, only from the caller it was built for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["path"].startswith(_PAGE_PREFIX):
            page = scope["path"].removeprefix(_PAGE_PREFIX).partition("/")[0]
            if not _is_owner(page, scope):
                refused = NotAllowed("The page was opened by somebody else.", fix="Open the page yourself.")
                await error_response(refused)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def guard_sockets() -> None:
    """Check every socket message before NiceGUI handles it."""
    # The host checks origins itself. NiceGUI would allow cross-origin reads from every site.
    core.sio.eio.cors_allowed_origins = []
    handlers: dict[str, Any] = core.sio.handlers["/"]
    for name in _PAGE_EVENTS:
        _replace(handlers, name, _check_page_event)
    _replace(handlers, "connect", _check_connect)
    _replace(handlers, "handshake", _check_handshake)


def _replace(handlers: dict[str, Any], name: str, guard: Callable[[Any], Any]) -> None:
    if not hasattr(handlers[name], _MARK):
        handlers[name] = guard(handlers[name])
        setattr(handlers[name], _MARK, True)


def _check_page_event(handler: Callable[[str, dict[str, Any]], Any]) -> Callable[[str, Any], Any]:
    def checked(sid: str, message: Any) -> Any:
        page = message.get("client_id") if isinstance(message, dict) else None
        if isinstance(page, str) and page in core.sio.rooms(sid):
            return handler(sid, message)
        _log.warning("refused a socket message for a page of another caller")
        return None

    return checked


def _check_connect(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Guard `connect`: the page id is in the query string."""

    async def checked(sid: str, environ: dict[str, Any], *others: Any) -> Any:
        asked = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [""])[0]
        return await _result(handler(sid, environ, *others)) if _is_owner(asked, environ.get("asgi.scope", {})) else False

    return checked


def _check_handshake(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Guard `handshake`: the page id is in the message."""

    async def checked(sid: str, data: Any, *others: Any) -> Any:
        asked = data.get("client_id") if isinstance(data, dict) else None
        environ = core.sio.get_environ(sid)
        if environ is None or not isinstance(asked, str) or not _is_owner(asked, environ.get("asgi.scope", {})):
            return False
        return await _result(handler(sid, data, *others))

    return checked


async def _result(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _is_owner(page: str, scope: Scope) -> bool:
    """Whether a page was built for this caller. NiceGUI itself rejects unknown page ids."""
    client = Client.instances.get(page)
    if client is None:
        return True
    caller: Principal | None = scope.get("state", {}).get("principal")
    owner: Principal | None = getattr(client.request.state, "principal", None)
    if caller is not None and owner is not None and (caller.key_id, caller.name) == (owner.key_id, owner.name):
        return True
    _log.warning("refused a request for a page of another caller")
    return False
