"""DynamoDB over HTTP on plain sockets: threads share persistent connections."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gateleg.net.http import HttpError, Pool
from gateleg.net.http.pool import connect_socket
from gateleg.store.transports.http_protocol import STREAMS, HttpOptions, ProtocolClient
from gateleg.store.transports.requests import encode
from gateleg.store.transports.responses import LIMIT
from gateleg.store.transports.retries import ErrorResponse

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from gateleg.net import Address, Deadline, ServiceClock
    from gateleg.net.http import Socket


class WireTransport:
    """Sends requests to Amazon DynamoDB, or to any endpoint that speaks its protocol.

    Threads may share it; each call in progress uses one connection. `connect` replaces the network, for tests.
    """

    def __init__(
        self,
        options: HttpOptions | None = None,
        *,
        connect: Callable[[Address, float, ssl.SSLContext | None], Socket] = connect_socket,
        clock: ServiceClock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        client = self._client = ProtocolClient(options or HttpOptions(), clock)
        self._timeouts = client.options.timeouts
        self._sleep = sleep
        self._pool, self._streams = (
            Pool(address, tls=client.options.tls, connect=connect, limit=LIMIT) for address in (client.address, client.streams)
        )

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries."""
        body = encode(operation, request)
        deadline = self._client.deadline(timeout)
        try:
            return self._attempt(operation, body, deadline)
        except (HttpError, ErrorResponse) as failed:
            failure = failed
        attempts = self._client.attempts(operation, request, deadline)
        while True:
            self._sleep(attempts.after(failure))
            try:
                return self._attempt(operation, body, deadline)
            except (HttpError, ErrorResponse) as failed:
                failure = failed

    def close(self) -> None:
        """Close the idle connections. The others are closed when their calls have ended and the transport is deleted."""
        self._pool.close()
        self._streams.close()

    def _attempt(self, operation: str, body: bytes, deadline: Deadline | None) -> dict[str, Any]:
        client = self._client
        credentials = client.source.current() or client.load_credentials()
        pool = self._streams if operation in STREAMS else self._pool
        return client.read(pool.exchange(client.write(operation, body, credentials), self._timeouts, deadline))
