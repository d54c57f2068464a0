"""Detect commits of other processes to the same embedded store, for all followers in this process.

SQLite reports in microseconds whether another connection has committed (`data_version`). It is polled every few milliseconds while there
are listeners: this needs no file, port or helper process, and a killed process leaves nothing behind.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gateleg.store.transports.group_commit import with_shared_commits

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.transports import AsyncTransport
    from gateleg.store.transports.group_commit import GroupCommitTransport

#: Seconds between two polls. The interval grows to the maximum while other processes write all the time.
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.015, 0.025
#: How much the maximum grows with each listener: all of them read after a change.
_SECONDS_PER_LISTENER = 0.0007


class ChangeFeed:
    """Calls its listeners after another process has committed to the embedded store; never with a remote store."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = with_shared_commits(transport)
        self._listeners: dict[object, Callable[[], object]] = {}
        self._last_version = 0
        self._poll_seconds = _MIN_POLL_SECONDS
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
            self._poll_seconds = _MIN_POLL_SECONDS
        else:
            self._last_version = now
            self._poll_seconds = min(2 * self._poll_seconds, _MAX_POLL_SECONDS + _SECONDS_PER_LISTENER * len(self._listeners))
            for call in tuple(self._listeners.values()):
                call()
        self._schedule_poll(transport)
