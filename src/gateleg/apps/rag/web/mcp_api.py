"""The MCP server at `/mcp/rag`: the tools `search` and `ask` over streamable HTTP, with the rights of the caller's key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from gateleg.apps.rag.errors import UnknownCollection, UnknownRepository
from gateleg.apps.rag.tools import rag_tools
from gateleg.errors import GatelegError
from gateleg.host import Surface

if TYPE_CHECKING:
    import mcp_types as types

    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources

_BODY = 1_000_000
#: A reference to a route of the HTTP API.
_ROUTE = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) [/.]")


def mcp_surface(resources: Resources[RagSettings]) -> Surface:
    """The surface at `/mcp/rag`."""
    # Imported here, because declaring the application must not load the protocol.
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.transport_security import TransportSecuritySettings

    tools = {tool.name: tool for tool in rag_tools(resources)}

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        found = [types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in tools.values()]
        return types.ListToolsResult(tools=found)

    async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _refusal(f"There is no tool {params.name!r}.")
        try:
            given = tool.input.model_validate(params.arguments or {})
            found = await tool.call(ctx.request.state.principal, given)
        except ValidationError as error:
            return _refusal("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()))
        except GatelegError as error:
            return _refusal(" ".join(filter(None, (error.public or error.message, tool_advice(error)))))
        return types.CallToolResult(content=[types.TextContent(type="text", text=orjson.dumps(found).decode())], structured_content=found)

    server: Server[Any] = Server("gateleg-documents", on_list_tools=list_tools, on_call_tool=call_tool)
    # The host has already checked the Origin and Host headers.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(streamable_http_path="/", json_response=True, stateless_http=True, transport_security=security)
    return Surface("/mcp/rag", app, body_limit=_BODY)


def tool_advice(error: GatelegError) -> str:
    """The suggested fix of an error, for a caller that uses tools instead of routes."""
    if isinstance(error, UnknownRepository):
        return "Name a repository that the owner of this key can read."
    if isinstance(error, UnknownCollection):
        return "Leave the collection out to use all collections of the repository, or name another by its id or name."
    return "" if _ROUTE.search(error.fix or "") else error.fix or ""


def _refusal(text: str) -> types.CallToolResult:
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
