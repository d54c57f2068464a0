"""HTTP clients for any address, with a connection pool for each address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.net.http.async_pool import AsyncPool
from gateleg.net.http.errors import ConnectionLost
from gateleg.net.http.pool import Pool
from gateleg.net.http.responses import LIMIT

if TYPE_CHECKING:
    from gateleg.net.addresses import Address
    from gateleg.net.clocks import Deadline
    from gateleg.net.http.async_pool import AsyncStreamedResponse
    from gateleg.net.http.pool import StreamedResponse
    from gateleg.net.http.requests import HttpRequest, Timeouts


class Client:
    """Sends requests; threads may share it. Redirects are not followed, because they would get the request's API key."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, Pool] = {}

    def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> StreamedResponse:
        """Send a request and return the response once its head was received. Retries once if an idle connection turns out to be closed."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return pool.open(data, timeouts, deadline)

    def close(self) -> None:
        """Close the idle connections."""
        for pool in list(self._pools.values()):
            pool.close()

    def _pool(self, address: Address) -> Pool:
        return self._pools.get(address) or self._pools.setdefault(address, Pool(address, limit=self._limit))


class AsyncClient:
    """As `Client`, for asyncio. The tasks of an event loop share its connections; another loop opens new ones."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, AsyncPool] = {}

    async def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """Send a request and return the response once its head was received. Retries once if an idle connection turns out to be closed."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return await pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return await pool.open(data, timeouts, deadline)

    async def close(self) -> None:
        """Close the idle connections, and wait until they are closed."""
        for pool in list(self._pools.values()):
            await pool.close()

    def _pool(self, address: Address) -> AsyncPool:
        return self._pools.get(address) or self._pools.setdefault(address, AsyncPool(address, limit=self._limit))
