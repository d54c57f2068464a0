"""Resolve a tenant's registered MCP servers and the platform's own for calling: secret references in headers become values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.running.tools.internal_mcp import internal_server
from gateleg.apps.agents.running.tools.mcp_servers import McpServer
from gateleg.apps.agents.tables import McpServer as StoredServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

__all__ = ["resolve_server", "servers_of"]


async def resolve_server(resources: Resources[AgentsSettings], partition: Partition, stored: StoredServer) -> McpServer:
    """Resolve the headers of a registered server. Raises `SecretNotFound` for a reference to a missing secret."""
    secrets, tenant = resources.secrets, str(partition)
    headers = {name: await secrets.resolve(value, tenant=tenant) for name, value in stored.headers.items()}
    return McpServer(stored.mcp_label, stored.mcp_server_url, headers, resources.settings.mcp_seconds, tuple(stored.allowed_tools or ()))


async def servers_of(
    resources: Resources[AgentsSettings], partition: Partition, uuids: Sequence[str], part_id: str | None
) -> list[McpServer]:
    """Resolve a tenant's servers by id, and the platform's own if configured. Deleted servers are skipped."""
    found = [await resolve_server(resources, partition, one) for one in await _stored(resources, partition, uuids)]
    configured = resources.settings.internal_mcp
    if configured is not None:
        headers = configured.headers
        if headers is not None:
            headers = {name: await resources.secrets.resolve(value) for name, value in headers.items()}
        internal = internal_server(configured.base_url, headers, partition.endpoint_id, part_id, seconds=resources.settings.mcp_seconds)
        found += [internal] if internal is not None else []
    return found


async def _stored(resources: Resources[AgentsSettings], partition: Partition, uuids: Sequence[str]) -> list[StoredServer]:
    if not uuids:
        return []
    refs = [StoredServer.key(partition=partition, mcp_server_uuid=one) for one in dict.fromkeys(uuids)]
    return [one for one in await resources.store.batch_get(refs) if one is not None]
