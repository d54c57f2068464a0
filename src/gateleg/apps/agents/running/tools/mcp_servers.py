"""Client for the MCP servers of tenants: list tools, call a tool, check health. Streamable HTTP behind the host's SSRF guard."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.apps.agents.errors import McpFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp import Client
    from mcp_types import CallToolResult, Tool

    from gateleg.net.http import GuardedClient

__all__ = ["McpHealth", "McpResult", "McpServer", "McpTool", "call_tool", "check_health", "list_tools"]

#: Maximum pages of a tool list, and maximum tools.
_PAGES, _TOOLS = 20, 500


@dataclass(frozen=True, slots=True)
class McpServer:
    """The address of a server, and the headers of every request, with their names exactly as given."""

    label: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: timeout of each call
    seconds: float = 30.0
    #: names of usable tools; empty means all
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server."""

    name: str
    description: str
    schema: dict[str, Any]
    #: whether the server declares it idempotent
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class McpResult:
    """The result of a tool call."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class McpHealth:
    """The result of a health check."""

    ok: bool
    #: milliseconds to list its tools
    milliseconds: int
    tools: int = 0
    message: str = ""


async def list_tools(server: McpServer, outgoing: GuardedClient) -> list[McpTool]:
    """List the usable tools of a server. Raises `McpFailed`."""
    found: list[Tool] = []
    async with _connected(server, outgoing) as client:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) >= _TOOLS:
                break
    return [_described(tool) for tool in found[:_TOOLS] if not server.allowed or tool.name in server.allowed]


async def call_tool(server: McpServer, outgoing: GuardedClient, name: str, arguments: dict[str, Any]) -> McpResult:
    """Call a tool. An error reported by the tool itself is a result. Raises `McpFailed` if the server fails."""
    if server.allowed and name not in server.allowed:
        raise McpFailed(f"The tool {name!r} of {server.label} is not on its list of allowed tools.", fix="Allow it, or use another.")
    async with _connected(server, outgoing) as client:
        return _read(await client.call_tool(name, arguments))


async def check_health(server: McpServer, outgoing: GuardedClient) -> McpHealth:
    """Check that a server lists its tools, and measure the time."""
    begun = time.monotonic()
    try:
        tools = await list_tools(server, outgoing)
    except McpFailed as error:
        return McpHealth(False, round((time.monotonic() - begun) * 1000), message=error.message)
    return McpHealth(True, round((time.monotonic() - begun) * 1000), len(tools))


@asynccontextmanager
async def _connected(server: McpServer, outgoing: GuardedClient) -> AsyncIterator[Client]:
    """A client for one operation, opened and closed in one task, within the server's timeout."""
    # Imported here: loading takes half a second, and only agents with MCP servers need it.
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from gateleg.apps.agents.running.tools.guarded_transport import GuardedTransport

    transport = GuardedTransport(replace(outgoing, seconds=server.seconds))
    try:
        async with (
            asyncio.timeout(server.seconds),
            httpx2.AsyncClient(transport=transport, headers=dict(server.headers), timeout=server.seconds) as http,
            Client(streamable_http_client(server.url, http_client=http), read_timeout_seconds=server.seconds, cache=None) as client,
        ):
            yield client
    except McpFailed:
        raise
    except TimeoutError as error:
        raise McpFailed(f"The MCP server {server.label} did not answer within {server.seconds:g} seconds.") from error
    except Exception as error:
        # The client wraps errors in exception groups; the guard's own message is more specific.
        if transport.refused is not None:
            raise McpFailed(
                f"The MCP server {server.label} cannot be used: {transport.refused.message}", fix=transport.refused.fix
            ) from error
        raise McpFailed(f"The MCP server {server.label} failed: {_innermost(error)}.") from error


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(". ")


def _described(tool: Tool) -> McpTool:
    hints = tool.annotations
    repeatable = hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)
    return McpTool(tool.name, tool.description or "", dict(tool.input_schema), repeatable)


def _read(result: CallToolResult) -> McpResult:
    texts: list[str] = []
    for part in result.content:
        text = getattr(part, "text", None)
        texts.append(text if isinstance(text, str) else f"[{part.type}]")
    if not texts and result.structured_content is not None:
        texts.append(orjson.dumps(result.structured_content).decode())
    return McpResult("\n".join(texts), bool(result.is_error))
