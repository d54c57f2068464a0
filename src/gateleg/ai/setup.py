"""What all models of a `Models` share: settings, the meter and the record of spending, and the deadlines and retries of calls.

It only decides: the drivers do the waiting.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gateleg import net
from gateleg.ai.errors import (
    AiError,
    InvalidModelRequest,
    ModelFailed,
    ModelTimedOut,
    ModelUnreachable,
    NotOffered,
    RateLimited,
    StreamBroken,
)
from gateleg.ai.replies import NOTHING, Meter, Usage
from gateleg.ai.settings import ModelSettings
from gateleg.ai.steps import Open, completed
from gateleg.net import Retries, RetryBudget
from gateleg.net.http import Timeouts
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.spending import Account, Ending, Spending
    from gateleg.ai.steps import Flow
    from gateleg.net.http import HttpRequest

R = TypeVar("R")

#: Errors that are retried. A timeout is not: the call would probably time out again, and cost twice.
_RETRYABLE = (RateLimited, ModelFailed, ModelUnreachable)
#: Waits are longer than a database's: model calls take seconds, and providers ask for long pauses.
RETRIES = Retries(attempts=4, first=0.5, longest=20.0, burst=20, rate=0.5)
#: For a whole call, with all attempts and pauses.
_CALL_TIMEOUT_SECONDS = 600.0


def is_safe_to_repeat(error: AiError) -> bool:
    """Whether the provider has certainly not started the call, so that repeating it cannot cost twice."""
    return isinstance(error, RateLimited) or not error.sent


def make_timeouts(connect: float = 10.0, silence: float = 120.0) -> Timeouts:
    """Timeouts for connecting and for the next bytes of a response, which are long because models think first."""
    return Timeouts(connect, silence, idle=15.0)


@dataclass(frozen=True, slots=True)
class CallDeadline:
    """The deadline of a call, and the timeouts of its steps."""

    timeouts: Timeouts
    until: net.Deadline

    def left(self) -> float:
        """The seconds that are left. Raises `ModelTimedOut` if there are none."""
        left = self.until.left()
        if left <= 0:
            raise ModelTimedOut("The call exceeded its timeout.")
        return left

    def wait(self) -> float:
        """How long to wait for the next bytes."""
        return min(self.timeouts.read, self.left())

    def opening(self, request: HttpRequest) -> Open:
        """The step that sends a request."""
        self.left()
        return Open(request, self.timeouts, self.until)


@dataclass
class RetryPolicy:
    """How long a call may take, how often it is retried and how long it waits between attempts."""

    timeouts: Timeouts = field(default_factory=make_timeouts)
    total: float = _CALL_TIMEOUT_SECONDS
    retries: Retries = RETRIES
    budget: RetryBudget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = RetryBudget(self.retries)

    def deadline(self, seconds: float | None = None) -> CallDeadline:
        """The deadline of a call that starts now."""
        return CallDeadline(self.timeouts, net.Deadline.after(self.total if seconds is None else seconds, self.retries.ticks))

    def attempts(
        self, attempt: Callable[[CallDeadline], Flow[R]], seconds: float | None = None, worth: Callable[[AiError], bool] | None = None
    ) -> Flow[R]:
        """Retry until an attempt succeeds. Raises the last error once the attempts, the retry budget or the time are used up.

        `worth` restricts which errors are retried further.
        """
        deadline, delays = self.deadline(seconds), self.retries.delays()
        while True:
            try:
                return (yield from attempt(deadline))
            except AiError as error:
                delay = self._delay(error, delays, deadline) if worth is None or worth(error) else None
                if delay is None:
                    raise
            yield Pause(delay)

    def _delay(self, error: AiError, delays: Iterator[float], deadline: CallDeadline) -> float | None:
        if not isinstance(error, _RETRYABLE) or not error.passing:
            return None
        drawn = next(delays, None)
        if drawn is None:
            return None
        # The provider's delay, plus a random one so that waiting clients do not all return at once.
        delay = drawn + (getattr(error, "retry_after", None) or 0.0)
        return None if delay >= deadline.until.left() or not self.budget.spend() else delay


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
