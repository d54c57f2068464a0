"""The tenant context of HTTP requests and event streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.tenancy import PART_HEADER, RequestedTenant, assemble, header_text

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Listener, Principal, Resources

__all__ = ["ENDPOINT_HEADER", "context_of", "context_of_listener"]

#: The headers with the endpoint and the connection.
ENDPOINT_HEADER, _CONNECTION = "X-Endpoint-ID", "X-Connection-ID"


def context_of(request: HTTPConnection, resources: Resources[AgentsSettings], *, user_id: str | None = None) -> Context:
    """The context of a request, from its API key and its headers."""
    headers = request.headers
    asked = RequestedTenant(
        header_text(headers.get(ENDPOINT_HEADER), "endpoint_id"),
        header_text(headers.get(PART_HEADER), "part_id"),
        header_text(headers.get(_CONNECTION), "connection_id"),
        user_id,
    )
    # The host has authenticated the caller.
    principal: Principal = request.state.principal
    return assemble(principal, resources.settings, asked)


def context_of_listener(listener: Listener, resources: Resources[AgentsSettings]) -> Context:
    """The context of an event stream. Browsers cannot send headers with it, so the part is in the query string."""
    asked = RequestedTenant(listener.query.get("endpoint_id"), listener.query.get("part_id"))
    return assemble(listener.principal, resources.settings, asked)
