"""Live news: one source for each topic, shared by all followers, for event streams and for pages.

Streams follow events (`Hub.follow`), pages watch values (`Hub.watch`): a value is read again when the store has changed, and its watchers
are told if it differs. An embedded store says when it was changed, by whatever process, so nothing is read while nothing happens. A remote
store cannot say so: it is polled, once for all followers of a topic.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gateleg.host.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Hashable

    from gateleg.jobs.change_feed import ChangeFeed

__all__ = ["Follower", "Hub", "TooManyFollowers", "Topic"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.web")
#: A follower that is further behind is disconnected; the client reconnects and resumes.
_MAX_QUEUED_UPDATES = 200
#: The maximum number of streams of a host process.
MAX_FOLLOWERS = 5000
#: Seconds to tell watchers for before yielding to the event loop.
_MAX_BLOCKING_SECONDS = 0.005
#: The shortest pause between two reads of a topic, however often the store changes.
_MIN_PAUSE_SECONDS = 0.05
#: A read and its drawing are followed by a pause of at least this multiple of their time, or one that leaves all topics together a share
#: of the event loop; but never by a longer one than the topic's `every`.
_PAUSE_FACTOR = 10.0
_PAUSE_FACTOR_OF_ALL = 4.0
#: How many values that pages have read are remembered with the version of the store, until the pages watch them.
_MAX_KNOWN = 1000


@dataclass(frozen=True)
class Topic(Generic[T]):
    """A value to show. Topics with the same name share one source."""

    name: Hashable
    read: Callable[[], Awaitable[T]]
    #: seconds between two reads, where the store cannot say that it has changed
    every: float = 2.0
    #: seconds after which it is read even if the store has not changed: for what changes by time alone, or comes from elsewhere
    expires: float | None = None


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


@dataclass(eq=False)
class _Source:
    """The reader of a topic that is watched, and the last value that it has read."""

    topic: Topic[Any]
    watchers: list[Callable[[Any, BaseException | None], None]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    value: Any = None
    seen: bool = False
    error: BaseException | None = None
    #: the version of the store before the last read
    version: object | None = None
    #: set when it is to be read again
    due: asyncio.Event = field(default_factory=asyncio.Event)
    #: when the last read began, and how long it took with the drawing, in seconds
    began: float = 0.0
    took: float = 0.0


class Hub:
    """The topics that have followers. The source of a topic runs once for all followers, while there are any.

    `changes` tells of commits to the store. Without it, the values of topics are polled.
    """

    def __init__(self, changes: ChangeFeed | None = None) -> None:
        self._topics: dict[str, Broadcast[object]] = {}
        self._sources: dict[Hashable, _Source] = {}
        self._known: dict[Hashable, object] = {}
        self._changes = changes if changes is not None and changes.hears_everything else None
        self._closed = False

    @property
    def followers(self) -> int:
        """The number of followers of all topics."""
        return sum(len(topic.followers) for topic in self._topics.values())

    @property
    def sources(self) -> int:
        """The number of running sources."""
        return len(self._topics) + len(self._sources)

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

    async def now(self, topic: Topic[T]) -> T:
        """The last value of a topic that is being watched, or else one read now."""
        source = self._sources.get(topic.name)
        if source is not None and source.seen and source.error is None:
            known: T = source.value
            return known
        version = self._version()
        value = await topic.read()
        self._remember(topic.name, version)
        return value

    def _version(self) -> object | None:
        return None if self._changes is None else self._changes.version()

    def _remember(self, name: Hashable, version: object | None) -> None:
        """Remember the version of the store before a page has read a value, until the page watches it. Some pages never do."""
        self._known.pop(name, None)
        self._known[name] = version
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def watch(
        self, topic: Topic[T], notify: Callable[[T | None, BaseException | None], None], known: T | None = None
    ) -> Callable[[], None]:
        """Call `notify` whenever a topic changes or fails; returns a function that stops it. `known` is what `now` has returned."""
        source = self._sources.get(topic.name)
        if source is None:
            source = self._sources[topic.name] = _Source(topic, value=known, seen=known is not None)
            source.version = self._known.pop(topic.name, None)
            source.task = asyncio.get_running_loop().create_task(self._run_source(source))
        source.watchers.append(notify)
        if source.seen or source.error is not None:
            notify(source.value, source.error)

        def leave() -> None:
            if notify in source.watchers:
                source.watchers.remove(notify)
            if not source.watchers and self._sources.get(topic.name) is source:
                del self._sources[topic.name]
                if source.task is not None:
                    source.task.cancel()

        return leave

    async def updates(self, topic: Topic[T]) -> AsyncIterator[T]:
        """The value of a topic, now and whenever it changes: a source for `follow`. Raises what reading it raises."""
        source = _Source(topic)
        while True:
            await self._read(source)
            if source.error is not None:
                raise source.error
            yield source.value
            while not await self._is_changed(source):
                pass

    async def _is_changed(self, source: _Source) -> bool:
        await self._pause(source)
        return await self._read(source)

    def refresh(self, name: Hashable) -> None:
        """Read a topic at once, because this process has just changed it."""
        source = self._sources.get(name)
        if source is not None:
            source.due.set()

    def refresh_all(self) -> None:
        """Read all watched topics at once."""
        for source in self._sources.values():
            source.due.set()

    async def _run_source(self, source: _Source) -> None:
        if source.seen:
            await self._pause(source)
        while True:
            if await self._read(source):
                await _tell(source)
                source.took = monotonic() - source.began
            await self._pause(source)

    async def _read(self, source: _Source) -> bool:
        """Read a topic; whether its value, or that it can be read at all, has changed."""
        source.due.clear()
        source.began, source.version = monotonic(), self._version()
        value, error = source.value, None
        try:
            value = await source.topic.read()
        except Exception as caught:
            error = caught
        changed = (error is None) != (source.error is None) or not source.seen or value != source.value
        source.value, source.error, source.seen = value, error, source.seen or error is None
        source.took = monotonic() - source.began
        return changed

    async def _pause(self, source: _Source) -> None:
        """Wait until a topic is to be read again."""
        topic = source.topic
        if self._changes is None or source.error is not None:
            await _wait(source.due, topic.every)
            return
        # However often the store changes, others have their turn.
        factor = max(_PAUSE_FACTOR, _PAUSE_FACTOR_OF_ALL * len(self._sources))
        if source.began and await _wait(source.due, min(max(_MIN_PAUSE_SECONDS, factor * source.took), topic.every)):
            return
        if source.version is None:
            # It is not known when its value was read: changes may have been missed.
            return
        stop = self._changes.listen(source.due.set, since=source.version)
        try:
            await _wait(source.due, topic.expires)
        finally:
            stop()

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
        for source in tuple(self._sources.values()):
            if source.task is not None:
                source.task.cancel()
                tasks.append(source.task)
        self._sources.clear()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for an event, at most some seconds; whether it has happened."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def _tell(source: _Source) -> None:
    """Tell every watcher, yielding in between: drawing hundreds of pages would block the event loop."""
    last_yield = monotonic()
    for notify in list(source.watchers):
        if notify not in source.watchers:
            continue
        try:
            notify(source.value, source.error)
        except Exception:
            # One page that fails to draw must not keep the others from being updated.
            _log.exception("a page failed to show an update")
        if monotonic() - last_yield > _MAX_BLOCKING_SECONDS:
            await asyncio.sleep(0)
            last_yield = monotonic()
