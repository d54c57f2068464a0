"""Seeing that another process has written to the same embedded store, so that its submissions are not found by chance.

SQLite tells in microseconds whether somebody else has written since. That is asked every few milliseconds while a worker has nothing to do:
it needs no file, no port and no helper between processes, and nothing is left behind by one that is killed.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.store.transports.inline_embedded import DirectTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.store.transports import AsyncTransport

#: The shortest and longest seconds between two glances: the longest where much is written that is not for this worker.
_GLANCES = (0.008, 0.064)


class Sight:
    """What a worker sees of others. Where the store is not in this process, it sees nothing."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport if isinstance(transport, DirectTransport) else None
        self._seen = 0
        self._every = _GLANCES[0]
        self._glance: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Take everything that was written until now for seen: what was not is about to be looked for."""
        if self._transport is not None:
            self._seen = self._transport.changes()

    def rest(self) -> None:
        """There was something to do: the next change is likely to bring more."""
        self._every = _GLANCES[0]

    @contextmanager
    def watching(self, call: Callable[[], None]) -> Iterator[None]:
        """Call when somebody has written since the last look, until the end of the block."""
        self._next(call)
        try:
            yield
        finally:
            if self._glance is not None:
                self._glance.cancel()

    def _next(self, call: Callable[[], None]) -> None:
        if self._transport is not None:
            self._glance = asyncio.get_running_loop().call_later(self._every, self._peer, self._transport, call)

    def _peer(self, transport: DirectTransport, call: Callable[[], None]) -> None:
        if transport.changes() == self._seen:
            self._every = _GLANCES[0]
            self._next(call)
        else:
            self._every = min(_GLANCES[1], 2 * self._every)
            call()
