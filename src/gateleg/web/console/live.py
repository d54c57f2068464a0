"""What changes while pages are open: one poller for each topic, shared by every page that shows it.

A topic is looked at while someone watches it, and only changes are told, so that many open consoles cost as much as one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nicegui import context

from gateleg.web.console.failures import told
from gateleg.web.console.markup import Tag, tag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

__all__ = ["Topic", "follow"]

T = TypeVar("T")
_log = logging.getLogger("gateleg.web")
#: Seconds for which pages are told of a change before others have their turn.
_TURN = 0.005


@dataclass(frozen=True)
class Topic(Generic[T]):
    """Something that can be looked at again and again. Topics with the same name are the same."""

    name: Hashable
    look: Callable[[], Awaitable[T]]
    #: seconds between two looks
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
    """The topics that are watched now."""

    def __init__(self) -> None:
        self._pollers: dict[Hashable, _Poller] = {}

    def __len__(self) -> int:
        return len(self._pollers)

    async def now(self, topic: Topic[T]) -> T:
        """A topic as it is known, or looked at now."""
        poller = self._pollers.get(topic.name)
        if poller is not None and poller.seen and poller.error is None:
            known: T = poller.value
            return known
        return await topic.look()

    def watch(self, topic: Topic[T], tell: Callable[[T | None, BaseException | None], None], known: T | None = None) -> Callable[[], None]:
        """Be told of a topic whenever it changes or cannot be looked at; the answer ends it. `known` is what the caller has seen of it."""
        poller = self._pollers.get(topic.name)
        if poller is None:
            poller = self._pollers[topic.name] = _Poller(topic, value=known, seen=known is not None)
            poller.task = asyncio.get_running_loop().create_task(self._poll(poller))
        poller.watchers.append(tell)
        if poller.seen or poller.error is not None:
            tell(poller.value, poller.error)

        def leave() -> None:
            if tell in poller.watchers:
                poller.watchers.remove(tell)
            if not poller.watchers and self._pollers.get(topic.name) is poller:
                del self._pollers[topic.name]
                if poller.task is not None:
                    poller.task.cancel()

        return leave

    def hurry(self, name: Hashable) -> None:
        """Look at a topic at once: something about it was just changed here."""
        poller = self._pollers.get(name)
        if poller is not None:
            poller.soon.set()

    def hurry_all(self) -> None:
        """Look at everything at once that is watched."""
        for poller in self._pollers.values():
            poller.soon.set()

    async def _poll(self, poller: _Poller) -> None:
        if poller.seen:
            await self._pause(poller)
        while True:
            poller.soon.clear()
            value, error = poller.value, None
            try:
                value = await poller.topic.look()
            except Exception as caught:
                error = caught
            changed = (error is None) != (poller.error is None) or not poller.seen or value != poller.value
            poller.value, poller.error, poller.seen = value, error, poller.seen or error is None
            if changed:
                await _tell_all(poller)
            await self._pause(poller)

    async def _pause(self, poller: _Poller) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(poller.soon.wait(), poller.topic.every)


async def _tell_all(poller: _Poller) -> None:
    """Tell every watcher, and let others have their turn: what hundreds of pages have to draw would hold up the host."""
    told = time.monotonic()
    for tell in list(poller.watchers):
        if tell not in poller.watchers:
            continue
        try:
            tell(poller.value, poller.error)
        except Exception:
            # One page that cannot be drawn must not leave the others without news.
            _log.exception("A page could not show what has changed.")
        if time.monotonic() - told > _TURN:
            await asyncio.sleep(0)
            told = time.monotonic()


class Pulse:
    """The small mark that says whether the page is live, and if not, why."""

    def __init__(self) -> None:
        self.box: Tag = tag("span", classes="pulse", role="status")
        with self.box:
            tag("i", aria_hidden="true")
            self._word = tag("span", "Live")

    def show(self, error: BaseException | None) -> None:
        """Live, or not because of an error."""
        self._word.set_text("Live" if error is None else f"Not live: {told(error).what}")
        self.box.classes(remove="still") if error is None else self.box.classes("still")


def follow(
    live: Live, topic: Topic[T], show: Callable[[T], None], pulse: Pulse | None = None, known: T | None = None
) -> Callable[[], None]:
    """Show a topic on the page that is being built, until the page is closed or the answer is called.

    `known` is what the page shows already.
    """
    client = context.client

    def tell(value: T | None, error: BaseException | None) -> None:
        if client.is_deleted:
            return
        with client:
            if pulse is not None:
                pulse.show(error)
            if error is None:
                show(value)  # type: ignore[arg-type]

    leave = live.watch(topic, tell, known)
    client.on_delete(leave)
    return leave
