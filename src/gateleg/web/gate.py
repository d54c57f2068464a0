"""Authentication: one gate for HTTP and websockets, before anything else handles a request.

It sets `scope["state"]["principal"]`, so that `request.state.principal` is there in routes and in pages of the console.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse

from gateleg.store import StoreError
from gateleg.web.envelope import answer
from gateleg.web.errors import ForeignHost, ForeignOrigin, NotAllowed, NotSignedIn, Refusal, StoreAway
from gateleg.web.headers import sent_path
from gateleg.web.local import LOCAL_PREFIX, check_direct, host_name, is_loopback, token_needed
from gateleg.web.misdirected import is_misdirected, misdirected_answer
from gateleg.web.plain import refusal_page
from gateleg.web.principal import LOCAL, Role
from gateleg.web.sessions import COOKIE
from gateleg.web.tenant_admin import is_for_tenant_admins, is_tenant_admin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.web.host import Host
    from gateleg.web.limits import Limits
    from gateleg.web.principal import Principal
    from gateleg.web.surfaces import Surfaces

_log = logging.getLogger("gateleg.web")
CSRF_HEADER = "x-csrf-token"
_ALIVE = "/health"
#: What anybody may ask for. Links to objects carry their own permission, which their route looks at.
OPEN = frozenset({_ALIVE, "/ready", "/signin", "/signout", "/favicon.ico"})
_OPEN_BELOW = ("/objects/",)
#: For programs: they are told in the envelope that they need a key, and are not sent to the sign-in page.
_FOR_PROGRAMS = ("/api/", "/events/", "/objects/", "/metrics", "/dynamodb", "/_nicegui")
#: The console's own requests carry the id of their page, which another site cannot know.
_PAGES_OWN = ("/_nicegui",)
#: What pages are made of. Applications add their own paths.
_FOR_MEMBERS = ("/_nicegui", "/_console/")
#: What of the kit every caller needs; each answers with what the caller may see.
_MEMBERS_TOO = frozenset({"/api/session", "/api/models/usage", "/api/search", "/search", "/search/places"})
#: Where SDKs sign their requests.
DYNAMODB_PATHS = ("/dynamodb", "/dynamodb/")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Caller:
    """A principal, and how it is known."""

    principal: Principal
    #: the session's cookie, when a browser showed it without being asked
    cookie: str | None = None


def same_origin(headers: Headers, scheme: str, url: str | None) -> bool:
    """Whether a request comes from a page of this host, or from no page at all."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    return origin in (url, f"{scheme}://{headers.get('host', '')}")


def shown_key(headers: Headers) -> str | None:
    """The key that a request shows, if it does."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return headers.get("x-api-key")


class Gate:
    """Lets requests in with their principal, or answers them."""

    def __init__(self, app: ASGIApp, host: Host, limits: Limits, surfaces: Surfaces) -> None:
        self.app = app
        self._surfaces = surfaces
        self._host = host
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if scope["path"] == _ALIVE:
            # Whether the host runs must be told whatever the state of its store.
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if is_misdirected(scope, headers):
            await misdirected_answer(self._host.settings.dynamodb)(scope, receive, send)
            return
        path = scope["path"]
        try:
            self._check_host(headers)
            caller = await self._caller(scope, headers)
            if caller is None and not _is_open(path) and not self._is_signed(scope, headers):
                raise NotSignedIn
            if caller is not None:
                self._check_member(path, caller.principal)
                self._check_origin(scope, headers, caller)
                if not path.startswith(_PAGES_OWN):
                    self._limits.take_key(caller.principal)
        except Refusal as error:
            if path == "/" and isinstance(error, NotAllowed) and (home := self._home_of_members()):
                await RedirectResponse(home, 303)(scope, receive, send)
                return
            await self._refuse(error, scope, headers, receive, send)
            return
        scope.setdefault("state", {})["principal"] = None if caller is None else caller.principal
        scope["state"]["session"] = None if caller is None else caller.cookie
        scope["state"]["welcome"] = functools.partial(self._welcome, scope, headers)
        if scope["type"] == "websocket" and caller is not None:
            await self._watched(scope, headers, receive, send)
        else:
            await self.app(scope, receive, send)

    def _is_signed(self, scope: Scope, headers: Headers) -> bool:
        """Whether a request of an SDK carries a signature. It covers the body, so the route itself looks at it."""
        if not self._host.settings.dynamodb or scope["type"] != "http" or scope["path"] not in DYNAMODB_PATHS:
            return False
        return headers.get("authorization", "").startswith("AWS4-") or b"X-Amz-Algorithm=" in scope["query_string"]

    def _check_host(self, headers: Headers) -> None:
        allowed = self._host.settings.hosts
        name = host_name(headers)
        if allowed and name not in allowed and not is_loopback(name):
            raise ForeignHost(f"This host does not answer for {name!r}.")

    async def _caller(self, scope: Scope, headers: Headers) -> Caller | None:
        """Who calls; None for nobody that is known, which a store that is away makes of everybody where anybody may ask."""
        try:
            return await self._recognised(scope, headers)
        except StoreError as error:
            if _is_open(scope["path"]):
                return None
            _log.error("callers cannot be authenticated, because the store does not answer: %s", error)
            raise StoreAway from None

    async def _recognised(self, scope: Scope, headers: Headers) -> Caller | None:
        """Who calls, by the store. A key or session that is shown and not good is refused where that matters."""
        open_to_all = _is_open(scope["path"])
        try:
            caller = await self._shown(scope, headers)
            if caller is not None or await self._host.keys.exist():
                return caller
            check_direct(scope, headers)
        except (NotSignedIn, ForeignHost):
            if not open_to_all:
                raise
            return None
        if open_to_all or self._is_signed(scope, headers):
            return None
        raise token_needed()

    async def _shown(self, scope: Scope, headers: Headers) -> Caller | None:
        """Who calls, by the key, the token or the session that the request shows; None when it shows none."""
        if token := shown_key(headers):
            if token.startswith(LOCAL_PREFIX):
                return Caller(await self._host.local.recognise(token, scope, headers))
            return Caller(await self._host.keys.recognise(token))
        if cookie := cookie_parser(headers.get("cookie", "")).get(COOKIE):
            principal = await self._host.sessions.recognise(cookie)
            if principal is LOCAL:
                check_direct(scope, headers)
            return Caller(principal, cookie)
        return None

    def _check_member(self, path: str, principal: Principal) -> None:
        """Keep members to the applications, whatever a page or a route of the kit may forget to ask."""
        if principal.may(Role.VIEWER) or self._surfaces.is_for_members(path):
            return
        if is_for_tenant_admins(path) and is_tenant_admin(principal, self._host.settings.tenant_admin_group):
            return
        if not is_for_members(path, [application.name for application in self._host.applications]):
            raise NotAllowed(f"This needs the role viewer; {principal.name!r} has {principal.role.word}.")

    def _check_origin(self, scope: Scope, headers: Headers, caller: Caller) -> None:
        """Refuse what a page of another site has a browser send: a browser adds the cookie by itself."""
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE
        if caller.cookie is None or not changes or scope["path"].startswith(_OPEN_BELOW):
            return
        scheme = scope.get("scheme", "http").replace("ws", "http")
        if not same_origin(headers, scheme, self._host.settings.url):
            raise ForeignOrigin("The request comes from a page of another site.")
        path = scope["path"]
        if scope["type"] == "websocket" or path.startswith(_PAGES_OWN) or path in OPEN:
            # The forms of the open pages carry the token in their body; their routes look at it.
            return
        if not self._host.sessions.csrf_fits(caller.cookie, headers.get(CSRF_HEADER, "")):
            raise ForeignOrigin(f"A write in a session needs its token in {CSRF_HEADER}.", fix="GET /api/session has the token.")

    def _home_of_members(self) -> str | None:
        """The page of the first application that has one."""
        return next((f"/{application.name}" for application in self._host.applications if application.pages is not None), None)

    async def _refuse(self, error: Refusal, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer as whoever asks can read it: programs in the envelope, people on a page."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4401 if isinstance(error, NotSignedIn) else 4403, "reason": error.code})
        elif not _wants_page(scope, headers) or self._surfaces.is_for_programs(scope["path"]):
            await answer(error)(scope, receive, send)
        elif isinstance(error, NotSignedIn):
            # As it was sent: a part of a path may hold what would mean something else once it is decoded.
            asked = sent_path(scope) + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            place = "/signin" if asked == "/" else f"/signin?next={quote(asked, safe='')}"
            await RedirectResponse(place, 303, {"Cache-Control": "no-store"})(scope, receive, send)
        else:
            home = self._home_of_members() if isinstance(error, NotAllowed) else None
            known = COOKIE in cookie_parser(headers.get("cookie", "")) and not isinstance(error, StoreAway)
            await refusal_page(error, home=home, signed_in=known)(scope, receive, send)

    async def _welcome(self, scope: Scope, headers: Headers) -> bool:
        """Whether the caller would still be let in: asked by whatever stays open for long."""
        try:
            return await self._caller(scope, headers) is not None
        except Refusal:
            return False

    async def _watched(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Run a websocket that ends when its caller is no longer welcome: a key that is revoked is so at once."""
        closed = False

        async def still_welcome() -> bool:
            nonlocal closed
            if not closed:
                closed = not await self._welcome(scope, headers)
                if closed:
                    await send({"type": "websocket.close", "code": 4401, "reason": "signed out"})
            return not closed

        async def checked_receive() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive" and not await still_welcome():
                return {"type": "websocket.disconnect", "code": 4401}
            return message

        async def checked_send(message: Message) -> None:
            if message["type"] == "websocket.send" and not await still_welcome():
                return
            if not closed:
                await send(message)

        await self.app(scope, checked_receive, checked_send)


def is_for_members(path: str, applications: Iterable[str]) -> bool:
    """Whether a path is one of an application, or one that every caller needs."""
    if path in _MEMBERS_TOO or path.startswith(_FOR_MEMBERS) or _is_open(path):
        return True
    return any(path == f"/{name}" or path.startswith((f"/{name}/", f"/api/{name}/", f"/events/{name}/")) for name in applications)


def _wants_page(scope: Scope, headers: Headers) -> bool:
    """Whether a browser asks for a page, on behalf of somebody who looks at it."""
    return scope["method"] in _SAFE and "text/html" in headers.get("accept", "") and not scope["path"].startswith(_FOR_PROGRAMS)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(_OPEN_BELOW)
