"""Surfaces: ASGI applications outside of `/api/{name}`, which applications add to a host, behind its authentication."""

from __future__ import annotations

import re
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Match

from gateleg.host.application import RESERVED, BadApplication
from gateleg.host.errors import NotAllowed, NotSignedIn, Refusal
from gateleg.host.lifespans import asgi_lifespan, run_in_own_task
from gateleg.host.principal import Role
from gateleg.web.bodies import DeclaredLimit
from gateleg.web.envelope import error_response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable

    from starlette.types import Receive, Scope, Send

    from gateleg.host.application import Surface
    from gateleg.host.principal import Principal

#: First path segments that any application may use for surfaces.
_SHARED = frozenset({"graphql", "mcp"})
_PATH = re.compile(r"/[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*")


class SurfaceRoute(BaseRoute):
    """The route of a surface: its path and everything below."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.path = surface.path

    def has(self, path: str) -> bool:
        """Whether a path belongs to the surface."""
        return path == self.path or path.startswith(f"{self.path}/")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for the surface."""
        if scope["type"] not in ("http", "websocket") or not self.has(scope["path"]):
            return Match.NONE, {}
        return Match.FULL, {"route": self, "endpoint": self.surface.app}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the surface, if the caller has the required role."""
        principal: Principal | None = scope["state"]["principal"]
        refusal: Refusal | None = NotSignedIn() if principal is None else None
        if principal is not None and not principal.may(self.surface.role):
            refusal = NotAllowed(f"This needs the role {self.surface.role.word}; {principal.name!r} has {principal.role.word}.")
        if refusal is not None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 4403, "reason": refusal.code})
            else:
                await error_response(refusal)(scope, receive, send)
            return
        # A copy that routers of the surface may modify: logs and metrics identify the request by this route.
        path = scope["path"] if scope["path"] != self.path else f"{self.path}/"
        await self.surface.app({**scope, "path": path, "root_path": scope.get("root_path", "") + self.path}, receive, send)


class Surfaces:
    """The surfaces of a host, added while its ASGI application is assembled, and looked up for each request."""

    def __init__(self) -> None:
        self.routes: list[SurfaceRoute] = []

    def add(self, application: str, surfaces: Iterable[Surface], others: Collection[str]) -> list[SurfaceRoute]:
        """The routes of an application's surfaces. Raises `BadApplication` for a path that is taken or not allowed."""
        found: list[SurfaceRoute] = []
        for surface in surfaces:
            first = surface.path.strip("/").partition("/")[0]
            if not _PATH.fullmatch(surface.path) or (first in RESERVED - _SHARED) or first in others:
                raise BadApplication(f"{application} cannot have a surface at {surface.path!r}.", fix=_FIX)
            route = SurfaceRoute(surface)
            if any(route.has(one.path) or one.has(route.path) for one in (*self.routes, *found)):
                raise BadApplication(f"{application} cannot have a surface at {surface.path!r}: the path is taken.", fix=_FIX)
            found.append(route)
        self.routes += found
        return found

    def at(self, path: str) -> SurfaceRoute | None:
        """The surface of a path."""
        return next((route for route in self.routes if route.has(path)), None)

    def is_for_programs(self, path: str) -> bool:
        """Whether a path belongs to a surface and is not its page."""
        route = self.at(path)
        return route is not None and not (route.surface.page and path.rstrip("/") == route.path)

    def is_for_members(self, path: str) -> bool:
        """Whether a path belongs to a surface that members may call."""
        route = self.at(path)
        return route is not None and route.surface.role <= Role.MEMBER

    @property
    def limits(self) -> list[DeclaredLimit]:
        """The body limits that surfaces declare."""
        return [
            DeclaredLimit(re.compile(re.escape(route.path) + r"(/|\Z)"), None, route.surface.body_limit)
            for route in self.routes
            if route.surface.body_limit is not None
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the lifespans of all surfaces."""
        async with AsyncExitStack() as stack:
            # A surface that is mounted twice is started once.
            for app in {id(route.surface.app): route.surface.app for route in self.routes}.values():
                await stack.enter_async_context(run_in_own_task(asgi_lifespan(app)))
            yield


_FIX = "Use a path below /graphql, /mcp, the application's own name or an unused name, in lower-case letters, digits and hyphens."
