"""An httpx transport behind the host's SSRF guard, because tenants supply the addresses of MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from gateleg.net.errors import OutgoingError
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.net.http import GuardedClient, GuardedStream

__all__ = ["GuardedTransport"]

#: Headers that the guarded client sets itself.
_CLIENT_HEADERS = frozenset({b"host", b"content-length", b"transfer-encoding", b"connection", b"accept-encoding"})


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends requests through `GuardedClient`, with header names exactly as given.

    `refused` holds the guard's last error, because the MCP client replaces it with a less specific one.
    """

    def __init__(self, client: GuardedClient) -> None:
        self._client = client
        self.refused: OutgoingError | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; returns when the response headers have arrived."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers.raw if name.lower() not in _CLIENT_HEADERS
        }
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
