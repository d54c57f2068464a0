"""Reads the tools of a tenant's MCP server from the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.running.tools import mcp_servers
from gateleg.apps.agents.servers import headers_of

if TYPE_CHECKING:
    from gateleg.apps.agents.graphql.calls import Call
    from gateleg.apps.agents.tables import McpServer


async def list_live_tools(call: Call, server: McpServer) -> list[dict[str, Any]]:
    """The tools that agents of the tenant may call on a server. Raises `McpFailed`."""
    resources = call.resources
    headers = await headers_of(resources.secrets, call.context, server)
    allowed = tuple(server.allowed_tools or ())
    place = mcp_servers.McpServer(server.mcp_label, server.mcp_server_url, headers, resources.settings.mcp_seconds, allowed)
    found = await mcp_servers.list_tools(place, resources.outgoing)
    return [{"name": one.name, "description": one.description, "inputSchema": one.schema} for one in found]
