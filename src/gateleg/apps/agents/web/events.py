"""`/events/agents/...`: the frames of a run as server-sent events. The id of an event is the frame's index, so clients can resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.web.contexts import context_of_listener
from gateleg.host import Event, EventRoute
from gateleg.host.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Listener, Resources

__all__ = ["run_streams"]


def run_streams(resources: Resources[AgentsSettings]) -> list[EventRoute]:
    """The event streams of agents."""

    async def follow(listener: Listener) -> AsyncIterator[Event]:
        context = context_of_listener(listener, resources)
        frames = await follow_run(resources, context, listener.params["thread_uuid"], listener.params["run_uuid"], after=_after(listener))
        return _events(frames)

    about = "The frames of a run as they are written, after `Last-Event-ID` or `?after=`; the last one is `end`."
    return [EventRoute("/threads/{thread_uuid}/runs/{run_uuid}", follow, about=about)]


def _after(listener: Listener) -> int:
    """The index of the last frame that the client has. Raises `BadRequest`."""
    seen = listener.last_event_id or listener.query.get("after") or ""
    if not seen:
        return -1
    if not (seen.isascii() and seen.isdigit() and len(seen) < 10):
        raise BadRequest(
            f"{seen[:50]!r} is not the index of a frame.", fix="Use the id of the last event that you received, such as ?after=12."
        )
    return int(seen)


async def _events(frames: AsyncIterator[Frame]) -> AsyncIterator[Event]:
    async for frame in frames:
        yield Event(frame.kind, {**frame.to_event(), "index": frame.index}, id=str(frame.index))
