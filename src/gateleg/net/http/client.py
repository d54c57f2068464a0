"""Requests to any address: a pool for each, made when it is first asked for."""

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
    """Sends requests. Any number of threads may use one. Redirections are not followed: a key would go along with them."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, Pool] = {}

    def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> StreamedResponse:
        """Send a request; the response, when its head has come. A kept connection that was closed meanwhile is replaced once."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return pool.open(data, timeouts, deadline)

    def close(self) -> None:
        """Close the connections that have no work."""
        for pool in list(self._pools.values()):
            pool.close()

    def _pool(self, address: Address) -> Pool:
        return self._pools.get(address) or self._pools.setdefault(address, Pool(address, limit=self._limit))


class AsyncClient:
    """Sends requests. The tasks of one event loop share its connections; another loop begins anew. Redirections are not followed."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pools: dict[Address, AsyncPool] = {}

    async def open(self, request: HttpRequest, timeouts: Timeouts, deadline: Deadline | None = None) -> AsyncStreamedResponse:
        """Send a request; the response, when its head has come. A kept connection that was closed meanwhile is replaced once."""
        data, pool = request.encode(), self._pool(request.address)
        try:
            return await pool.open(data, timeouts, deadline)
        except ConnectionLost as lost:
            if not lost.stale:
                raise
        return await pool.open(data, timeouts, deadline)

    async def close(self) -> None:
        """Close the connections that have no work, and wait until they are gone."""
        for pool in list(self._pools.values()):
            await pool.close()

    def _pool(self, address: Address) -> AsyncPool:
        return self._pools.get(address) or self._pools.setdefault(address, AsyncPool(address, limit=self._limit))
