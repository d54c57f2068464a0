"""Mount the console on a host's application.

Page ownership: only the caller that a page was built for may use it, and only through the socket of its browser.

NiceGUI trusts everyone who knows the id of a page. An id is hard to guess, but it is in the page's HTML, which can be shared, so it must
not grant permissions.

Limit the pages per caller that were fetched but whose browser never connected: each holds memory until it is dropped.

Warm-up: the first page is slow, because its code and templates are loaded and compiled for the first time.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import logging
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import nicegui
from nicegui import Client, core, ui
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from gateleg.host.errors import NotAllowed
from gateleg.host.principal import LOCAL
from gateleg.web.console import error_pages, jobs, member_jobs, migrations, objects, overview, search, settings, tables, tenant
from gateleg.web.console.frame import KEYS, Console
from gateleg.web.console.lists import silence_late_responses
from gateleg.web.console.settings import sessions
from gateleg.web.console.theme import tokens_css
from gateleg.web.envelope import error_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.host.host import Host
    from gateleg.host.principal import Principal

_log = logging.getLogger("gateleg.web")

_STATIC = Path(__file__).parent / "static"
#: Runs before the first paint, so that a dark page does not flash white.
_EARLY = "const m=document.cookie.match(/gateleg_theme=(light|dark)/);if(m)document.documentElement.dataset.theme=m[1];"
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#0072B2" stroke-width="2" stroke-linecap="round">'
    '<path d="M3 7h18M6 7v12M18 7v12M12 7 8 19M12 7l4 12"/></svg>'
)


def mount(app: FastAPI, host: Host) -> None:
    """Serve the console of a host at `/` of an application. A process has one console."""
    nicegui.app.state.console = Console(host)
    guard_sockets()
    # Innermost middleware: by now the host has authenticated the caller.
    app.user_middleware.append(Middleware(PageOwnership))
    app.user_middleware.append(Middleware(UnopenedPageLimit))
    silence_late_responses()
    nicegui.app.add_static_files("/_console", _STATIC, max_cache_age=31_536_000)
    ui.add_head_html(_head(), shared=True)
    ui.add_body_html(_body(), shared=True)
    overview.register()
    jobs.register()
    tables.register()
    migrations.register()
    objects.register()
    settings.register()
    sessions.register()
    tenant.register()
    search.register()
    error_pages.register()
    for application in host.applications:
        with host.isolate_failure(application):
            if application.jobs is not None:
                member_jobs.register(application, host.resources[application.name])
            if application.pages is not None:
                application.pages(host.resources[application.name])
    ui.run_with(
        app,
        mount_path="/",
        title="Gateleg",
        favicon=_ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        # The default, the highest level, takes three times as long to save two percent more.
        gzip_middleware_factory=lambda inner: GZipMiddleware(inner, compresslevel=4),
        binding_refresh_interval=None,
        reconnect_timeout=20.0,
        storage_secret=host.secret.sign("console", "storage"),
        show_welcome_message=False,
    )


def _head() -> str:
    return (
        f"<script>{_EARLY}</script><style>{tokens_css()}</style>"
        f'<link rel="stylesheet" href="{asset("console.css")}"><link rel="stylesheet" href="{asset("nicegui.css")}">'
        # In the head, so that they run before the framework's own scripts in the body.
        + "".join(f'<script defer src="{asset(name)}"></script>' for name in ("socket.js", "console.js", "search.js"))
    )


def asset(name: str) -> str:
    """The URL of a static file, with a digest of its content for cache busting."""
    digest = hashlib.sha256((_STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/_console/{name}?v={digest}"


def _body() -> str:
    keys = "".join(f"<dt>{_keys(combination)}</dt><dd>{escape(word)}</dd>" for combination, word in KEYS)
    return (
        f'<dialog id="help" class="help" aria-label="Keys"><h2>Keys</h2><dl>{keys}</dl></dialog>'
        '<div id="said" class="sr" role="status" aria-live="polite"></div>'
    )


def _keys(combination: str) -> str:
    return " ".join(f"<kbd>{escape(key)}</kbd>" for key in combination.split())


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


#: Unopened pages to keep for each caller.
MAX_UNOPENED_PAGES = 20


class UnopenedPageLimit:
    """ASGI middleware: after each page built for a caller, drop the caller's oldest unopened pages."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        before = len(Client.instances)
        await self.app(scope, receive, send)
        if scope["type"] == "http" and len(Client.instances) > before:
            drop_unopened(scope["state"].get("principal"))


def drop_unopened(principal: Principal | None) -> None:
    """Drop all but the newest unopened pages of a caller. A browser that opens a dropped page reloads it."""
    waiting = [client for client in Client.instances.values() if not client.has_socket_connection and _owner(client) == principal]
    for client in sorted(waiting, key=lambda client: client.created)[:-MAX_UNOPENED_PAGES]:
        # A page that was connected before has its own reconnect timeout.
        if not client._delete_tasks:
            client.delete()


def _owner(client: Client) -> Principal | None:
    found: Principal | None = getattr(client.request.state, "principal", None)
    return found


async def warm() -> None:
    """Build the overview once, so that the first visitor does not wait. Failures are only logged: nothing depends on it."""
    before = set(Client.instances)
    status = 0

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)

    try:
        await nicegui.app(_scope(), receive, send)
    except Exception:
        _log.debug("could not build the overview in advance", exc_info=True)
    finally:
        for name in set(Client.instances) - before:
            with contextlib.suppress(KeyError):
                Client.instances[name].delete()
    _log.debug("built the overview in advance, with status %s", status)


def _scope() -> dict[str, Any]:
    """A request for the overview, of somebody who may see all of it."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"accept", b"text/html"), (b"accept-encoding", b"gzip")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
        "state": {"principal": LOCAL, "session": None, "request_id": "first"},
    }
