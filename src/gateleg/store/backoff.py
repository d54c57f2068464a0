"""Retry requests that conflict with other transactions, with backoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.store.flow import Pause
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.store.flow import Flow, Request, Response
    from gateleg.store.setup import Setup

__all__ = ["retry_conflicts"]

#: Error codes after which the same request may succeed, and which transports do not retry.
CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"})
#: Reasons of a canceled transaction that do not depend on the data.
TRANSIENT = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


def retry_conflicts(request: Request, setup: Setup, error: ServiceError | None = None) -> Flow[Response]:
    """Send a request, and retry it while it conflicts with other transactions. `error` is that of a first attempt, if it was made."""
    delays: Iterator[float] | None = None
    while True:
        if error is None:
            try:
                response: Response = yield request
                return response
            except ServiceError as refusal:
                error = refusal
        if not is_transient(error):
            raise error
        delays = delays if delays is not None else setup.delays()
        delay = next(delays, None)
        if delay is None:
            raise error
        yield Pause(delay)
        request.retries += 1
        error = None


def is_transient(error: ServiceError) -> bool:
    """Whether the same request may succeed a moment later."""
    if error.code == "TransactionCanceledException":
        codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())} - {"None", None}
        return bool(codes) and codes <= TRANSIENT
    return error.code in CONFLICTS
