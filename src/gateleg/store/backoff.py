"""Retry requests that conflict with other transactions, with backoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.store.flow import Pause
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.store.flow import Flow, Reply, Request
    from gateleg.store.setup import Setup

__all__ = ["settled"]

#: Codes after which the same request may succeed, and which transports do not retry by themselves.
CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"})
#: Reasons of a cancelled transaction that say nothing about the data.
PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


def settled(request: Request, setup: Setup, error: ServiceError | None = None) -> Flow[Reply]:
    """The answer to a request, asked again while other transactions are in its way. `error` is what it met already."""
    delays: Iterator[float] | None = None
    while True:
        if error is None:
            try:
                reply: Reply = yield request
                return reply
            except ServiceError as refusal:
                error = refusal
        if not passing(error):
            raise error
        delays = delays if delays is not None else setup.delays()
        delay = next(delays, None)
        if delay is None:
            raise error
        yield Pause(delay)
        request.retries += 1
        error = None


def passing(error: ServiceError) -> bool:
    """Whether the same request may well succeed a moment later."""
    if error.code == "TransactionCanceledException":
        codes = {reason.get("Code") for reason in error.extra.get("CancellationReasons", ())} - {"None", None}
        return bool(codes) and codes <= PASSING
    return error.code in CONFLICTS
