"""Live events: one source for each topic, shared by all subscribers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from gateleg.host.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["Follower", "Hub", "TooManyFollowers"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.web")
#: A follower that is further behind is disconnected; the client reconnects and resumes.
_MAX_QUEUED_UPDATES = 200
#: The maximum number of streams of a host process.
MAX_FOLLOWERS = 5000


class TooManyFollowers(Refusal):
    """The host has reached its limit of open event streams."""

    status = 503
    fix = "Close some streams, or start another host."


@dataclass(eq=False)
class Follower(Generic[T]):
    """A subscription to a topic: `async for update in follower`. It ends with the topic, or when it falls too far behind."""

    queue: asyncio.Queue[T | None] = field(default_factory=lambda: asyncio.Queue(_MAX_QUEUED_UPDATES))
    ended: bool = False

    def deliver(self, update: T) -> None:
        """Queue an update; end the subscription if its queue is full."""
        try:
            self.queue.put_nowait(update)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """End the iteration at once and drop the queued updates."""
        self.ended = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)

    async def next(self, seconds: float) -> T | None:
        """The next update; None when the topic has ended. Raises `TimeoutError` after `seconds` without an update."""
        if not self.queue.empty():
            # Skip the timer, which would cost more than the rest of this call.
            return self.queue.get_nowait()
        if self.ended:
            return None
        async with asyncio.timeout(seconds):
            return await self.queue.get()

    async def __aiter__(self) -> AsyncIterator[T]:
        """The updates from now on, until the topic ends."""
        while not (self.ended and self.queue.empty()):
            update = await self.queue.get()
            if update is None:
                return
            yield update


@dataclass(eq=False)
class Broadcast(Generic[T]):
    """A running source of updates and its followers."""

    followers: set[Follower[T]] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class Hub:
    """The topics that have followers. The source of a topic runs once for all followers, while there are any."""

    def __init__(self) -> None:
        self._topics: dict[str, Broadcast[object]] = {}
        self._closed = False

    @property
    def followers(self) -> int:
        """The number of followers of all topics."""
        return sum(len(topic.followers) for topic in self._topics.values())

    @property
    def sources(self) -> int:
        """The number of running sources."""
        return len(self._topics)

    @asynccontextmanager
    async def follow(self, name: str, source: Callable[[], AsyncIterator[T]]) -> AsyncIterator[Follower[T]]:
        """Follow a topic. The first follower starts its source, and the last one to leave cancels it."""
        if self.followers >= MAX_FOLLOWERS:
            raise TooManyFollowers(f"{MAX_FOLLOWERS:,} event streams are open already.")
        follower: Follower[T] = Follower()
        if self._closed:
            follower.end()
            yield follower
            return
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = Broadcast()
            topic.task = asyncio.create_task(self._run(name, topic, source))
        topic.followers.add(follower)  # type: ignore[arg-type]
        try:
            yield follower
        finally:
            topic.followers.discard(follower)
            if not topic.followers and self._topics.get(name) is topic:
                del self._topics[name]
                assert topic.task is not None
                topic.task.cancel()

    async def _run(self, name: str, topic: Broadcast[object], source: Callable[[], AsyncIterator[object]]) -> None:
        try:
            async for update in source():
                for follower in tuple(topic.followers):
                    follower.deliver(update)
        except Exception:
            _log.exception("event source %s failed; its clients will reconnect", name)
        finally:
            if self._topics.get(name) is topic:
                del self._topics[name]
            for follower in tuple(topic.followers):
                # After the updates that it has not read yet.
                if not follower.ended:
                    follower.ended = True
                    with suppress(asyncio.QueueFull):
                        follower.queue.put_nowait(None)

    async def close(self) -> None:
        """End all streams, so that the host can shut down without waiting for clients to disconnect."""
        self._closed = True
        tasks = []
        for topic in tuple(self._topics.values()):
            for follower in tuple(topic.followers):
                follower.end()
            if topic.task is not None:
                topic.task.cancel()
                tasks.append(topic.task)
        await asyncio.gather(*tasks, return_exceptions=True)
