"""`/events/...`: server-sent events. An event id records how much the client has received, so any host can continue from there."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from gateleg.jobs import QueueStats, Update, follow_async
from gateleg.web.api.calls import Viewing
from gateleg.web.api.jobs.queues import QueueStatsView
from gateleg.web.api.jobs.views import JobDetail, LineView
from gateleg.web.events import Follower
from gateleg.web.host import Host
from gateleg.web.queue_stats import FRESH

__all__ = ["EventStream", "event"]

router = APIRouter(prefix="/events", tags=["Events"])
#: Seconds of silence after which a comment shows that the stream lives.
HEARTBEAT = 15.0
_SEEN = re.compile(r"(\d{1,12})-([0-9a-f]{16})")
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


def seen_by(header: str | None) -> tuple[int, str]:
    """How many lines, and which state, the reader of `Last-Event-ID` has seen."""
    match = _SEEN.fullmatch(header or "")
    return (int(match[1]), match[2]) if match else (0, "")


class JobReader:
    """What one reader of a job's events has seen, and so what an update has to tell it."""

    def __init__(self, seen: int, digest: str) -> None:
        self.seen = seen
        self.digest = digest

    def events(self, update: Update) -> list[bytes]:
        """The events that an update brings: lines it has not seen, and the job if it has changed."""
        found = []
        first = update.seen - len(update.lines)
        fresh = update.lines[max(0, self.seen - first) :]
        if fresh and update.seen > self.seen:
            lines = LineView.numbered(fresh, update.seen - len(fresh))
            self.seen = update.seen
            found.append(event("log", [line.model_dump(mode="json") for line in lines], self._id))
        job = JobDetail.of(update.job)
        if digest_of(job) != self.digest:
            self.digest = digest_of(job)
            found.append(event("job", job.model_dump(mode="json"), self._id))
        if update.last:
            found.append(event("end", {}, self._id))
        return found

    @property
    def _id(self) -> str:
        return f"{self.seen}-{self.digest or '0' * 16}"


@router.get("/jobs/{job_id}", response_class=EventStream)
async def follow_job(call: Viewing, request: Request, job_id: UUID) -> EventStream:
    """A job as it changes: `job` with its state, `log` with new lines, `end` when it is finished. `Last-Event-ID` goes on."""
    host = call.host
    reader = JobReader(*seen_by(request.headers.get("last-event-id")))
    first = await host.queue.look_on(job_id, reader.seen)
    return EventStream(_job_events(host, job_id, reader, first, request.state.welcome), headers=stream_headers())


async def _job_events(host: Host, job_id: UUID, reader: JobReader, first: Update, welcome: Welcome) -> AsyncIterator[bytes]:
    yield b"retry: 2000\n\n"
    # The source is followed before the job is looked at, so that nothing falls between the two.
    async with host.events.follow(f"job:{job_id}", lambda: follow_async(host.queue, job_id, seen=first.seen)) as follower:
        update = await host.queue.look_on(job_id, reader.seen)
        for told in reader.events(update):
            yield told
        if update.last:
            return
        async for update in news(follower, welcome):
            if update is None:
                yield b": still here\n\n"
                continue
            if update.seen - len(update.lines) > reader.seen:
                # The source began further on than this reader is.
                update = await host.queue.look_on(job_id, reader.seen)
            for told in reader.events(update):
                yield told
            if update.last:
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
        async for update in news(follower, welcome):
            if update is None:
                yield b": still here\n\n"
            elif digest_of(update) != seen:
                seen = digest_of(update)
                yield event("stats", update.model_dump(mode="json"), seen)
