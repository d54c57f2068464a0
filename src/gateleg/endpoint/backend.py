"""The interface to the engine, and the execution of calls."""

import logging
from typing import Protocol

from gateleg.endpoint.dispatcher import EngineCall
from gateleg.endpoint.responses import OutgoingResponse, error_response
from gateleg.engine import EngineError, Namespace

__all__ = ["execute"]

_log = logging.getLogger(__name__)


#: Operations with an empty response body.
_EMPTY_RESPONSES = frozenset({"TagResource", "UntagResource"})


class Group(Protocol):
    """Writes that become durable together."""

    def commit(self) -> None:
        """Make the writes durable. Raises an error if that fails."""
        ...


class Backend(Protocol):
    """The part of an engine that the endpoint uses."""

    @property
    def path(self) -> str:
        """The database file, or `:memory:`."""
        ...

    @property
    def durability(self) -> str:
        """`full` if a commit waits for the disk."""
        ...

    def call_json(self, operation: str, body: bytes, namespace: Namespace | None = None) -> bytes:
        """Run an operation, with JSON as input and output."""
        ...

    def is_write(self, operation: str) -> bool:
        """Whether the operation writes items."""
        ...

    def begin_group(self) -> Group:
        """Start a transaction that the following writes of this thread join."""
        ...

    def try_begin_group(self) -> Group | None:
        """`begin_group`, or None if another thread or process is writing."""
        ...


def internal_error(content_type: bytes) -> OutgoingResponse:
    """The response to an internal error, without details."""
    return error_response(EngineError("InternalServerError", "Internal server error"), content_type)


def execute(backend: Backend, call: EngineCall) -> OutgoingResponse:
    """Run a call and return its response. Unexpected exceptions are logged with a traceback and answered as internal errors."""
    try:
        body = backend.call_json(call.operation, call.body, call.namespace)
        return OutgoingResponse(200, body if call.operation not in _EMPTY_RESPONSES else b"", call.content_type)
    except EngineError as error:
        return error_response(error, call.content_type)
    except Exception:
        _log.exception("%s failed", call.operation)
        return internal_error(call.content_type)
