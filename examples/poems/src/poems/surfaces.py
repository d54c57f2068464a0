"""GraphQL at /graphql/poems, and an MCP endpoint at /mcp/poems."""

from typing import Any

import strawberry
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from strawberry.asgi import GraphQL
from strawberry.types import Info

from gateleg.host import Principal, Resources, Surface
from poems import service
from poems.settings import PoemSettings


def make_surfaces(resources: Resources[PoemSettings]) -> list[Surface]:
    """The surfaces. The gate stands before both."""
    return [
        Surface("/graphql/poems", GraphQL(make_schema(resources), graphql_ide=None), body_limit=50_000),
        Surface("/mcp/poems", make_mcp(resources), body_limit=50_000),
    ]


@strawberry.type(name="Poem")
class PoemType:
    """A poem."""

    title: str
    lines: int | None


def make_schema(resources: Resources[PoemSettings]) -> strawberry.Schema:
    """What can be asked by GraphQL."""

    @strawberry.type
    class Query:
        @strawberry.field
        async def poems(self, info: Info[Any, Any]) -> list[PoemType]:
            principal: Principal = info.context["request"].state.principal
            return [PoemType(title=poem.title, lines=poem.lines) for poem in await service.poems_of(resources, principal)]

    return strawberry.Schema(Query)


def make_mcp(resources: Resources[PoemSettings]) -> Any:
    """What agents may ask, over streamable HTTP."""
    server: MCPServer[Any] = MCPServer("poems")

    @server.tool()
    async def find_poems(text: str, context: Context) -> list[str]:
        """Find the caller's poems by their title."""
        request: Any = context.request_context.request
        return [poem.title for poem in await service.find_poems(resources, request.state.principal, text)]

    # The gate of the host has checked the origin and the host name already.
    unguarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(streamable_http_path="/", stateless_http=True, json_response=True, transport_security=unguarded)
