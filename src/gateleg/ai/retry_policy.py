"""Deadlines and retries of model calls. It only decides; the drivers do the waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from gateleg import net
from gateleg.ai.errors import AiError, ModelFailed, ModelTimedOut, ModelUnreachable, RateLimited
from gateleg.ai.steps import Open
from gateleg.net import Retries, RetryBudget
from gateleg.net.http import Timeouts
from gateleg.store.flow import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
