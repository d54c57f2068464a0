"""Noticing that another process has written to the same embedded store, for everybody in this process who waits for that.

SQLite's data_version says in microseconds whether another connection has committed. It is asked every few milliseconds while somebody
waits: that needs no file, no port and no helper between processes, and nothing is left behind by a process that is killed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from gateleg.store.transports.inline_embedded import DirectTransport

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.transports import AsyncTransport

#: The shortest and longest seconds between two looks: the longest where others write all the time.
_SHORTEST, _LONGEST = 0.015, 0.025
#: Seconds by which the longest grows with everybody who waits: each of them reads something after a change.
_FOR_EACH = 0.0007


class ChangeFeed:
    """Calls its listeners after another connection has written. Where the store is not in this process, it never does."""

    def __init__(self, transport: AsyncTransport) -> None:
        if type(transport) is AsyncEmbeddedTransport:
            transport = DirectTransport(transport)
        self._transport = transport if isinstance(transport, DirectTransport) else None
        self._listeners: dict[object, Callable[[], object]] = {}
        self._seen = 0
        self._every = _SHORTEST
        self._timer: asyncio.TimerHandle | None = None

    def listen(self, call: Callable[[], object]) -> Callable[[], None]:
        """Add a listener, in the event loop that it waits in; the answer takes it away again. The last one ends the looking."""
        if self._transport is None:
            return lambda: None
        mark = object()
        self._listeners[mark] = call
        if self._timer is None:
            self._seen = self._transport.changes()
            self._wait(self._transport)

        def stop() -> None:
            self._listeners.pop(mark, None)
            if not self._listeners and self._timer is not None:
                self._timer.cancel()
                self._timer = None

        return stop

    def _wait(self, transport: DirectTransport) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every, self._look, transport)

    def _look(self, transport: DirectTransport) -> None:
        now = transport.changes()
        if now == self._seen:
            self._every = _SHORTEST
        else:
            self._seen = now
            self._every = min(2 * self._every, _LONGEST + _FOR_EACH * len(self._listeners))
            for call in tuple(self._listeners.values()):
                call()
        self._wait(transport)
