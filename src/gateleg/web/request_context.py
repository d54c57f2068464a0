"""The outermost middleware: request ids, headers, access log, metrics, and a response to every failure."""

from __future__ import annotations

import logging
import re
import time
import uuid
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from gateleg.web.envelope import error_response, status_of
from gateleg.web.headers import CONSOLE_POLICY, security_headers, sent_path

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gateleg.host.metrics import Traffic
    from gateleg.web.cors import Cors
    from gateleg.web.surfaces import Surfaces

REQUEST_ID = "x-request-id"
#: The status in logs and metrics for a client that disconnected before its response, as in nginx.
CLIENT_LEFT = 499
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_log = logging.getLogger("gateleg.web")


def request_id_of(headers: Headers) -> str:
    """The caller's request id if it is valid, or else a new one."""
    given = headers.get(REQUEST_ID, "")
    return given if _VALID_ID.fullmatch(given) else uuid.uuid4().hex


def route_of(scope: Scope) -> str:
    """The template of a request's route: metric labels must be few, and contain nothing of the caller's."""
    template = getattr(scope.get("route"), "path", "")
    if not template:
        return "(console)"
    segments = scope["path"].split("/")
    # An application's routes only know their path below `/api/{application}`.
    below = segments[1] == "api" and not template.startswith("/api/") and len(segments) > 2
    return f"/api/{segments[2]}{template}" if below else str(template)


class RequestContextMiddleware:
    """Adds a request id and security headers to every response, and logs and counts it."""

    def __init__(self, app: ASGIApp, traffic: Traffic, surfaces: Surfaces, cors: Cors, policy: str = CONSOLE_POLICY) -> None:
        self.app = app
        self._cors = cors
        self._policy = policy
        self._traffic = traffic
        self._surfaces = surfaces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a websocket."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
            return
        await self._http(scope, receive, send, request_id)

    async def _http(self, scope: Scope, receive: Receive, send: Send, request_id: str) -> None:
        status, started = 0, time.perf_counter()
        sent = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                for name, value in self._cors.response_headers(scope["path"], sent.get("origin"), headers).items():
                    headers[name] = value
                for_programs = self._surfaces.at(scope["path"]) is not None
                secure = scope.get("scheme") == "https"
                for name, value in security_headers(scope["path"], headers, secure, programs=for_programs, console=self._policy).items():
                    headers[name] = value
            await send(message)

        number = self._traffic.begun(f"{scope['method']} {sent_path(scope)} ({request_id})")
        try:
            await (self._cors.preflight(scope, sent) or self.app)(scope, receive, send_with_headers)
        except ClientDisconnect:
            # The client is gone, and nothing has failed.
            status = status or CLIENT_LEFT
        except Exception as error:
            if status or status_of(error) >= 500:
                _log.exception("request failed", extra={"request_id": request_id, "path": sent_path(scope)})
            if status:
                # The response has started: it can only be cut off, so that nobody takes it for complete.
                raise
            await error_response(error)(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            self._traffic.ended(number, scope["method"], route_of(scope), status, seconds)
            self._log_request(scope, status, seconds, request_id)

    def _log_request(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        principal = scope["state"].get("principal")
        fields = {
            "request_id": request_id,
            "method": scope["method"],
            "path": sent_path(scope),
            "status": status,
            "ms": round(seconds * 1000, 1),
            "caller": None if principal is None else principal.name,
        }
        quiet = scope["path"].startswith("/_nicegui") or scope["path"] in ("/health", "/ready", "/metrics")
        _log.log(logging.DEBUG if quiet else logging.INFO, "request", extra=fields)
