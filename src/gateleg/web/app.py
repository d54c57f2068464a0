"""`create_app`: assembles the ASGI application of a host from its middleware, routes and applications."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from gateleg.extras import explained

try:
    from fastapi import APIRouter, FastAPI, Request, WebSocket, WebSocketDisconnect
except ModuleNotFoundError as error:
    raise explained(error) from error
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

import gateleg
from gateleg.errors import GatelegError, problem_message
from gateleg.host.application import BadApplication, EventRoute, Surface, check_made
from gateleg.host.errors import InvalidRequest, Refusal, Unknown
from gateleg.host.metrics import Traffic
from gateleg.host.principal import Role
from gateleg.objects import ObjectsError
from gateleg.store import StoreError
from gateleg.web import health, object_routes, sse
from gateleg.web.access import only
from gateleg.web.action_routes import routes_of
from gateleg.web.api import ROUTERS, webhooks
from gateleg.web.authentication import AuthenticationMiddleware
from gateleg.web.bodies import BodyLimit, DeclaredLimit, declared_limits
from gateleg.web.cors import Cors
from gateleg.web.documents import document_routes
from gateleg.web.dynamodb import dynamodb_routes
from gateleg.web.envelope import error_response, status_of
from gateleg.web.headers import console_policy
from gateleg.web.limits import HostLimits
from gateleg.web.member_jobs import member_job_routes
from gateleg.web.openid_signin import openid_routes
from gateleg.web.request_context import RequestContextMiddleware
from gateleg.web.signin import signin_routes
from gateleg.web.sse import event_routes
from gateleg.web.surfaces import Surfaces

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from fastapi.responses import Response
    from starlette.requests import HTTPConnection

    from gateleg.host.application import Application
    from gateleg.host.host import Host


__all__ = ["create_app"]

_log = logging.getLogger("gateleg.web")
#: The problems that a response lists at most.
_MOST_PROBLEMS = 100
#: Methods whose body may become a stored item.
_WRITE_METHODS = frozenset({"POST", "PUT", "PATCH"})


def described_problems(errors: Sequence[Any]) -> list[dict[str, Any]]:
    """The first problems of a body, as a response lists them: a long list may have one in each of its elements."""
    return [{"at": [str(part) for part in error["loc"]], "message": problem_message(error)} for error in errors[:_MOST_PROBLEMS]]


def create_app(host: Host, *, console: bool | None = None) -> FastAPI:
    """The ASGI application that serves a host. `console` overrides the setting of that name."""
    traffic = Traffic()
    limits = HostLimits(host.settings, host.store.setup.ticks)
    surfaces = Surfaces()
    cors = Cors.of(host.settings, surfaces)
    bodies: list[DeclaredLimit] = []

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
    # The middleware that is added last runs first.
    app.add_middleware(AuthenticationMiddleware, host=host, limits=limits, surfaces=surfaces, cors=cors)
    app.add_middleware(BodyLimit, settings=host.settings, declared=bodies)
    app.add_middleware(RequestContextMiddleware, traffic=traffic, surfaces=surfaces, cors=cors, policy=console_policy(host.object_origins))
    own = (signin_routes(host, limits), openid_routes(host), health.router, document_routes(), *ROUTERS, dynamodb_routes(host, limits))
    for router in (*own, webhooks.router, sse.router, object_routes.router):
        # These routers have full paths. `include_router` would build each route again, which dominates the startup time.
        app.router.routes.extend(router.routes)
    for application in host.applications:
        with host.isolate_failure(application):
            _add_application(app, host, application, surfaces)
    bodies += [*declared_limits(flat_routes(app.router.routes)), *surfaces.limits]
    _add_not_found_routes(app)
    if host.settings.console if console is None else console:
        from gateleg.web.console import mount

        mount(app, host)
    return app


def _add_application(app: FastAPI, host: Host, application: Application, surfaces: Surfaces) -> None:
    """Add the routes, surfaces and event streams of an application. If one of them cannot be built, none is added."""
    resources = host.resources[application.name]
    routes = None if application.routes is None else check_made(application, "routes", application.routes(resources), APIRouter)
    declared = () if application.streams is None else _all_made(application, "streams", application.streams(resources), EventRoute)
    sse = event_routes(application.name, application.title, declared, host.events)
    mounted = () if application.surfaces is None else _all_made(application, "surfaces", application.surfaces(resources), Surface)
    others = {other.name for other in host.applications if other is not application}
    found = surfaces.add(application.name, mounted, others)
    for route in () if routes is None else routes.routes:
        path = getattr(route, "path", "/")
        if not path.startswith("/"):
            raise BadApplication(
                f"The application {application.name} has a route at {path!r}, which would be answered at /api/{application.name}{path}.",
                fix=f"Begin the path with a slash: {'/' + path!r}.",
            )
    actions = host.actions.get(application.name, ())
    for action in actions:
        method, path = action.http.split()
        if any(f"/api/{application.name}{route.path}" == path and method in route.methods for route in _http_routes(routes)):
            raise BadApplication(
                f"The application {application.name} has a route {action.http}, and so has its action {action.name}.",
                fix="Delete the route: the host makes one from the action.",
            )
    app.include_router(routes_of(actions, tag=application.title))
    if routes is not None:
        app.include_router(routes, prefix=f"/api/{application.name}", tags=[application.title], dependencies=[only(Role.MEMBER)])
    if application.jobs is not None:
        app.include_router(member_job_routes(application))
    app.router.routes.extend((*sse.routes, *found))


def _http_routes(routes: APIRouter | None) -> list[Any]:
    return [] if routes is None else [route for route in flat_routes(routes.routes) if getattr(route, "methods", None)]


def _all_made(application: Application, name: str, made: Any, kind: type) -> Sequence[Any]:
    """The list that a function of an application has returned."""
    return [check_made(application, name, one, kind) for one in check_made(application, name, made, (list, tuple))]


def flat_routes(routes: Iterable[Any]) -> Iterator[Any]:
    """All routes with their full paths, including those of included routers."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from flat_routes(route.effective_candidates())
        else:
            # A websocket route of an included router is wrapped.
            yield getattr(route, "starlette_route", None) or route


#: Websocket close code by the HTTP status of the error.
_WEBSOCKET_CLOSE_CODES = {401: 4401, 403: 4403, 404: 4404}


def _content_type_fix(request: Request, error: RequestValidationError) -> str | None:
    """A fix for JSON sent without its content type, as `curl -d` does; None for any other mistake."""
    typed = "json" in request.headers.get("content-type", "")
    if typed or isinstance(error.body, dict | list) or not any(problem["loc"] == ("body",) for problem in error.errors()):
        return None
    return "Send JSON, with the header `Content-Type: application/json`."


def _handle_errors(app: FastAPI) -> None:
    async def handle_error(request: HTTPConnection, error: Exception) -> Response | None:
        if isinstance(request, WebSocket):
            code = getattr(error, "code", "")
            await request.close(_WEBSOCKET_CLOSE_CODES.get(status_of(error), 4400), code if isinstance(code, str) else "")
            return None
        # `answer` logs the errors of the store and of objects.
        if isinstance(error, GatelegError) and error.status == 500 and not isinstance(error, Refusal | StoreError | ObjectsError):
            _log.error("request failed", exc_info=error, extra={"request_id": request.state.request_id, "path": request.url.path})
        elif isinstance(error, GatelegError) and error.public is not None:
            # The response has only the public message; the log has all of it.
            _log.warning("%s", error, extra={"request_id": request.state.request_id, "path": request.url.path})
        return error_response(error)

    async def handle_invalid_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = described_problems(error.errors())
        return error_response(
            InvalidRequest("The request is not valid.", fix=_content_type_fix(request, error), details={"problems": problems})
        )

    async def handle_invalid_item(request: Request, error: Exception) -> Response:
        assert isinstance(error, ValidationError)
        if request.method not in _WRITE_METHODS or error.title not in _entity_names(app.state.host):
            # Not an entity built from the request body, so the fault is the server's: answer 500 and log it.
            raise error
        problems = described_problems(error.errors())
        return error_response(InvalidRequest("The request body is not a valid item.", details={"problems": problems}))

    async def ignore_disconnect(request: HTTPConnection, error: Exception) -> None:
        """Do nothing: most websockets end because the client disconnects."""

    app.add_exception_handler(WebSocketDisconnect, ignore_disconnect)
    for kind in (GatelegError, HTTPException):
        app.add_exception_handler(kind, handle_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, handle_invalid_request)
    app.add_exception_handler(ValidationError, handle_invalid_item)


def _entity_names(host: Host) -> set[str]:
    """The names of the applications' entities, which their routes build from request bodies."""
    return {spec.entity.__name__ for application in host.applications for table in application.tables for spec in table.specs}


def _add_not_found_routes(app: FastAPI) -> None:
    """Answer unknown API paths with the JSON error envelope instead of a console page."""

    async def not_found(request: Request) -> Response:
        allowed = _allowed_methods(app, request.scope)
        if allowed:
            raise HTTPException(405, "This path does not support the method.", {"Allow": ", ".join(sorted(allowed))})
        raise Unknown("There is nothing at this path.")

    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    for surface in ("/api", "/events", "/objects", "/metrics", "/health", "/ready", "/signin", "/signout", "/dynamodb"):
        if surface != "/objects":  # /objects itself is a console page; the paths below it are content
            app.add_route(surface, not_found, methods=methods, include_in_schema=False)
        app.add_route(f"{surface}/{{path:path}}", not_found, methods=methods, include_in_schema=False)


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
