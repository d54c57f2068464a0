"""Limit the pages per caller that were fetched but whose browser never connected: each holds memory until it is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import Client

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gateleg.web.principal import Principal

#: Unopened pages to keep for each caller.
MAX_UNOPENED_PAGES = 20


class UnopenedPageLimit:
    """ASGI middleware: after each page built for a caller, drop the caller's oldest unopened pages."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        before = len(Client.instances)
        await self.app(scope, receive, send)
        if scope["type"] == "http" and len(Client.instances) > before:
            drop_unopened(scope["state"].get("principal"))


def drop_unopened(principal: Principal | None) -> None:
    """Drop all but the newest unopened pages of a caller. A browser that opens a dropped page reloads it."""
    waiting = [client for client in Client.instances.values() if not client.has_socket_connection and _owner(client) == principal]
    for client in sorted(waiting, key=lambda client: client.created)[:-MAX_UNOPENED_PAGES]:
        # A page that was connected before has its own reconnect timeout.
        if not client._delete_tasks:
            client.delete()


def _owner(client: Client) -> Principal | None:
    found: Principal | None = getattr(client.request.state, "principal", None)
    return found
