"""`create_app`: the one ASGI application of a host, put together from its parts."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gateleg.extras import explained

try:
    from fastapi import FastAPI, Request, WebSocket, WebSocketDisconnect
except ModuleNotFoundError as error:
    raise explained(error) from error
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

import gateleg
from gateleg.errors import GatelegError
from gateleg.model import ModelError
from gateleg.web import delivery, health, streams
from gateleg.web.access import only
from gateleg.web.api import ROUTERS
from gateleg.web.bodies import BodyLimit, Declared, declared_limits
from gateleg.web.documents import document_routes
from gateleg.web.dynamodb import dynamodb_routes
from gateleg.web.envelope import answer, status_of
from gateleg.web.errors import Refusal, Unknown
from gateleg.web.event_routes import event_routes
from gateleg.web.gate import Gate
from gateleg.web.headers import console_policy
from gateleg.web.limits import Limits
from gateleg.web.member_jobs import member_job_routes
from gateleg.web.metrics import Traffic
from gateleg.web.principal import Role
from gateleg.web.request_context import RequestContextMiddleware
from gateleg.web.signin import signin_routes
from gateleg.web.surfaces import Surfaces
from gateleg.web.webhooks import routes as webhooks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from fastapi.responses import Response
    from starlette.requests import HTTPConnection

    from gateleg.web.application import Application
    from gateleg.web.host import Host


_log = logging.getLogger("gateleg.web")
#: Requests that bring something to be stored.
_WRITES = frozenset({"POST", "PUT", "PATCH"})


class Misread(Refusal):
    """A request whose path, query or body is not what the API documents."""

    code = "invalid"
    status = 422
    fix = "See `problems`, and the documentation of the API at /api/docs."


def create_app(host: Host, *, console: bool | None = None) -> FastAPI:
    """Everything that a host serves. `console` overrides the setting."""
    traffic = Traffic()
    limits = Limits(host.settings, host.store.setup.ticks)
    surfaces = Surfaces()
    bodies: list[Declared] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with surfaces.running():
            yield

    app = FastAPI(
        lifespan=lifespan,
        title="Gateleg",
        version=gateleg.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.host = host
    app.state.traffic = traffic
    _handle_errors(app)
    # The last one added is the first to see a request.
    app.add_middleware(Gate, host=host, limits=limits, surfaces=surfaces)
    app.add_middleware(BodyLimit, settings=host.settings, declared=bodies)
    app.add_middleware(RequestContextMiddleware, traffic=traffic, surfaces=surfaces, policy=console_policy(host.object_origins))
    own = (signin_routes(host, limits), health.router, document_routes(), *ROUTERS, dynamodb_routes(host, limits))
    for router in (*own, webhooks.router, streams.router, delivery.router):
        # Their paths are whole; including them would make every route a second time, which takes longer than all the rest.
        app.router.routes.extend(router.routes)
    for application in host.applications:
        with host.leaving_out(application):
            _add_application(app, host, application, surfaces)
    bodies += [*declared_limits(flat_routes(app.router.routes)), *surfaces.limits]
    _end_surfaces(app)
    if host.settings.console if console is None else console:
        from gateleg.web.console import mount

        mount(app, host)
    return app


def _add_application(app: FastAPI, host: Host, application: Application, surfaces: Surfaces) -> None:
    """Serve the routes, surfaces and event streams of an application; all of them, or none."""
    resources = host.resources[application.name]
    routes = None if application.routes is None else application.routes(resources)
    declared = () if application.streams is None else application.streams(resources)
    streams = event_routes(application.name, application.title, declared, host.events)
    mounted = () if application.surfaces is None else application.surfaces(resources)
    others = {other.name for other in host.applications if other is not application}
    found = surfaces.add(application.name, mounted, others)
    if routes is not None:
        app.include_router(routes, prefix=f"/api/{application.name}", tags=[application.title], dependencies=[only(Role.MEMBER)])
    if application.jobs is not None:
        app.include_router(member_job_routes(application))
    app.router.routes.extend((*streams.routes, *found))


def flat_routes(routes: Iterable[Any]) -> Iterator[Any]:
    """All routes with their whole paths, those of included routers too."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from flat_routes(route.effective_candidates())
        else:
            # A websocket of an included router is wrapped once more.
            yield getattr(route, "starlette_route", None) or route


#: How a websocket is closed: by the HTTP status of the error.
_CLOSES = {401: 4401, 403: 4403, 404: 4404}


def _untyped(request: Request, error: RequestValidationError) -> str | None:
    """What to do about JSON that was sent without saying so, as `curl -d` does; None for any other mistake."""
    typed = "json" in request.headers.get("content-type", "")
    if typed or isinstance(error.body, dict | list) or not any(problem["loc"] == ("body",) for problem in error.errors()):
        return None
    return "Send JSON, with the header `Content-Type: application/json`."


def _handle_errors(app: FastAPI) -> None:
    async def told(request: HTTPConnection, error: Exception) -> Response | None:
        if isinstance(request, WebSocket):
            code = getattr(error, "code", "")
            await request.close(_CLOSES.get(status_of(error), 4400), code if isinstance(code, str) else "")
            return None
        if isinstance(error, ModelError) and error.status == 500:
            _log.error("The request failed.", exc_info=error, extra={"request_id": request.state.request_id, "path": request.url.path})
        elif isinstance(error, GatelegError) and error.public is not None:
            # The answer says less than the error does.
            _log.warning("%s", error, extra={"request_id": request.state.request_id, "path": request.url.path})
        return answer(error)

    async def misread(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = [{"at": [str(part) for part in problem["loc"]], "message": problem["msg"]} for problem in error.errors()]
        return answer(Misread("The request is not valid.", fix=_untyped(request, error), details={"problems": problems}))

    async def unfit(request: Request, error: Exception) -> Response:
        assert isinstance(error, ValidationError)
        if request.method not in _WRITES or error.title not in _entities(app.state.host):
            # Something else than an item made of what was sent: a fault of ours, which the log has.
            raise error
        problems = [{"at": [str(part) for part in problem["loc"]], "message": problem["msg"]} for problem in error.errors()]
        return answer(Misread("What was sent cannot be stored.", details={"problems": problems}))

    async def gone(request: HTTPConnection, error: Exception) -> None:
        """Leave it at that: the other side of a websocket has gone, which is how most of them end."""

    app.add_exception_handler(WebSocketDisconnect, gone)
    for kind in (GatelegError, HTTPException):
        app.add_exception_handler(kind, told)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(ValidationError, unfit)


def _entities(host: Host) -> set[str]:
    """The names of the applications' entities, which their routes make of what requests bring."""
    return {spec.entity.__name__ for application in host.applications for table in application.tables for spec in table.specs}


def _end_surfaces(app: FastAPI) -> None:
    """Have what no route of an API takes answered in the envelope, and not by a page of the console."""

    async def nothing(request: Request) -> Response:
        allowed = _allowed_methods(app, request.scope)
        if allowed:
            raise HTTPException(405, "The method is not one of this address.", {"Allow": ", ".join(sorted(allowed))})
        raise Unknown("There is nothing at this address.")

    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    for surface in ("/api", "/events", "/objects", "/metrics", "/health", "/ready", "/signin", "/signout", "/dynamodb"):
        if surface != "/objects":  # which is a page of the console; only what is below it is content
            app.add_route(surface, nothing, methods=methods, include_in_schema=False)
        app.add_route(f"{surface}/{{path:path}}", nothing, methods=methods, include_in_schema=False)


def _allowed_methods(app: FastAPI, scope: Any) -> set[str]:
    found: set[str] = set()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
        for route in app.router.routes:
            if getattr(route, "endpoint", None) is scope.get("endpoint"):
                break
            if route.matches({**scope, "method": method})[0] is Match.FULL:
                found.add(method)
                break
    return found
