"""The setup that all models of a `Models` share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gateleg.ai.errors import AiError, InvalidModelRequest, ModelTimedOut, NotOffered, StreamBroken
from gateleg.ai.metering import Meter
from gateleg.ai.replies import NOTHING, Usage
from gateleg.ai.retry_policy import RETRIES, RetryPolicy, make_timeouts
from gateleg.ai.settings import ModelSettings
from gateleg.ai.steps import completed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.spending import Account, Ending, Spending
    from gateleg.ai.steps import Flow
    from gateleg.net import Retries

R = TypeVar("R")


@dataclass
class ModelSetup:
    """Settings, timeouts, the meter, and the record of spending."""

    settings: ModelSettings = field(default_factory=ModelSettings)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    meter: Meter = field(default_factory=Meter)
    #: records calls and enforces spend caps; None without an account
    spending: Spending | None = None

    def billed_to(self, account: Account) -> ModelSetup:
        """The same setup, with calls recorded for an account."""
        from gateleg.ai.spending import Spending

        return replace(self, spending=Spending(account, self.settings))

    def metered(
        self,
        address: ModelAddress,
        forecast: Usage,
        call: Flow[R],
        used: Callable[[R], Usage],
        so_far: Callable[[], Usage] | None = None,
    ) -> Flow[tuple[R, Usage]]:
        """Make a call within the caps and record it. Returns the result, and its usage with the cost.

        `so_far` returns the usage of a call that broke off; without it, the forecast is used.
        """
        spending = self.spending
        reserved = None if spending is None else (yield from spending.reserve(address, forecast))
        try:
            result = yield from call
        except AiError as error:
            if spending is not None and reserved is not None:
                if isinstance(error, ModelTimedOut | StreamBroken):
                    yield from spending.settle(reserved, self.priced(address, so_far() if so_far else forecast), "unknown")
                else:
                    yield from spending.settle(
                        reserved, NOTHING, "refused" if isinstance(error, InvalidModelRequest | NotOffered) else "failed"
                    )
            raise
        except GeneratorExit:
            # The caller has cancelled, and no more steps can run here: the driver settles it.
            if spending is not None and reserved is not None:
                spending.leave(reserved, self.priced(address, so_far() if so_far else forecast))
            raise
        counted = used(result)
        # Providers count tokens; requests are counted here, for prices per request.
        usage = self.charge(address, replace(counted, requests=counted.requests or forecast.requests))
        if spending is not None and reserved is not None:
            yield from spending.settle(reserved, usage)
        return result, usage

    def book(self, model: str, usage: Usage, ending: Ending) -> Flow[None]:
        """Record a call that was made by other means; without an account, nothing is recorded."""
        return completed(None) if self.spending is None else self.spending.book(model, usage, ending)

    def settle_lost(self, subject: str | None) -> Flow[int]:
        """End the calls of the account that were never ended; returns their number."""
        return completed(0) if self.spending is None else self.spending.settle_lost(subject=subject)

    def charge(self, address: ModelAddress, usage: Usage) -> Usage:
        """The usage with its cost, added to the meter."""
        priced = self.priced(address, usage)
        self.meter.add(str(address), priced)
        return priced

    def priced(self, address: ModelAddress, usage: Usage) -> Usage:
        """The usage with its cost, which is None without a price."""
        price = self.settings.price_of(address)
        return replace(usage, cost=None if price is None else price.of(usage))


def setup_from(settings: ModelSettings | None, retries: Retries | None, meter: Meter | None, account: Account | None) -> ModelSetup:
    """The setup for the arguments of a `Models`."""
    settings = settings or ModelSettings()
    timeouts = make_timeouts(settings.connect_seconds, settings.silence_seconds)
    retries = retries or replace(RETRIES, attempts=settings.attempts)
    setup = ModelSetup(settings, RetryPolicy(timeouts, settings.total_seconds, retries), meter or Meter())
    return setup if account is None else setup.billed_to(account)
