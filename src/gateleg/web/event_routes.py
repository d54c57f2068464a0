"""`/events/{application}/...`: the event streams that applications declare."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic_core import to_jsonable_python

from gateleg.web.access import only, principal_of
from gateleg.web.contributions import Event, EventRoute, Listener
from gateleg.web.events import Hub
from gateleg.web.streams import AccessCheck, EventStream, event, stream_headers, updates_or_heartbeats


def event_routes(application: str, title: str, declared: Any, hub: Hub) -> APIRouter:
    """The routes of an application's streams."""
    router = APIRouter(prefix=f"/events/{application}", tags=[title])
    for route in declared:
        router.add_api_route(
            route.path,
            _endpoint(application, route, hub),
            response_class=EventStream,
            dependencies=[only(route.role)],
            name=f"{application} {route.path}",
            description=route.about or None,
            openapi_extra={"parameters": _parameters(route)},
        )
    return router


def _parameters(route: EventRoute) -> list[dict[str, Any]]:
    names = [part[1:-1].partition(":")[0] for part in route.path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _endpoint(application: str, route: EventRoute, hub: Hub) -> Any:
    async def follow(request: Request) -> EventStream:
        parameters = {name: str(value) for name, value in request.path_params.items()}
        seen = request.headers.get("last-event-id")
        events = await route.follow(Listener(principal_of(request), parameters, dict(request.query_params), seen))
        return EventStream(_sent(f"{application}:{uuid4()}", events, hub, request.state.is_still_authenticated), headers=stream_headers())

    return follow


async def _sent(topic: str, events: AsyncIterator[Event], hub: Hub, has_access: AccessCheck) -> AsyncIterator[bytes]:
    """The encoded events. The hub runs the source, so it ends with the host, and a slow client is disconnected."""
    yield b"retry: 2000\n\n"
    async with hub.follow(topic, lambda: events) as follower:
        async for found in updates_or_heartbeats(follower, has_access):
            if found is None:
                yield b": still here\n\n"
            else:
                yield event(found.name, to_jsonable_python(found.data), found.id)
