"""The platform's own MCP server, available to every tenant without registration. Pure: never modifies the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.running.tools.mcp_servers import McpServer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LABEL", "internal_server"]

#: Prefix of its tools.
LABEL = "internal"
_PART = "X-Part-ID"


def internal_server(
    base_url: str | None, headers: Mapping[str, str] | None, endpoint_id: str, part_id: str | None = None, *, seconds: float = 30.0
) -> McpServer | None:
    """The server for an endpoint and part; None if the settings have none.

    `{endpoint_id}` in the address is substituted. If a part is given and the server has headers, a copy of them gets `X-Part-ID`.
    """
    if not base_url:
        return None
    own = dict(headers or {})
    if part_id and headers:
        own = {name: value for name, value in own.items() if name.lower() != _PART.lower()} | {_PART: part_id}
    return McpServer(LABEL, base_url.replace("{endpoint_id}", endpoint_id), own, seconds)
