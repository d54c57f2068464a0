"""The MCP server of the platform, which every tenant has without registering it. Pure: what the settings have is never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.running.tools.mcp_servers import McpServer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LABEL", "internal_server"]

#: What its tools are called by.
LABEL = "internal"
_PART = "X-Part-ID"


def internal_server(
    base_url: str | None, headers: Mapping[str, str] | None, endpoint_id: str, part_id: str | None = None, *, seconds: float = 30.0
) -> McpServer | None:
    """The server for one endpoint and part; None where none is configured.

    `{endpoint_id}` in its address is replaced. The part goes along as `X-Part-ID`, on a copy of the headers, when a part is given and the
    server has headers.
    """
    if not base_url:
        return None
    own = dict(headers or {})
    if part_id and headers:
        own = {name: value for name, value in own.items() if name.lower() != _PART.lower()} | {_PART: part_id}
    return McpServer(LABEL, base_url.replace("{endpoint_id}", endpoint_id), own, seconds)
