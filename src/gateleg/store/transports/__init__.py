"""How requests reach a DynamoDB: one function from an operation and a request to an answer, all in the dictionaries of the JSON protocol.

A transport raises `ServiceError` when the service refuses, and `Unreachable` when no answer came. It retries what the service asks to be
sent again (throttling, internal errors, lost connections) within a budget of its own; what it raises is final. It never changes a request
and keeps no state that belongs to a caller, so that any number of stores and threads may share one.

- `embedded.EmbeddedTransport(engine)` and `embedded.AsyncEmbeddedTransport(engine)`: the engine in this process
- `wire.WireTransport(...)` and `awire.AsyncWireTransport(...)`: HTTP, to Amazon DynamoDB or any endpoint that speaks its protocol
- `botocore.BotocoreTransport(client)`: a botocore client that the application already has
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLOSED", "FOREIGN", "AsyncTransport", "ServiceError", "Transport", "Unreachable", "missing_credentials"]

#: The code of a call on a transport that was closed.
CLOSED = "TransportClosed"
#: What the code begins with when something else than DynamoDB answered; the status follows.
FOREIGN = "Http"


class ServiceError(Exception):
    """The service answered with an error.

    `code` is its short name (`ConditionalCheckFailedException`), `extra` holds the further members of the answer's body, such as the `Item`
    of a failed condition or the `CancellationReasons` of a transaction, and `attempts` how often the request was sent.
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
    """The error for a request that was not sent because there are no credentials to sign it with."""
    return ServiceError("MissingAuthenticationTokenException", message, attempts=0)


class Unreachable(Exception):
    """No answer came: no connection, a broken one, or none in time. Whether a write was done is not known."""

    def __init__(self, message: str, attempts: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.attempts = attempts


@runtime_checkable
class Transport(Protocol):
    """Answers requests."""

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a request, such as `call("GetItem", {"TableName": ..., "Key": ...})`. `timeout` is in seconds, retries included."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...


@runtime_checkable
class AsyncTransport(Protocol):
    """Answers requests, awaited. Cancelling the task abandons the request."""

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """The answer to a request. `timeout` is in seconds, retries included."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...
