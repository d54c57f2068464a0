"""`/events/...`: server-sent events. An event id records how much the client has received, so any host can continue from there."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from gateleg.jobs import AsyncQueue, LogEntry, QueueStats, Update, follow_async
from gateleg.web.api.calls import Viewing
from gateleg.web.api.jobs.queues import QueueStatsView
from gateleg.web.api.jobs.views import JobDetail, LineView
from gateleg.web.events import Follower, Hub
from gateleg.web.host import Host
from gateleg.web.queue_stats import FRESH

__all__ = ["EventStream", "event", "stream_headers"]

router = APIRouter(prefix="/events", tags=["Events"])
#: Seconds of silence after which a comment shows that the stream lives.
HEARTBEAT = 15.0
_SEEN = re.compile(r"(\d{1,12})-(\d{1,12})-([0-9a-f]{16})")
Welcome = Callable[[], Awaitable[bool]]


def stream_headers() -> dict[str, str]:
    """The headers with which nobody on the way keeps events back."""
    return {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(StreamingResponse):
    """An answer of the type `text/event-stream`."""

    media_type = "text/event-stream"


def event(name: str, data: Any, id: str) -> bytes:
    """One event as it goes over the wire."""
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id.encode(), name.encode(), orjson.dumps(data, default=str))


def digest_of(content: BaseModel) -> str:
    """What tells one state of a thing from another."""
    return hashlib.sha256(content.model_dump_json().encode()).hexdigest()[:16]


class Seen(NamedTuple):
    """What a reader of a job has seen: how many lines and events, and which state of the job."""

    lines: int = 0
    events: int = 0
    digest: str = ""

    @property
    def id(self) -> str:
        """The id of the last event that it was told."""
        return f"{self.lines}-{self.events}-{self.digest or '0' * 16}"


def seen_by(header: str | None) -> Seen:
    """What the sender of `Last-Event-ID` has seen."""
    match = _SEEN.fullmatch(header or "")
    return Seen(int(match[1]), int(match[2]), match[3]) if match else Seen()


class JobNews:
    """An update of a job as all its readers are told it: what is the same for all of them is written once."""

    def __init__(self, update: Update) -> None:
        self.update = update
        #: what readers were told, by what they had seen before
        self._told: dict[Seen, tuple[list[bytes], Seen]] = {}

    def told(self, seen: Seen) -> tuple[list[bytes], Seen]:
        """The events that a reader who has seen so much is told, and what it has seen then. Most readers have seen the same."""
        found = self._told.get(seen)
        if found is None:
            found = self._told[seen] = self._tell(seen)
        return found

    def _tell(self, before: Seen) -> tuple[list[bytes], Seen]:
        """Lines and events that it has not seen, and the job if it has changed."""
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
        return self._numbered(self.update.lines)

    @cached_property
    def _events(self) -> Any:
        return _numbered_events(self.update.events, self.update.emitted)

    def _numbered(self, lines: list[LogEntry]) -> Any:
        numbered = LineView.numbered(lines, self.update.seen - len(lines))
        return orjson.Fragment(orjson.dumps([line.model_dump(mode="json") for line in numbered], default=str))

    def lines_after(self, seen: int) -> Any:
        """The lines that a reader has not seen; None without one."""
        fresh = self.update.seen - seen
        if fresh <= 0 or not self.update.lines:
            return None
        return self._lines if fresh >= len(self.update.lines) else self._numbered(self.update.lines[-fresh:])

    def events_after(self, emitted: int) -> Any:
        """The events that a reader has not seen; None without one."""
        fresh = self.update.emitted - emitted
        if fresh <= 0 or not self.update.events:
            return None
        return self._events if fresh >= len(self.update.events) else _numbered_events(self.update.events[-fresh:], self.update.emitted)

    def follows(self, seen: Seen) -> bool:
        """Whether a reader has seen all that came before."""
        update = self.update
        return update.seen - len(update.lines) <= seen.lines and update.emitted - len(update.events) <= seen.events


def _numbered_events(events: list[Any], until: int) -> Any:
    first = until - len(events)
    return orjson.Fragment(orjson.dumps([{"number": first + place, "event": one} for place, one in enumerate(events)]))


@router.get("/jobs/{job_id}", response_class=EventStream)
async def follow_job(call: Viewing, request: Request, job_id: UUID) -> EventStream:
    """A job as it changes: `job` with its state, `log` with new lines, `emit` with what its handler has emitted, `end` when it is
    finished. `Last-Event-ID` goes on."""
    return await job_stream(call.host.queue, call.host.events, job_id, request, request.state.welcome)


async def job_stream(queue: AsyncQueue, hub: Hub, job_id: UUID, request: Request, welcome: Welcome) -> EventStream:
    """The events of a job, from where the reader of a request was. One that there is not is refused before the stream begins."""
    seen = seen_by(request.headers.get("last-event-id"))
    first = await queue.look_on(job_id, seen.lines, seen.events)
    return EventStream(_job_events(queue, hub, job_id, seen, first, welcome), headers=stream_headers())


async def _job_news(queue: AsyncQueue, job_id: UUID, first: Update) -> AsyncIterator[JobNews]:
    async for update in follow_async(queue, job_id, seen=first.seen, emitted=first.emitted):
        yield JobNews(update)


async def _job_events(queue: AsyncQueue, hub: Hub, job_id: UUID, seen: Seen, first: Update, welcome: Welcome) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    # The source is followed before the job is looked at, so that nothing falls between the two.
    async with hub.follow(f"job:{job_id}", lambda: _job_news(queue, job_id, first)) as follower:
        told = JobNews(await queue.look_on(job_id, seen.lines, seen.events))
        parts, seen = told.told(seen)
        for part in parts:
            yield part
        if told.update.last:
            return
        async for found in news(follower, welcome):
            if found is None:
                yield b": still here\n\n"
                continue
            # The source may have begun further on than this reader is.
            told = found if found.follows(seen) else JobNews(await queue.look_on(job_id, seen.lines, seen.events))
            parts, seen = told.told(seen)
            for part in parts:
                yield part
            if told.update.last:
                return


async def news(follower: Follower[Any], welcome: Welcome) -> AsyncIterator[Any]:
    """Updates as they come, and None in silence; ends with the topic, and when the caller is no longer welcome."""
    while True:
        try:
            update = await follower.next(HEARTBEAT)
        except TimeoutError:
            if not await welcome():
                return
            yield None
            continue
        if update is None or not await welcome():
            return
        yield update


class StatsView(BaseModel):
    """How all queues do."""

    queues: list[QueueStatsView]

    @classmethod
    def of(cls, found: tuple[QueueStats, ...]) -> "StatsView":
        """The statistics of all queues."""
        return cls(queues=[QueueStatsView.of(one) for one in found])


async def _stats(host: Host) -> AsyncIterator[StatsView]:
    before = ""
    while True:
        view = StatsView.of(await host.pulse.read())
        if digest_of(view) != before:
            before = digest_of(view)
            yield view
        await asyncio.sleep(FRESH)


@router.get("/stats", response_class=EventStream)
async def follow_stats(call: Viewing, request: Request) -> EventStream:
    """How all queues do, as it changes: `stats`. `Last-Event-ID` leaves out what the reader has."""
    return EventStream(_stats_events(call.host, request.headers.get("last-event-id"), request.state.welcome), headers=stream_headers())


async def _stats_events(host: Host, seen: str | None, welcome: Welcome) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    async with host.events.follow("stats", lambda: _stats(host)) as follower:
        view = StatsView.of(await host.pulse.read())
        if digest_of(view) != seen:
            seen = digest_of(view)
            yield event("stats", view.model_dump(mode="json"), seen)
        async for found in news(follower, welcome):
            if found is None:
                yield b": still here\n\n"
            elif digest_of(found) != seen:
                seen = digest_of(found)
                yield event("stats", found.model_dump(mode="json"), seen)
