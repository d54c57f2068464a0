"""`/graphql` as a surface of a host: operations over HTTP, server-sent events and websockets, and a page for trying them.

Operations are accepted by POST only: `askModel` is also a query, and a GET with a session cookie must not change anything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cross_web import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from strawberry.asgi import GraphQL
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_WS_PROTOCOL
from strawberry.types.unset import UNSET

from gateleg.apps.agents.graphql.answers import refusal_body
from gateleg.apps.agents.graphql.calls import Call
from gateleg.apps.agents.graphql.page import PAGE_POLICY, page_file
from gateleg.apps.agents.graphql.schema import make_schema
from gateleg.apps.agents.tenancy import PART_HEADER, RequestedTenant, assemble, header_text
from gateleg.errors import GatelegError
from gateleg.host import Surface
from gateleg.host.errors import BadRequest, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import HTTPConnection
    from starlette.types import Receive, Scope, Send
    from starlette.websockets import WebSocket
    from strawberry.schema import BaseSchema

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

_PROTOCOLS = (GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL)


#: The members of a body that name the tenant, and the corresponding headers.
_NAMED = {"endpoint_id": "X-Endpoint-ID", "part_id": PART_HEADER, "connection_id": "X-Connection-ID"}


class AgentsGraphQL(GraphQL[Call, None]):
    """The GraphQL endpoint of one host."""

    def __init__(self, schema: BaseSchema, resources: Resources[AgentsSettings]) -> None:
        super().__init__(schema, allow_queries_via_get=False, subscription_protocols=_PROTOCOLS)
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request or websocket."""
        name = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        if scope["type"] == "http" and name:
            await _static(name)(scope, receive, send)
            return
        if scope["type"] == "http":
            response = await self._answer(Request(scope, receive))
            await response(scope, receive, send)
            return
        await super().__call__(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            return await self.run(request)
        except HTTPException as error:
            return JSONResponse(refusal_body(BadRequest(str(error.reason))), error.status_code)
        except GatelegError as error:
            return JSONResponse(refusal_body(error), error.status)
        except RecursionError:
            refusal = BadRequest("The body is nested too deeply.")
            return JSONResponse(refusal_body(refusal), refusal.status)

    def decode_json(self, data: str | bytes) -> object:
        """A JSON body. Strawberry does not expect numbers with more digits than Python reads."""
        try:
            return json.loads(data)
        except ValueError as error:
            raise HTTPException(400, "Unable to parse request body as JSON") from error

    async def render_graphql_ide(self, request: Request) -> Response:
        """The page for trying queries."""
        return _static("page.html")

    async def get_context(self, request: HTTPConnection, response: Any) -> Call:
        """The tenant of the operation, from the caller's key, the headers and the body."""
        return self._call(request, await _body_of(request))

    def is_websocket_origin_allowed(self, request: WebSocket, origin: str) -> bool:
        """The host has checked the origin: it uses the session of a browser for pages of its own and of `cors_credentials` only."""
        return True

    async def on_ws_connect(self, context: Call) -> Any:
        """Let the first message of a websocket name the part, because browsers cannot add headers to it."""
        given = context.connection_params
        if isinstance(given, dict):
            try:
                found = self._call(context.request, given)
            except GatelegError as error:
                raise ConnectionRejectionError(refusal_body(error)["errors"][0]) from None
            context.context, context.loaders = found.context, found.loaders
        return UNSET

    def _call(self, request: HTTPConnection, body: Mapping[str, Any]) -> Call:
        sent = {name: header_text(request.headers.get(header), name) for name, header in _NAMED.items()}
        asked = RequestedTenant(**{name: sent[name] or _named(body, name, header) for name, header in _NAMED.items()})
        return Call.of(request, self._resources, assemble(request.state.principal, self._resources.settings, asked))


def _static(name: str) -> Response:
    """A file of the page."""
    path = page_file(name)
    if path is None:
        return JSONResponse(refusal_body(Unknown(f"There is nothing at /{name} below this address.")), 404)
    return FileResponse(path, headers={"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"})


def _named(body: Mapping[str, Any], name: str, header: str) -> str | None:
    """A member of the body, in snake case, camel case or the spelling of the header."""
    value = next((body[one] for one in (name, name.replace("_id", "Id"), header) if one in body), None)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{name} must be text.")
    return value


async def _body_of(request: HTTPConnection) -> Mapping[str, Any]:
    """The members of a JSON body; strawberry refuses invalid JSON."""
    if request.scope["type"] != "http" or request.scope["method"] != "POST" or "json" not in request.headers.get("content-type", ""):
        return {}
    try:
        found = json.loads(await request.body())  # type: ignore[attr-defined]
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def graphql_surface(resources: Resources[AgentsSettings]) -> Surface:
    """The surface `/graphql`, open to members; the resolvers check what each may see."""
    return Surface("/graphql", AgentsGraphQL(make_schema(), resources), page=True, connection_init=True)
