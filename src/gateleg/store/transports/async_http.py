"""DynamoDB over HTTP for asyncio: the tasks of an event loop share persistent connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gateleg.net.http import AsyncPool, HttpError
from gateleg.net.http.async_connection import connect_loop
from gateleg.store.transports import Unreachable
from gateleg.store.transports.http_protocol import STREAMS, HttpOptions, ProtocolClient
from gateleg.store.transports.requests import encode
from gateleg.store.transports.responses import LIMIT
from gateleg.store.transports.retries import ErrorResponse

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

    from gateleg.net import Address, Credentials, Deadline, ServiceClock
    from gateleg.net.http import AsyncConnection


class AsyncWireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    It sends at most `connections` requests at once; others wait. A cancelled call closes its connection; whether its write was applied is
    unknown. `connect` replaces the network, for tests.
    """

    def __init__(
        self,
        options: HttpOptions | None = None,
        *,
        connections: int = 100,
        connect: Callable[[Callable[[], AsyncConnection], Address, ssl.SSLContext | None], Awaitable[AsyncConnection]] = connect_loop,
        clock: ServiceClock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        client = self._client = ProtocolClient(options or HttpOptions(), clock)
        self._timeouts = client.options.timeouts
        self._limit = connections
        self._sleep = sleep
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns = asyncio.Semaphore(connections)
        self._loading: asyncio.Future[Credentials] | None = None
        self._pool, self._streams = (
            AsyncPool(address, tls=client.options.tls, connect=connect, limit=LIMIT, keep=connections)
            for address in (client.address, client.streams)
        )

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries and the wait for a connection."""
        if timeout is None:
            return await self._call(operation, request, None)
        try:
            async with asyncio.timeout(timeout):
                return await self._call(operation, request, self._client.deadline(timeout))
        except TimeoutError:
            raise Unreachable("The call timed out.") from None

    async def close(self) -> None:
        """Close the idle connections, and wait until they are closed."""
        await self._pool.close()
        await self._streams.close()

    async def _call(self, operation: str, request: dict[str, Any], deadline: Deadline | None) -> dict[str, Any]:
        body = encode(operation, request)
        try:
            return await self._attempt(operation, body)
        except (HttpError, ErrorResponse) as failed:
            failure = failed
        attempts = self._client.attempts(operation, request, deadline)
        while True:
            await self._sleep(attempts.after(failure))
            try:
                return await self._attempt(operation, body)
            except (HttpError, ErrorResponse) as failed:
                failure = failed

    async def _attempt(self, operation: str, body: bytes) -> dict[str, Any]:
        client = self._client
        if self._loop is not asyncio.get_running_loop():
            self._reset_loop()
        async with self._turns:
            credentials = client.source.current() or await self._load()
            pool = self._streams if operation in STREAMS else self._pool
            response = await pool.exchange(client.write(operation, body, credentials), self._timeouts)
        return client.read(response)

    def _reset_loop(self) -> None:
        """Start again in another event loop, without objects of the previous one."""
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(self._limit)
        self._loading = None

    async def _load(self) -> Credentials:
        """Load credentials in a thread, because that may send requests; all tasks wait for the same load."""
        if self._loading is None or self._loading.done():
            self._loading = asyncio.ensure_future(asyncio.to_thread(self._client.load_credentials))
        return await asyncio.shield(self._loading)
