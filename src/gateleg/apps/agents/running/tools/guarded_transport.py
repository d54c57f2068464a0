"""An httpx transport whose requests go through the host's guard: MCP servers are at addresses that tenants have given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from gateleg.net.errors import OutgoingError
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.net.http import GuardedClient, GuardedStream

__all__ = ["GuardedTransport"]

#: What the guarded client sets itself.
_OWN = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"accept-encoding"})


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends what `GuardedClient` allows. Names of headers go out as they were given.

    `refused` keeps the last error of the guard: what the MCP client makes of it does not say what was wrong.
    """

    def __init__(self, client: GuardedClient) -> None:
        self._client = client
        self.refused: OutgoingError | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the response when its head has come."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.raw if name.lower() not in _OWN}
        try:
            outgoing = HttpRequest(str(request.url), await request.aread(), headers, request.method)
            stream = await self._client.open(outgoing)
        except OutgoingError as error:
            self.refused = error
            raise httpx2.ConnectError(str(error), request=request) from error
        return httpx2.Response(stream.status, headers=list(stream.headers.items()), stream=_Body(stream), request=request)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: GuardedStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                yield piece
        except OutgoingError as error:
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        self._stream.close()
