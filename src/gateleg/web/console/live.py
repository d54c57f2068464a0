"""Live updates: one poller per topic, shared by all pages that show it.

A topic is polled only while a page watches it, and pages are notified only of changes, so that many open pages cost as much as one.

`RedrawCache`: redraw a part of a live page only when its content has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nicegui import context

from gateleg.web.console.failures import describe_error
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

__all__ = ["Topic", "follow"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.web")

#: Seconds to notify watchers for before yielding to the event loop.
_MAX_BLOCKING_SECONDS = 0.005


@dataclass(frozen=True)
class Topic(Generic[T]):
    """A value to poll. Topics with the same name share one poller."""

    name: Hashable
    read: Callable[[], Awaitable[T]]
    #: seconds between two reads
    every: float = 2.0


@dataclass
class _Poller:
    topic: Topic[Any]
    watchers: list[Callable[[Any, BaseException | None], None]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    value: Any = None
    seen: bool = False
    error: BaseException | None = None
    soon: asyncio.Event = field(default_factory=asyncio.Event)


class Live:
    """The pollers of all topics that are being watched."""

    def __init__(self) -> None:
        self._pollers: dict[Hashable, _Poller] = {}

    def __len__(self) -> int:
        return len(self._pollers)

    async def now(self, topic: Topic[T]) -> T:
        """The last value of a topic that is being watched, or else one read now."""
        poller = self._pollers.get(topic.name)
        if poller is not None and poller.seen and poller.error is None:
            known: T = poller.value
            return known
        return await topic.read()

    def watch(
        self, topic: Topic[T], notify: Callable[[T | None, BaseException | None], None], known: T | None = None
    ) -> Callable[[], None]:
        """Call `notify` whenever a topic changes or fails; returns a function that stops it. `known` is a value the caller already has."""
        poller = self._pollers.get(topic.name)
        if poller is None:
            poller = self._pollers[topic.name] = _Poller(topic, value=known, seen=known is not None)
            poller.task = asyncio.get_running_loop().create_task(self._poll(poller))
        poller.watchers.append(notify)
        if poller.seen or poller.error is not None:
            notify(poller.value, poller.error)

        def leave() -> None:
            if notify in poller.watchers:
                poller.watchers.remove(notify)
            if not poller.watchers and self._pollers.get(topic.name) is poller:
                del self._pollers[topic.name]
                if poller.task is not None:
                    poller.task.cancel()

        return leave

    def refresh(self, name: Hashable) -> None:
        """Read a topic at once, because this process has just changed it."""
        poller = self._pollers.get(name)
        if poller is not None:
            poller.soon.set()

    def refresh_all(self) -> None:
        """Read all watched topics at once."""
        for poller in self._pollers.values():
            poller.soon.set()

    async def _poll(self, poller: _Poller) -> None:
        if poller.seen:
            await self._pause(poller)
        while True:
            poller.soon.clear()
            value, error = poller.value, None
            try:
                value = await poller.topic.read()
            except Exception as caught:
                error = caught
            changed = (error is None) != (poller.error is None) or not poller.seen or value != poller.value
            poller.value, poller.error, poller.seen = value, error, poller.seen or error is None
            if changed:
                await _notify_followers(poller)
            await self._pause(poller)

    async def _pause(self, poller: _Poller) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(poller.soon.wait(), poller.topic.every)


async def _notify_followers(poller: _Poller) -> None:
    """Notify every watcher, yielding in between: drawing hundreds of pages would block the event loop."""
    last_yield = time.monotonic()
    for notify in list(poller.watchers):
        if notify not in poller.watchers:
            continue
        try:
            notify(poller.value, poller.error)
        except Exception:
            # One page that fails to draw must not keep the others from being updated.
            _log.exception("a page failed to show an update")
        if time.monotonic() - last_yield > _MAX_BLOCKING_SECONDS:
            await asyncio.sleep(0)
            last_yield = time.monotonic()


class LiveIndicator:
    """The small indicator that shows whether a page is live, and if not, why."""

    def __init__(self) -> None:
        self.box: Tag = tag("span", classes="pulse", role="status")
        with self.box:
            tag("i", aria_hidden="true")
            self._word = tag("span", "Live")

    def show(self, error: BaseException | None) -> None:
        """Show that the page is live, or the error because of which it is not."""
        self._word.set_text("Live" if error is None else f"Not live: {describe_error(error).what}")
        self.box.classes(remove="still") if error is None else self.box.classes("still")


def follow(
    live: Live, topic: Topic[T], show: Callable[[T], None], pulse: LiveIndicator | None = None, known: T | None = None
) -> Callable[[], None]:
    """Show a topic on the page that is being built, until the page is closed or the returned function is called.

    `known` is the value that the page shows already.
    """
    client = context.client

    def notify(value: T | None, error: BaseException | None) -> None:
        if client.is_deleted:
            return
        with client:
            if pulse is not None:
                pulse.show(error)
            if error is None:
                show(value)  # type: ignore[arg-type]

    leave = live.watch(topic, notify, known)
    client.on_delete(leave)
    return leave


class RedrawCache:
    """The keys that the parts of a page were last drawn for. Redrawing a button while it is pressed loses the click."""

    def __init__(self) -> None:
        self._drawn: dict[int, object] = {}

    def draw(self, part: Tag, key: object, draw: Callable[[], None]) -> None:
        """Redraw a part, unless it was last drawn for the same key."""
        if part.id not in self._drawn or self._drawn[part.id] != key:
            self._drawn[part.id] = key
            part.clear()
            with part:
                draw()
