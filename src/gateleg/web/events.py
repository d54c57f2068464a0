"""Live events: one source for each topic, shared by all subscribers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from gateleg.web.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["Follower", "Hub", "TooManyFollowers"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.web")
#: What one follower may be behind before it is cut off; it comes back and goes on where it was.
_BEHIND = 200
#: How many may follow at once.
MOST = 5000


class TooManyFollowers(Refusal):
    """More open streams than the host holds."""

    code = "too-many-followers"
    status = 503
    fix = "Close some, or start another host."


@dataclass(eq=False)
class Follower(Generic[T]):
    """One who follows a topic: `async for update in follower`. It ends with the topic, or when it is too far behind."""

    queue: asyncio.Queue[T | None] = field(default_factory=lambda: asyncio.Queue(_BEHIND))
    over: bool = False

    def tell(self, update: T) -> None:
        """Hand an update on; whoever does not keep up is cut off."""
        try:
            self.queue.put_nowait(update)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """Let the iteration end, at once."""
        self.over = True
        while not self.queue.empty():
            self.queue.get_nowait()
        self.queue.put_nowait(None)

    async def next(self, seconds: float) -> T | None:
        """The next update; None when the topic is over. Raises `TimeoutError` when there is none for so long."""
        if not self.queue.empty():
            # Without a timer, which would take longer than all the rest.
            return self.queue.get_nowait()
        if self.over:
            return None
        async with asyncio.timeout(seconds):
            return await self.queue.get()

    async def __aiter__(self) -> AsyncIterator[T]:
        """The updates from now on, until the topic is over."""
        while not (self.over and self.queue.empty()):
            update = await self.queue.get()
            if update is None:
                return
            yield update


@dataclass(eq=False)
class Topic(Generic[T]):
    """A source of updates and those who follow it."""

    followers: set[Follower[T]] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class Hub:
    """The topics that somebody follows. A topic's source runs while it has followers, once for all of them."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic[object]] = {}
        self._closed = False

    @property
    def followers(self) -> int:
        """How many follow something."""
        return sum(len(topic.followers) for topic in self._topics.values())

    @property
    def sources(self) -> int:
        """How many sources run."""
        return len(self._topics)

    @asynccontextmanager
    async def follow(self, name: str, source: Callable[[], AsyncIterator[T]]) -> AsyncIterator[Follower[T]]:
        """Follow a topic; its source is started for the first follower and ended with the last."""
        if self.followers >= MOST:
            raise TooManyFollowers(f"{MOST:,} streams are open already.")
        follower: Follower[T] = Follower()
        if self._closed:
            follower.end()
            yield follower
            return
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = Topic()
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

    async def _run(self, name: str, topic: Topic[object], source: Callable[[], AsyncIterator[object]]) -> None:
        try:
            async for update in source():
                for follower in tuple(topic.followers):
                    follower.tell(update)
        except Exception:
            _log.exception("The source of %s failed; its followers come back by themselves.", name)
        finally:
            if self._topics.get(name) is topic:
                del self._topics[name]
            for follower in tuple(topic.followers):
                # Behind what it was told and has not read yet.
                if not follower.over:
                    follower.over = True
                    with suppress(asyncio.QueueFull):
                        follower.queue.put_nowait(None)

    async def close(self) -> None:
        """End all streams, so that a host that stops need not wait for them."""
        self._closed = True
        tasks = []
        for topic in tuple(self._topics.values()):
            for follower in tuple(topic.followers):
                follower.end()
            if topic.task is not None:
                topic.task.cancel()
                tasks.append(topic.task)
        await asyncio.gather(*tasks, return_exceptions=True)
