"""An HTTP/1.1 client: a protocol without I/O, and connection pools for threads and for asyncio. Responses can be read as streams."""

from gateleg.net.http.async_connection import AsyncConnection
from gateleg.net.http.async_pool import AsyncPool, AsyncStreamedResponse
from gateleg.net.http.client import AsyncClient, Client
from gateleg.net.http.errors import BadHeader, BadResponse, ConnectionLost, HttpError, NotConnected, ResponseTimedOut, ResponseTooLarge
from gateleg.net.http.events import Framing, JsonLines, ServerSentEvents
from gateleg.net.http.guarded import GuardedClient, GuardedResponse, GuardedStream
from gateleg.net.http.pool import Pool, Socket, StreamedResponse
from gateleg.net.http.requests import HttpRequest, Timeouts
from gateleg.net.http.responses import Response, ResponseReader
from gateleg.net.http.tls import tls_context

__all__ = [
    "AsyncClient",
    "AsyncConnection",
    "AsyncPool",
    "AsyncStreamedResponse",
    "BadHeader",
    "BadResponse",
    "Client",
    "ConnectionLost",
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
