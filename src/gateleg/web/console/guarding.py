"""Callers speak for their own pages only: a page belongs to whom it was built for, and its buttons to the socket of its browser.

The framework takes whoever knows the id of a page for its owner. An id is hard to guess, but it stands in the page, and a page can be shown
to others; what somebody may do must not hang on that.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from nicegui import Client, core

from gateleg.web.envelope import answer
from gateleg.web.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from gateleg.web.principal import Principal

_log = logging.getLogger("gateleg.web")
#: What a socket says about a page.
_SAID = ("event", "javascript_response", "ack", "log")
_MARK = "_gateleg_guarded"
#: Where pages take files; the id of the page follows.
_BELOW_PAGES = "/_nicegui/client/"


class OwnPages:
    """Lets a request for a page's own addresses, such as those that take its files, come from whom the page was built for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        if scope["type"] == "http" and scope["path"].startswith(_BELOW_PAGES):
            page = scope["path"].removeprefix(_BELOW_PAGES).partition("/")[0]
            if not _may_have(page, scope):
                refused = NotAllowed("The page was opened by somebody else.", fix="Open the page yourself.")
                await answer(refused)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def guard_sockets() -> None:
    """Have every message of a socket looked at before the framework acts on it."""
    # The gate looks at origins. The framework would tell browsers that pages of every other site may read the answers.
    core.sio.eio.cors_allowed_origins = []
    handlers: dict[str, Any] = core.sio.handlers["/"]
    for name in _SAID:
        _replace(handlers, name, _only_own)
    _replace(handlers, "connect", _only_same_caller)
    _replace(handlers, "handshake", _only_same_caller_later)


def _replace(handlers: dict[str, Any], name: str, guard: Callable[[Any], Any]) -> None:
    if not hasattr(handlers[name], _MARK):
        handlers[name] = guard(handlers[name])
        setattr(handlers[name], _MARK, True)


def _only_own(handler: Callable[[str, dict[str, Any]], Any]) -> Callable[[str, Any], Any]:
    def checked(sid: str, message: Any) -> Any:
        page = message.get("client_id") if isinstance(message, dict) else None
        if isinstance(page, str) and page in core.sio.rooms(sid):
            return handler(sid, message)
        _log.warning("A socket has spoken for a page that is not its own.")
        return None

    return checked


def _only_same_caller(handler: Callable[..., Any]) -> Callable[..., Any]:
    """For the first word of a socket: the page that it is for stands in its address."""

    async def checked(sid: str, environ: dict[str, Any], *others: Any) -> Any:
        asked = parse_qs(environ.get("QUERY_STRING", "")).get("client_id", [""])[0]
        return await _result(handler(sid, environ, *others)) if _may_have(asked, environ.get("asgi.scope", {})) else False

    return checked


def _only_same_caller_later(handler: Callable[..., Any]) -> Callable[..., Any]:
    """For sockets that name their page after they were let in."""

    async def checked(sid: str, data: Any, *others: Any) -> Any:
        asked = data.get("client_id") if isinstance(data, dict) else None
        environ = core.sio.get_environ(sid)
        if environ is None or not isinstance(asked, str) or not _may_have(asked, environ.get("asgi.scope", {})):
            return False
        return await _result(handler(sid, data, *others))

    return checked


async def _result(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _may_have(page: str, scope: Scope) -> bool:
    """Whether a caller is the one for whom a page was built. The framework itself refuses pages that there are not."""
    client = Client.instances.get(page)
    if client is None:
        return True
    caller: Principal | None = scope.get("state", {}).get("principal")
    owner: Principal | None = getattr(client.request.state, "principal", None)
    if caller is not None and owner is not None and (caller.key_id, caller.name) == (owner.key_id, owner.name):
        return True
    _log.warning("Somebody has asked for a page that was built for somebody else.")
    return False
