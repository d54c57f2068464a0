"""Detect commits of other processes to the same embedded store, for all followers in this process.

SQLite reports in microseconds whether another connection has committed (`data_version`). It is polled every few milliseconds while there
are listeners: this needs no file, port or helper process, and a killed process leaves nothing behind.

Notifications within a process: to workers when a job becomes claimable, to followers when a job changes.

Detect commits of other processes to the same embedded store, so that a worker finds the jobs that they submit at once.

SQLite reports in microseconds whether another connection has committed (`data_version`). An idle worker polls it every few milliseconds.
This needs no file, port or helper process, and a killed process leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.store.transports.group_commit import with_shared_commits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.store.transports import AsyncTransport
    from gateleg.store.transports.group_commit import GroupCommitTransport


#: Seconds between two polls. The interval grows to the maximum while other processes write all the time.
_MIN_FEED_SECONDS, _MAX_FEED_SECONDS = 0.015, 0.025
#: How much the maximum grows with each listener: all of them read after a change.
_SECONDS_PER_LISTENER = 0.0007


class ChangeFeed:
    """Calls its listeners after another process has committed to the embedded store; never with a remote store."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = with_shared_commits(transport)
        self._listeners: dict[object, Callable[[], object]] = {}
        self._last_version = 0
        self._poll_seconds = _MIN_FEED_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def listen(self, call: Callable[[], object]) -> Callable[[], None]:
        """Add a listener in the running event loop, and return a function that removes it. Polling ends with the last listener."""
        if self._transport is None:
            return lambda: None
        mark = object()
        self._listeners[mark] = call
        if self._timer is None:
            self._last_version = self._transport.changes()
            self._schedule_poll(self._transport)

        def stop() -> None:
            self._listeners.pop(mark, None)
            if not self._listeners and self._timer is not None:
                self._timer.cancel()
                self._timer = None

        return stop

    def _schedule_poll(self, transport: GroupCommitTransport) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._poll_seconds, self._poll, transport)

    def _poll(self, transport: GroupCommitTransport) -> None:
        now = transport.changes()
        if now == self._last_version:
            self._poll_seconds = _MIN_FEED_SECONDS
        else:
            self._last_version = now
            self._poll_seconds = min(2 * self._poll_seconds, _MAX_FEED_SECONDS + _SECONDS_PER_LISTENER * len(self._listeners))
            for call in tuple(self._listeners.values()):
                call()
        self._schedule_poll(transport)


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


#: Seconds between two polls. The interval grows to the maximum while other processes commit often, but not jobs for this worker.
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.008, 0.064


class ChangeWatcher:
    """Watches the store of a worker for commits of other processes. A remote store has no commit counter, so it is not watched."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = with_shared_commits(transport)
        self._last_version = 0
        self._poll_seconds = _MIN_POLL_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def mark_seen(self) -> None:
        """Mark all commits so far as seen. Called right before the worker reads the queues."""
        if self._transport is not None:
            self._last_version = self._transport.changes()

    def reset_interval(self) -> None:
        """Poll at the shortest interval again, because the last change brought a job, and the next one probably does too."""
        self._poll_seconds = _MIN_POLL_SECONDS

    @contextmanager
    def watching(self, on_change: Callable[[], None]) -> Iterator[None]:
        """Call `on_change` once if another process commits after `mark_seen`, until the block ends."""
        self._schedule_poll(on_change)
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _schedule_poll(self, on_change: Callable[[], None]) -> None:
        if self._transport is not None:
            self._timer = asyncio.get_running_loop().call_later(self._poll_seconds, self._poll, self._transport, on_change)

    def _poll(self, transport: GroupCommitTransport, on_change: Callable[[], None]) -> None:
        if transport.changes() == self._last_version:
            self._poll_seconds = _MIN_POLL_SECONDS
            self._schedule_poll(on_change)
        else:
            self._poll_seconds = min(_MAX_POLL_SECONDS, 2 * self._poll_seconds)
            on_change()
