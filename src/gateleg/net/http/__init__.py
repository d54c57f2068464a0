"""An HTTP/1.1 client: a protocol without I/O, and connection pools for threads and for asyncio. Responses can be read as streams."""

from gateleg.net.errors import BadHeader, BadResponse, ConnectionLost, HttpError, NotConnected, ResponseTimedOut, ResponseTooLarge
from gateleg.net.http.async_pool import AsyncClient, AsyncConnection, AsyncPool, AsyncStreamedResponse
from gateleg.net.http.guarded import GuardedClient, GuardedResponse, GuardedStream
from gateleg.net.http.messages import EventStream, Framing, HttpRequest, JsonLines, Response, ResponseReader, ServerSentEvents
from gateleg.net.http.pool import Client, Pool, Socket, StreamedResponse, Timeouts, tls_context

__all__ = [
    "AsyncClient",
    "AsyncConnection",
    "AsyncPool",
    "AsyncStreamedResponse",
    "BadHeader",
    "BadResponse",
    "Client",
    "ConnectionLost",
    "EventStream",
    "Framing",
    "GuardedClient",
    "GuardedResponse",
    "GuardedStream",
    "HttpError",
    "HttpRequest",
    "JsonLines",
    "NotConnected",
    "Pool",
    "Response",
    "ResponseReader",
    "ResponseTimedOut",
    "ResponseTooLarge",
    "ServerSentEvents",
    "Socket",
    "StreamedResponse",
    "Timeouts",
    "tls_context",
]
