"""An MCP server on a port of this machine, made with the official package."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations


@dataclass
class ToolServer:
    """Where the server is, and the headers of the requests that it has had."""

    url: str
    port: int
    requests: list[dict[str, str]] = field(default_factory=list)


def _tools() -> MCPServer:
    server = MCPServer("weather")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def forecast(city: str) -> str:
        """The weather of tomorrow in a city."""
        return f"Rain in {city}."

    @server.tool()
    def storm(city: str) -> str:
        """Make a storm."""
        raise ValueError(f"No storms in {city}.")

    return server


@asynccontextmanager
async def tool_server() -> AsyncIterator[ToolServer]:
    """A server with the tools `forecast` and `storm`."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    port = listener.getsockname()[1]
    found = ToolServer(f"http://127.0.0.1:{port}/mcp", port)
    inner = _tools().streamable_http_app(json_response=True, stateless_http=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            found.requests.append({name.decode(): value.decode() for name, value in scope["headers"]})
        await inner(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    # The test has the signals.
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        yield found
    finally:
        server.should_exit = True
        with suppress(asyncio.CancelledError):
            await serving
        listener.close()
