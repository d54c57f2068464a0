"""How long to wait before asking again: full jitter, within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.store.requests import Pause
from gateleg.store.transports import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.store.requests import Flow, Reply, Request
    from gateleg.store.setup import Setup

#: Codes after which the same request may succeed, and which transports do not retry by themselves.
CONFLICTS = frozenset({"TransactionConflictException", "TransactionInProgressException", "ReplicatedWriteConflictException"})
#: Codes of a service that is asked for too much.
THROTTLES = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException", "ThrottlingError"}
)
#: Reasons of a cancelled transaction that say nothing about the data.
PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


@dataclass(frozen=True)
class Backoff:
    """Up to `tries` repetitions. Each waits a random part of a span that doubles from `first` to `longest`; `budget` bounds the sum."""

    tries: int = 10
    first: float = 0.025
    longest: float = 5.0
    budget: float = 30.0

    def delays(self, setup: Setup) -> Iterator[float]:
        """The seconds to wait before each repetition."""
        spent = 0.0
        for number in range(self.tries):
            delay = setup.random.random() * min(self.longest, self.first * 2**number)
            spent += delay
            if spent > self.budget:
                return
            yield delay


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
        delays = delays if delays is not None else setup.backoff.delays(setup)
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
