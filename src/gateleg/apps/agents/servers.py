"""Use cases: MCP servers of a tenant. Header values are stored as secrets; items and answers contain only references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.items import author, build, create_item, delete_item, find_item, update_item
from gateleg.apps.agents.listing import Listing, Paging, filtered, list_items, matching, timed
from gateleg.apps.agents.secret_references import (
    SERVER,
    delete_secrets,
    is_secret_name,
    restore_hidden,
    reveal_headers,
    secret_prefix,
    storing_secrets,
)
from gateleg.apps.agents.tables import McpServer, new_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from gateleg.apps.agents.tenancy import Context
    from gateleg.host.secrets import Secrets
    from gateleg.store import AsyncStore

_CHANGEABLE = ("mcp_label", "mcp_server_url", "headers", "allowed_tools")


async def find_server(store: AsyncStore, context: Context, mcp_server_uuid: str) -> McpServer | None:
    """Find a server by its id. Its header values are references."""
    return await find_item(store, McpServer, {"partition": context.partition, "mcp_server_uuid": mcp_server_uuid})


async def list_servers(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    mcp_label: str | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[McpServer]:
    """List the servers of a tenant, oldest change first."""
    question = timed(McpServer.by_update(partition=context.partition).reversed(), McpServer.updated_at, updated_at_gt, updated_at_lt)
    return await list_items(store, filtered(question, matching(McpServer, {"mcp_label": mcp_label})), paging)


async def save_server(store: AsyncStore, secrets: Secrets, context: Context, values: Mapping[str, Any]) -> McpServer:
    """Create a server, or change one (`mcp_server_uuid`). Given headers replace all existing ones."""
    check_editor(context)
    given = {name: values[name] for name in _CHANGEABLE if values.get(name) is not None}
    check_url(given.get("mcp_server_url"))
    server_uuid = values.get("mcp_server_uuid") or new_id()
    async with storing_secrets(secrets, context, secret_prefix(SERVER, server_uuid)) as keeper:
        if "headers" in given:
            before = await find_server(store, context, server_uuid)
            known = restore_hidden(given["headers"], {} if before is None else before.headers)
            given["headers"] = await keeper.conceal_headers(known)
        given["updated_by"] = author(context, values)
        ids = {"partition": context.partition, "mcp_server_uuid": server_uuid}
        if values.get("mcp_server_uuid"):
            return await update_item(store, McpServer, ids, given)
        return await create_item(store, build(McpServer, {**given, **ids}))


async def delete_server(store: AsyncStore, secrets: Secrets, context: Context, mcp_server_uuid: str) -> bool:
    """Delete a server and its secrets, unless an agent or a prompt uses it."""
    check_editor(context)
    deleted = await delete_item(store, McpServer, {"partition": context.partition, "mcp_server_uuid": mcp_server_uuid})
    if deleted:
        await delete_secrets(secrets, context, secret_prefix(SERVER, mcp_server_uuid))
    return deleted


async def headers_of(secrets: Secrets, context: Context, server: McpServer) -> dict[str, str]:
    """The headers of a server with resolved secrets, for a request to it. Never returned to clients."""
    return await reveal_headers(secrets, context, server.headers)


def check_url(url: str | None) -> None:
    """Raise `BadField` for an invalid URL, or one that contains a secret."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadField("mcp_server_url must be a URL such as https://tools.example.com/mcp.", details={"field": "mcp_server_url"})
    if parts.username or parts.password:
        raise BadField("mcp_server_url contains a password.", fix="Send it as a header.", details={"field": "mcp_server_url"})
    secret = next((name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if is_secret_name(name)), None)
    if secret is not None:
        raise BadField(
            f"mcp_server_url has a secret in its query ({secret}), which would be stored and shown in the clear.",
            fix="Send it as a header: header values are stored as secrets.",
            details={"field": "mcp_server_url"},
        )
