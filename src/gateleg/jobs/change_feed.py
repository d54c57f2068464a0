"""How workers and followers of jobs hear of changes at once: from their own process by a `Notifier`, from others by a `ChangeFeed`.

SQLite reports in microseconds whether another connection has committed (`data_version`). A feed polls it every few milliseconds while
somebody listens: this needs no file, port or helper process, and a killed process leaves nothing behind.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from gateleg.store.transports import AsyncTransport
    from gateleg.store.transports.embedded import GroupCommitTransport

__all__ = ["ChangeFeed"]

#: Seconds between two polls for those who follow a job: the shortest and the longest interval.
_FOLLOWER_SECONDS = (0.015, 0.025)
#: How much the longest interval grows with each listener: all of them read after a change.
_SECONDS_PER_LISTENER = 0.0007


@dataclass(slots=True)
class _Listener:
    call: Callable[[], object]
    #: the last version of the store that it knows of
    version: object


class ChangeFeed:
    """Calls its listeners after another process has committed to the embedded store; never with a remote store.

    With `own`, it also calls them after commits of this process. `seconds` are the shortest and the longest interval between two polls.
    Each change doubles the interval, and a poll without one makes it the shortest again, so that listeners do not read all the time while
    other processes write all the time.
    """

    def __init__(self, transport: AsyncTransport, seconds: tuple[float, float] = _FOLLOWER_SECONDS, *, own: bool = False) -> None:
        # Imported here because it needs the engine, which a program with a remote store does not load.
        from gateleg.store.transports.embedded import with_shared_commits

        self._transport = with_shared_commits(transport)
        self._own = own
        self._listeners: dict[object, _Listener] = {}
        self._min_seconds, self._max_seconds = seconds
        self._poll_seconds = self._min_seconds
        self._timer: asyncio.TimerHandle | None = None

    @property
    def hears_everything(self) -> bool:
        """Whether no commit is missed, so that nobody has to poll besides: with `own` and an embedded store."""
        return self._own and self._transport is not None

    def version(self) -> object:
        """The version of the store as it is now, for `listen`; 0 for a remote store."""
        return 0 if self._transport is None else self._version(self._transport)

    def commits(self) -> object | None:
        """A version that changes with every commit of any process, this one's too; None for a remote store."""
        return None if self._transport is None else self._transport.commits()

    def _version(self, transport: GroupCommitTransport) -> object:
        return transport.commits() if self._own else transport.changes()

    def listen(self, call: Callable[[], object], since: object | None = None) -> Callable[[], None]:
        """Call a function in the running event loop after every change since a version, by default since now.

        Returns a function that ends this. Polling ends with the last listener.
        """
        if self._transport is None:
            return lambda: None
        mark = object()
        self._listeners[mark] = _Listener(call, self.version() if since is None else since)
        if self._timer is None:
            self._schedule_poll(self._transport)

        def stop() -> None:
            self._listeners.pop(mark, None)
            if not self._listeners and self._timer is not None:
                self._timer.cancel()
                self._timer = None

        return stop

    def reset_interval(self) -> None:
        """Poll at the shortest interval again: the last change was of use, and the next one probably is too."""
        self._poll_seconds = self._min_seconds

    def _schedule_poll(self, transport: GroupCommitTransport) -> None:
        from asyncio import get_running_loop

        self._timer = get_running_loop().call_later(self._poll_seconds, self._poll, transport)

    def _poll(self, transport: GroupCommitTransport) -> None:
        version = self._version(transport)
        outdated = [listener for listener in self._listeners.values() if listener.version != version]
        if outdated:
            self._poll_seconds = min(2 * self._poll_seconds, self._max_seconds + _SECONDS_PER_LISTENER * len(self._listeners))
        else:
            self.reset_interval()
        self._schedule_poll(transport)
        for listener in outdated:
            listener.version = version
            listener.call()


class Notifier:
    """Calls its listeners with the name of a queue in which a job became claimable, or the id of a job that changed. Thread-safe."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[str], object]] = []
        self._lock = threading.Lock()

    def listen(self, listener: Callable[[str], object]) -> Callable[[], None]:
        """Add a listener, and return a function that removes it."""
        with self._lock:
            self._listeners.append(listener)

        def stop() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return stop

    def notify(self, name: str) -> None:
        """Call all listeners."""
        if self._listeners:
            with self._lock:
                listeners = list(self._listeners)
            for listener in listeners:
                listener(name)
