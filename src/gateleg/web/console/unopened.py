"""Pages that were fetched and whose browser never connected: each costs memory until it is dropped, so a caller has only a few of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import Client

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gateleg.web.principal import Principal

#: Pages of one caller that may wait for their browser at the same time.
MOST = 20


class FewUnopened:
    """Drops the oldest pages of a caller that nobody has opened, after each page that is built for it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        before = len(Client.instances)
        await self.app(scope, receive, send)
        if scope["type"] == "http" and len(Client.instances) > before:
            drop_unopened(scope["state"].get("principal"))


def drop_unopened(principal: Principal | None) -> None:
    """Drop all but the newest unopened pages of a caller; one that is opened after all is loaded again by its browser."""
    waiting = [client for client in Client.instances.values() if not client.has_socket_connection and _owner(client) == principal]
    for client in sorted(waiting, key=lambda client: client.created)[:-MOST]:
        # A page that was connected has its own time to come back.
        if not client._delete_tasks:
            client.delete()


def _owner(client: Client) -> Principal | None:
    found: Principal | None = getattr(client.request.state, "principal", None)
    return found
