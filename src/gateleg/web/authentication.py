"""Authentication middleware for HTTP requests and websockets. It runs before every route and console page.

It sets `request.state.principal`, which is None for an anonymous caller of a public path. SDKs that use the console's address as their
DynamoDB endpoint are told the right one.
"""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, RedirectResponse

from gateleg.host.credentials import LOCAL_PREFIX, check_direct, host_name, token_needed
from gateleg.host.errors import ForeignHost, ForeignOrigin, NotAllowed, NotSignedIn, Refusal, StoreAway
from gateleg.host.openid import ProviderAway, ProviderFault
from gateleg.host.principal import LOCAL, Role, is_tenant_admin
from gateleg.host.sessions import COOKIE
from gateleg.net import is_loopback
from gateleg.store import StoreError
from gateleg.web.envelope import error_response
from gateleg.web.headers import refusal_page, sent_path
from gateleg.web.websockets import NOT_ALLOWED, NOT_SIGNED_IN, FirstMessage, init_protocol, run_websocket

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gateleg.host.host import Host
    from gateleg.host.principal import Principal
    from gateleg.web.cors import Cors
    from gateleg.web.limits import HostLimits
    from gateleg.web.surfaces import Surfaces

_log = logging.getLogger("gateleg.web")

CSRF_HEADER = "x-csrf-token"
_LIVENESS_PATH = "/health"
#: Paths that need no authentication. Signed links to objects carry their own permission, which their route verifies.
_PUBLIC_PATHS = frozenset({_LIVENESS_PATH, "/ready", "/signin", "/signin/openid", "/signin/openid/callback", "/signout", "/favicon.ico"})
_PUBLIC_PREFIXES = ("/objects/",)
#: Paths for programs: an unauthenticated request gets 401 with the error envelope instead of a redirect to the sign-in page.
_API_PREFIXES = ("/api/", "/events/", "/objects/", "/metrics", "/dynamodb", "/_nicegui")
#: Requests of the console itself. They carry the id of their page, which another site cannot know, so they need no CSRF token.
_CONSOLE_PREFIXES = ("/_nicegui",)
#: The console page of one's own sessions.
SESSIONS_PAGE = "/sessions"
#: Assets and transport of console pages, open to members like the paths of applications.
_MEMBER_PREFIXES = ("/_nicegui", "/_console/", "/api/sessions/")
#: Paths of the kit that members may use; each answers with what the caller may see.
_MEMBER_PATHS = frozenset({"/api/session", "/api/sessions", "/api/models/usage", "/api/search", "/search", "/search/places", SESSIONS_PAGE})
#: The console page of tenant admins, and the paths that they may call.
TENANT_PAGE = "/tenant"
_TENANT_PREFIXES = ("/api/secrets/", "/api/webhooks/")
#: Paths at which AWS SDKs authenticate by SigV4.
DYNAMODB_PATHS = ("/dynamodb", "/dynamodb/")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Caller:
    """An authenticated principal, and the session cookie if it has one."""

    principal: Principal
    #: the session's cookie, which browsers send automatically, so such requests need CSRF checks
    cookie: str | None = None


def same_origin(headers: Headers, scheme: str, url: str | None) -> bool:
    """Whether a request comes from a page of this host, or does not come from a page."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    return origin in (url, f"{scheme}://{headers.get('host', '')}")


def api_key_from(headers: Headers) -> str | None:
    """The API key in the headers of a request, if there is one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return headers.get("x-api-key")


class AuthenticationMiddleware:
    """Authenticates each request and passes it on with its principal, or answers with an error."""

    def __init__(self, app: ASGIApp, host: Host, limits: HostLimits, surfaces: Surfaces, cors: Cors) -> None:
        self.app = app
        self._cors = cors
        self._surfaces = surfaces
        self._host = host
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if scope["path"] == _LIVENESS_PATH:
            # The liveness probe must not depend on the store.
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if is_dynamodb_request(scope, headers):
            await not_dynamodb_response(self._host.settings.dynamodb)(scope, receive, send)
            return
        path = scope["path"]
        try:
            self._check_host(headers)
            if self._begins_with_credentials(scope, headers):
                await self._run_after_first_message(scope, headers, receive, send)
                return
            caller = await self._admit(scope, headers)
        except Refusal as error:
            if path == "/" and isinstance(error, NotAllowed) and (home := self._first_page_for_members()):
                await RedirectResponse(home, 303)(scope, receive, send)
                return
            await self._refuse(error, scope, headers, receive, send)
            return
        self._introduce(scope, headers, caller)
        if scope["type"] == "websocket" and caller is not None:
            await run_websocket(self.app, scope, receive, send, scope["state"]["is_still_authenticated"])
        else:
            await self.app(scope, receive, send)

    async def _admit(self, scope: Scope, headers: Headers) -> Caller | None:
        """The caller, who may use the path; None if anybody may. Raises `Refusal`."""
        path = scope["path"]
        caller = await self._authenticate(scope, headers)
        if caller is None and not _is_public(path) and not self._is_signed(scope, headers):
            raise NotSignedIn
        if caller is not None:
            self._check_member(path, caller.principal)
            self._check_origin(scope, headers, caller)
            if not path.startswith(_CONSOLE_PREFIXES):
                self._limits.take_key(caller.principal)
        return caller

    def _introduce(self, scope: Scope, headers: Headers, caller: Caller | None) -> None:
        """Tell the application who calls."""
        scope.setdefault("state", {})["principal"] = None if caller is None else caller.principal
        scope["state"]["session"] = None if caller is None else caller.cookie
        scope["state"]["is_still_authenticated"] = functools.partial(self._is_still_authenticated, scope, headers)

    def _begins_with_credentials(self, scope: Scope, headers: Headers) -> bool:
        """Whether the first message of a websocket may say who calls. A header says it before."""
        if scope["type"] != "websocket" or api_key_from(headers):
            return False
        route = self._surfaces.at(scope["path"])
        return route is not None and route.surface.connection_init and init_protocol(scope.get("subprotocols", ())) is not None

    async def _run_after_first_message(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Run a websocket whose caller is named by its first message or, if that names nobody, by the cookie of a session."""
        first = FirstMessage(scope, receive, send)
        begun, authorization = await first.credentials()
        try:
            if not begun:
                raise NotSignedIn("The first message must be connection_init, and come soon.")
            if authorization is not None:
                others = [(name, value) for name, value in headers.raw if name.lower() not in (b"cookie", b"authorization", b"x-api-key")]
                headers = Headers(raw=[*others, (b"authorization", authorization.encode("utf-8", "replace"))])
            caller = await self._admit(scope, headers)
        except Refusal as error:
            await first.close(_close_code(error), error.code)
            return
        first.accept()
        self._introduce(scope, headers, caller)
        await run_websocket(self.app, scope, first.receive, first.send, scope["state"]["is_still_authenticated"])

    def _is_signed(self, scope: Scope, headers: Headers) -> bool:
        """Whether a request of an AWS SDK is signed. The signature covers the body, so the route verifies it."""
        if not self._host.settings.dynamodb or scope["type"] != "http" or scope["path"] not in DYNAMODB_PATHS:
            return False
        return headers.get("authorization", "").startswith("AWS4-") or b"X-Amz-Algorithm=" in scope["query_string"]

    def _check_host(self, headers: Headers) -> None:
        allowed = self._host.settings.hosts
        name = host_name(headers)
        if allowed and name not in allowed and not is_loopback(name):
            raise ForeignHost(f"This host does not answer for {name!r}.")

    async def _authenticate(self, scope: Scope, headers: Headers) -> Caller | None:
        """The caller; None if anonymous. While the store does not answer, callers of public paths are anonymous and others are refused."""
        try:
            return await self._authenticate_or_refuse(scope, headers)
        except StoreError as error:
            if _is_public(scope["path"]):
                return None
            _log.error("callers cannot be authenticated, because the store does not answer: %s", error)
            raise StoreAway from None

    async def _authenticate_or_refuse(self, scope: Scope, headers: Headers) -> Caller | None:
        """The caller; None if anonymous. Invalid credentials are refused, except on public paths."""
        is_public = _is_public(scope["path"])
        try:
            caller = await self._check_credentials(scope, headers)
            if caller is not None or await self._host.keys.exist():
                return caller
            check_direct(scope, headers)
        except (NotSignedIn, ForeignHost, ProviderAway, ProviderFault):
            if not is_public:
                raise
            return None
        if is_public or self._is_signed(scope, headers):
            return None
        raise token_needed()

    async def _check_credentials(self, scope: Scope, headers: Headers) -> Caller | None:
        """The caller of the API key, token or session cookie; None without any. Raises `NotSignedIn` for invalid ones."""
        if token := api_key_from(headers):
            if token.startswith(LOCAL_PREFIX):
                return Caller(await self._host.local.recognise(token, scope, headers))
            if self._host.openid is not None and token.count(".") == 2:
                return Caller(await self._host.openid.recognise(token))
            return Caller(await self._host.keys.recognise(token))
        if cookie := cookie_parser(headers.get("cookie", "")).get(COOKIE):
            principal = await self._host.sessions.recognise(cookie)
            if principal is LOCAL:
                check_direct(scope, headers)
            return Caller(principal, cookie)
        return None

    def _check_member(self, path: str, principal: Principal) -> None:
        """Restrict members to the applications, even if a route or page of the kit forgets to check the role."""
        if principal.may(Role.VIEWER) or self._surfaces.is_for_members(path):
            return
        for_tenant_admins = path == TENANT_PAGE or path.startswith(_TENANT_PREFIXES)
        if for_tenant_admins and is_tenant_admin(principal, self._host.settings.tenant_admin_group):
            return
        if not is_member_path(path, [application.name for application in self._host.applications]):
            raise NotAllowed(f"This needs the role viewer; {principal.name!r} has {principal.role.word}.")

    def _check_origin(self, scope: Scope, headers: Headers, caller: Caller) -> None:
        """Refuse cross-site requests, to which browsers add the session cookie."""
        changes = scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS
        if caller.cookie is None or not changes or scope["path"].startswith(_PUBLIC_PREFIXES):
            return
        scheme = scope.get("scheme", "http").replace("ws", "http")
        path = scope["path"]
        if not same_origin(headers, scheme, self._host.settings.url) and not self._cors.allows_session(path, headers.get("origin")):
            raise ForeignOrigin("The request comes from a page of another site.")
        if scope["type"] == "websocket" or path.startswith(_CONSOLE_PREFIXES) or path in _PUBLIC_PATHS:
            # The forms of public pages carry the CSRF token in their body; their routes verify it.
            return
        if not self._host.sessions.csrf_fits(caller.cookie, headers.get(CSRF_HEADER, "")):
            raise ForeignOrigin(f"A write in a session needs its token in {CSRF_HEADER}.", fix="GET /api/session has the token.")

    def _first_page_for_members(self) -> str | None:
        """The path of the first application that has pages."""
        return next((f"/{application.name}" for application in self._host.applications if application.pages is not None), None)

    async def _refuse(self, error: Refusal, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Answer with an error: programs get the JSON envelope, browsers a page or a redirect to the sign-in page."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _close_code(error), "reason": error.code})
        elif not _wants_page(scope, headers) or self._surfaces.is_for_programs(scope["path"]):
            await error_response(error)(scope, receive, send)
        elif isinstance(error, NotSignedIn):
            # The undecoded path: decoding could change the meaning of an escaped character.
            requested = sent_path(scope) + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
            location = "/signin" if requested == "/" else f"/signin?next={quote(requested, safe='')}"
            await RedirectResponse(location, 303, {"Cache-Control": "no-store"})(scope, receive, send)
        else:
            home = self._first_page_for_members() if isinstance(error, NotAllowed) else None
            known = COOKIE in cookie_parser(headers.get("cookie", "")) and not isinstance(error, StoreAway)
            await refusal_page(error, home=home, signed_in=known)(scope, receive, send)

    async def _is_still_authenticated(self, scope: Scope, headers: Headers) -> bool:
        """Whether the caller's credentials are still valid; long-lived connections check this repeatedly."""
        try:
            return await self._authenticate(scope, headers) is not None
        except Refusal:
            return False


def _close_code(error: Refusal) -> int:
    """The close code of a websocket that is refused."""
    return NOT_SIGNED_IN if isinstance(error, NotSignedIn) else NOT_ALLOWED


def is_member_path(path: str, applications: Iterable[str]) -> bool:
    """Whether members may use a path: one of an application, or one that every caller needs."""
    if path in _MEMBER_PATHS or path.startswith(_MEMBER_PREFIXES) or _is_public(path):
        return True
    return any(path == f"/{name}" or path.startswith((f"/{name}/", f"/api/{name}/", f"/events/{name}/")) for name in applications)


def _wants_page(scope: Scope, headers: Headers) -> bool:
    """Whether a browser asks for a page."""
    return scope["method"] in _SAFE_METHODS and "text/html" in headers.get("accept", "") and not scope["path"].startswith(_API_PREFIXES)


def _is_public(path: str) -> bool:
    return path in _PUBLIC_PATHS or path.startswith(_PUBLIC_PREFIXES)


#: The error type, which the store recognises and SDKs print before the message.
NOT_DYNAMODB = "NotDynamoDB"


def is_dynamodb_request(scope: Scope, headers: Headers) -> bool:
    """Whether a request uses the DynamoDB protocol at an address for people."""
    return scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == "/" and "x-amz-target" in headers


def not_dynamodb_response(dynamodb: bool) -> Response:
    """An error in DynamoDB's format, so that an SDK shows its message."""
    way = (
        "the host's tables are at /dynamodb below this address"
        if dynamodb
        else "start the host with --dynamodb and use the path /dynamodb, or use the address that `gateleg engine serve` prints"
    )
    message = f"This address is the console of a Gateleg host and does not speak the DynamoDB protocol: {way}."
    return JSONResponse({"__type": NOT_DYNAMODB, "message": message}, 400, media_type="application/x-amz-json-1.0")
