"""Transports send requests to DynamoDB. Requests and responses are the dictionaries of its JSON protocol.

A transport raises `ServiceError` if the service answers with an error, and `Unreachable` if there is no response. It retries throttling,
internal errors and lost connections within a budget, so the errors that it raises are final. It never changes a request and keeps no state
of callers, so stores and threads may share it.

- `embedded.EmbeddedTransport(engine)` and `embedded.AsyncEmbeddedTransport(engine)`: an embedded engine
- `http.WireTransport(...)` and `http.AsyncWireTransport(...)`: Amazon DynamoDB, or any endpoint that speaks its protocol
- `botocore.BotocoreTransport(client)`: an existing botocore client
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "CLOSED",
    "FOREIGN",
    "AsyncTransport",
    "ServiceError",
    "Transport",
    "Unreachable",
    "missing_credentials",
]

#: The error code of a call on a closed transport.
CLOSED = "TransportClosed"
#: The prefix of the error code for responses that are not DynamoDB's; the HTTP status follows.
FOREIGN = "Http"


@runtime_checkable
class Transport(Protocol):
    """Sends requests and returns their responses."""

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request, such as `call("GetItem", {"TableName": ..., "Key": ...})`. `timeout` is in seconds and includes retries."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


@runtime_checkable
class AsyncTransport(Protocol):
    """As `Transport`, awaited. Cancelling the task abandons the request."""

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is in seconds and includes retries."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...


class ServiceError(Exception):
    """The service answered with an error.

    `code` is its short name (`ConditionalCheckFailedException`), `extra` the other members of the response's body, such as the `Item` of a
    failed condition or the `CancellationReasons` of a transaction, and `attempts` the number of times that the request was sent.
    """

    def __init__(
        self, code: str, message: str | None = None, extra: Mapping[str, Any] | None = None, status: int = 400, attempts: int = 1
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message or ""
        self.extra: dict[str, Any] = dict(extra or {})
        self.status = status
        self.attempts = attempts

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


def missing_credentials(message: str) -> ServiceError:
    """The error for a request that was not sent because it could not be signed without credentials."""
    return ServiceError("MissingAuthenticationTokenException", message, attempts=0)


class Unreachable(Exception):
    """The service did not answer: no connection, a lost connection, or a timeout. Whether a write was applied is unknown."""

    def __init__(self, message: str, attempts: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.attempts = attempts
