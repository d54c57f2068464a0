"""`/events/...`: server-sent events. An event id records how much the client has received, so any host can continue from there.

`/events/{application}/...`: the event streams that applications declare.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from gateleg.host.application import Event, EventRoute, Listener
from gateleg.host.host import Host
from gateleg.host.job_views import JobDetail, LineView
from gateleg.host.live import Follower, Hub, Topic
from gateleg.host.queues import MAX_AGE_SECONDS
from gateleg.jobs import AsyncQueue, Update, follow_async
from gateleg.jobs.monitor import QueueStats
from gateleg.jobs.tables import LogEntry
from gateleg.web.access import only, principal_of
from gateleg.web.api.calls import Viewing, refuse_set_aside
from gateleg.web.api.jobs.queues import QueueStatsView

__all__ = ["EventStream", "event", "stream_headers"]


router = APIRouter(prefix="/events", tags=["Events"])
#: After this time without events, a comment keeps the connection open.
HEARTBEAT_SECONDS = 15.0
#: Seconds after which the statistics are read again although no job has changed.
_STATS_SECONDS = 10.0
_EVENT_ID = re.compile(r"(\d{1,12})-(\d{1,12})-([0-9a-f]{16})")
AccessCheck = Callable[[], Awaitable[bool]]


def stream_headers() -> dict[str, str]:
    """Response headers that keep proxies from buffering or caching events."""
    return {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """A response of the type `text/event-stream`."""

    media_type = "text/event-stream"


def event(name: str, data: Any, id: str) -> bytes:
    """Encode one server-sent event."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id.encode(), name.encode(), orjson.dumps(data, default=str))


def digest_of(content: BaseModel) -> str:
    """A short hash of a model's content, to detect changes."""
    return hashlib.sha256(content.model_dump_json().encode()).hexdigest()[:16]


class StreamPosition(NamedTuple):
    """What a client has received of a job: the number of log lines and events, and the digest of the job's state."""

    lines: int = 0
    events: int = 0
    digest: str = ""

    @property
    def id(self) -> str:
        """The position as an event id, which comes back as `Last-Event-ID`."""
        return f"{self.lines}-{self.events}-{self.digest or '0' * 16}"


def position_from(header: str | None) -> StreamPosition:
    """Parse a `Last-Event-ID`; a missing or unreadable one is the start."""
    match = _EVENT_ID.fullmatch(header or "")
    return StreamPosition(int(match[1]), int(match[2]), match[3]) if match else StreamPosition()


class JobUpdateEvents:
    """Encodes an update of a job as events, once for all clients at the same position."""

    def __init__(self, update: Update) -> None:
        self.update = update
        #: encoded events and the position after them, by the position before them
        self._encoded: dict[StreamPosition, tuple[list[bytes], StreamPosition]] = {}

    def events_for(self, seen: StreamPosition) -> tuple[list[bytes], StreamPosition]:
        """The events for a client at a position, and its position after them. Most clients share one position."""
        found = self._encoded.get(seen)
        if found is None:
            found = self._encoded[seen] = self._encode_for(seen)
        return found

    def _encode_for(self, before: StreamPosition) -> tuple[list[bytes], StreamPosition]:
        """Encode the new log lines and events, and the job if its state has changed."""
        now, found = before, []
        if (lines := self.lines_after(now.lines)) is not None:
            now = now._replace(lines=self.update.seen)
            found.append(event("log", lines, now.id))
        if (emitted := self.events_after(now.events)) is not None:
            now = now._replace(events=self.update.emitted)
            found.append(event("emit", emitted, now.id))
        digest, job = self.job
        if digest != now.digest:
            now = now._replace(digest=digest)
            found.append(event("job", job, now.id))
        if self.update.last:
            found.append(event("end", {}, now.id))
        return found, now

    @cached_property
    def job(self) -> tuple[str, Any]:
        """The digest of the job's state, and the state itself."""
        detail = JobDetail.of(self.update.job)
        return digest_of(detail), orjson.Fragment(orjson.dumps(detail.model_dump(mode="json"), default=str))

    @cached_property
    def _lines(self) -> Any:
        return self._encode_lines(self.update.lines)

    @cached_property
    def _events(self) -> Any:
        return _encode_events(self.update.events, self.update.emitted)

    def _encode_lines(self, lines: list[LogEntry]) -> Any:
        numbered = LineView.numbered(lines, self.update.seen - len(lines))
        return orjson.Fragment(orjson.dumps([line.model_dump(mode="json") for line in numbered], default=str))

    def lines_after(self, seen: int) -> Any:
        """The log lines after the first `seen`; None if there are none."""
        fresh = self.update.seen - seen
        if fresh <= 0 or not self.update.lines:
            return None
        return self._lines if fresh >= len(self.update.lines) else self._encode_lines(self.update.lines[-fresh:])

    def events_after(self, emitted: int) -> Any:
        """The events after the first `emitted`; None if there are none."""
        fresh = self.update.emitted - emitted
        if fresh <= 0 or not self.update.events:
            return None
        return self._events if fresh >= len(self.update.events) else _encode_events(self.update.events[-fresh:], self.update.emitted)

    def follows(self, seen: StreamPosition) -> bool:
        """Whether the update continues at a position without a gap."""
        update = self.update
        return update.seen - len(update.lines) <= seen.lines and update.emitted - len(update.events) <= seen.events


def _encode_events(events: list[Any], until: int) -> Any:
    first = until - len(events)
    return orjson.Fragment(orjson.dumps([{"number": first + place, "event": one} for place, one in enumerate(events)]))


@router.get("/jobs/{job_id}", response_class=EventStream, dependencies=[Depends(refuse_set_aside)])
async def follow_job(call: Viewing, request: Request, job_id: UUID) -> EventStream:
    """A job as it changes: `job` with its state, `log` with new lines, `emit` with events of its handler, `end` when it is finished.

    `Last-Event-ID` resumes after the last event received.
    """
    return await job_stream(call.host.queue, call.host.events, job_id, request, request.state.is_still_authenticated)


async def job_stream(queue: AsyncQueue, hub: Hub, job_id: UUID, request: Request, has_access: AccessCheck) -> EventStream:
    """The events of a job after the request's `Last-Event-ID`. A job that does not exist is an error before the stream begins."""
    seen = position_from(request.headers.get("last-event-id"))
    first = await queue.read_update(job_id, seen.lines, seen.events)
    return EventStream(_job_event_stream(queue, hub, job_id, seen, first, has_access), headers=stream_headers())


async def _job_updates(queue: AsyncQueue, job_id: UUID, first: Update) -> AsyncIterator[JobUpdateEvents]:
    async for update in follow_async(queue, job_id, seen=first.seen, emitted=first.emitted):
        yield JobUpdateEvents(update)


async def _job_event_stream(
    queue: AsyncQueue, hub: Hub, job_id: UUID, seen: StreamPosition, first: Update, has_access: AccessCheck
) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    # Subscribe before reading the job, so that no update is missed between the two.
    async with hub.follow(f"job:{job_id}", lambda: _job_updates(queue, job_id, first)) as follower:
        current = JobUpdateEvents(await queue.read_update(job_id, seen.lines, seen.events))
        parts, seen = current.events_for(seen)
        for part in parts:
            yield part
        if current.update.last:
            return
        async for found in updates_or_heartbeats(follower, has_access):
            if found is None:
                yield b": still here\n\n"
                continue
            # The shared source may have started after this client's position.
            current = found if found.follows(seen) else JobUpdateEvents(await queue.read_update(job_id, seen.lines, seen.events))
            parts, seen = current.events_for(seen)
            for part in parts:
                yield part
            if current.update.last:
                return


async def updates_or_heartbeats(follower: Follower[Any], has_access: AccessCheck) -> AsyncIterator[Any]:
    """The updates of a topic, and None after each silent interval. Ends with the topic, or when the caller loses access."""
    while True:
        try:
            update = await follower.next(HEARTBEAT_SECONDS)
        except TimeoutError:
            if not await has_access():
                return
            yield None
            continue
        if update is None or not await has_access():
            return
        yield update


class StatsView(BaseModel):
    """The statistics of all queues."""

    queues: list[QueueStatsView]

    @classmethod
    def of(cls, found: tuple[QueueStats, ...]) -> "StatsView":
        """Convert the statistics."""
        return cls(queues=[QueueStatsView.of(one) for one in found])


async def _stats(host: Host) -> AsyncIterator[StatsView]:
    before = ""
    # The figures are those of the last minutes, so they change by time too.
    topic = Topic("stats", lambda: host.queue_stats.read(max_age=0.0), every=MAX_AGE_SECONDS, expires=_STATS_SECONDS)
    async for found in host.events.updates(topic):
        view = StatsView.of(found)
        if digest_of(view) != before:
            before = digest_of(view)
            yield view


@router.get("/stats", response_class=EventStream)
async def follow_stats(call: Viewing, request: Request) -> EventStream:
    """The statistics of all queues as they change: `stats`. `Last-Event-ID` skips what the client already has."""
    return EventStream(
        _stats_event_stream(call.host, request.headers.get("last-event-id"), request.state.is_still_authenticated), headers=stream_headers()
    )


async def _stats_event_stream(host: Host, seen: str | None, has_access: AccessCheck) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async with host.events.follow("stats", lambda: _stats(host)) as follower:
        view = StatsView.of(await host.queue_stats.read())
        if digest_of(view) != seen:
            seen = digest_of(view)
            yield event("stats", view.model_dump(mode="json"), seen)
        async for found in updates_or_heartbeats(follower, has_access):
            if found is None:
                yield b": still here\n\n"
            elif digest_of(found) != seen:
                seen = digest_of(found)
                yield event("stats", found.model_dump(mode="json"), seen)


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
