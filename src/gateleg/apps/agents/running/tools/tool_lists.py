"""A cache of MCP tool lists, so that a question does not wait for every server to list its tools again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import McpFailed
from gateleg.apps.agents.running.tools.mcp_servers import list_tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.apps.agents.running.tools.mcp_servers import McpServer, McpTool
    from gateleg.net.http import GuardedClient

__all__ = ["ToolListCache"]

#: Seconds that a list stays valid, and seconds before a failed server is asked again.
FRESH, FAILED = 60.0, 10.0
#: Maximum cached lists.
_MAX_LISTS = 1_000
_Key = tuple[str, frozenset[tuple[str, str]], tuple[str, ...]]


class ToolListCache:
    """Tool lists by address and headers. Tenants never share an entry, because the headers carry their secrets."""

    def __init__(self, outgoing: GuardedClient, ticks: Callable[[], float] = time.monotonic) -> None:
        self._outgoing = outgoing
        self._ticks = ticks
        self._kept: dict[_Key, tuple[float, list[McpTool] | McpFailed]] = {}

    async def tools_of(self, server: McpServer) -> list[McpTool]:
        """The tools of a server, cached. Raises `McpFailed`."""
        key = (server.url, frozenset(server.headers.items()), server.allowed)
        kept = self._kept.get(key)
        if kept is None or kept[0] <= self._ticks():
            kept = await self._fetch(server)
            if len(self._kept) >= _MAX_LISTS:
                self._kept.clear()
            self._kept[key] = kept
        if isinstance(kept[1], McpFailed):
            raise kept[1]
        return kept[1]

    async def _fetch(self, server: McpServer) -> tuple[float, list[McpTool] | McpFailed]:
        try:
            return self._ticks() + FRESH, await list_tools(server, self._outgoing)
        except McpFailed as error:
            return self._ticks() + FAILED, error
