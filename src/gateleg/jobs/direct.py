"""A worker's way to an engine in its own process: straight, without a thread between.

The store's asynchronous transport gives writes to threads, so that an event loop that serves many never waits for the disk. A worker has
little else to do while it claims and ends jobs, and handing each small request to a thread and back costs more than the request itself.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport

if TYPE_CHECKING:
    from gateleg.jobs.queue import AsyncQueue
    from gateleg.store.transports import AsyncTransport

_SMALL = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem"})
#: The longest page of a query that is read without a thread.
_SHORT_PAGE = 100


class DirectTransport:
    """Small requests are answered at once, on the event loop; all others go the usual way."""

    def __init__(self, usual: AsyncEmbeddedTransport) -> None:
        self._usual = usual
        self._direct = EmbeddedTransport(usual.engine)

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The engine's answer."""
        if operation in _SMALL or (operation == "Query" and request.get("Limit", _SHORT_PAGE + 1) <= _SHORT_PAGE):
            return self._direct.call(operation, request)
        return await self._usual.call(operation, request, timeout=timeout)

    async def close(self) -> None:
        """Close the usual transport."""
        await self._usual.close()


def direct(queue: AsyncQueue) -> AsyncQueue:
    """The same queue, by the shortest way to its store."""
    transport: AsyncTransport = queue.store.transport
    if type(transport) is not AsyncEmbeddedTransport:
        return queue
    near = copy.copy(queue)
    near.store = queue.store.using(DirectTransport(transport))
    return near
