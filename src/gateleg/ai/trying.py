"""Deadlines and retries of a call. Decisions only; the drivers wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from gateleg import net
from gateleg.ai.errors import AiError, ModelFailed, ModelTimedOut, ModelUnreachable, RateLimited
from gateleg.ai.steps import Open, Pause
from gateleg.net import Retries, RetryBudget
from gateleg.net.http import Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.ai.steps import Flow
    from gateleg.net.http import HttpRequest

R = TypeVar("R")
#: What may well go better a moment later. A call that took too long is not tried again: it would take too long again, and cost twice.
_WORTH_IT = (RateLimited, ModelFailed, ModelUnreachable)
#: Models take seconds, and their services ask for longer waits than a database does.
RETRIES = Retries(attempts=4, first=0.5, longest=20.0, burst=20, rate=0.5)
#: Seconds for a whole call, with all its attempts and pauses.
_TOTAL = 600.0


def waits_out(error: AiError) -> bool:
    """Whether a service has certainly not begun with a call, so that it may be made again without paying twice."""
    return isinstance(error, RateLimited) or not error.sent


def timeouts_of(connect: float = 10.0, silence: float = 120.0) -> Timeouts:
    """How long to wait for a connection, and for the next bytes of an answer: models think before they speak."""
    return Timeouts(connect, silence, idle=15.0)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a call's time, and how long each of its steps may take."""

    timeouts: Timeouts
    until: net.Deadline

    def left(self) -> float:
        """The seconds that are left; an error when there are none."""
        left = self.until.left()
        if left <= 0:
            raise ModelTimedOut("The time for the call is over.")
        return left

    def wait(self) -> float:
        """How long to wait for the next bytes."""
        return min(self.timeouts.read, self.left())

    def opening(self, request: HttpRequest) -> Open:
        """The step that sends a request."""
        self.left()
        return Open(request, self.timeouts, self.until)


@dataclass
class Trying:
    """How calls are tried: how long they may take, and how often and after which waits they are repeated."""

    timeouts: Timeouts = field(default_factory=timeouts_of)
    total: float = _TOTAL
    retries: Retries = RETRIES
    budget: RetryBudget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = RetryBudget(self.retries)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """The end of a call that begins now."""
        return Deadline(self.timeouts, net.Deadline.after(self.total if seconds is None else seconds, self.retries.ticks))

    def attempts(
        self, attempt: Callable[[Deadline], Flow[R]], seconds: float | None = None, worth: Callable[[AiError], bool] | None = None
    ) -> Flow[R]:
        """Try until it succeeds, or until there is no sense in going on; then the last failure is raised.

        `worth` says which failures may be followed by another attempt, beside the rules that always hold.
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

    def _delay(self, error: AiError, delays: Iterator[float], deadline: Deadline) -> float | None:
        if not isinstance(error, _WORTH_IT) or not error.passing:
            return None
        drawn = next(delays, None)
        if drawn is None:
            return None
        # The service knows best; a little is added so that all who wait for it do not come back at once.
        delay = drawn + (getattr(error, "retry_after", None) or 0.0)
        return None if delay >= deadline.until.left() or not self.budget.spend() else delay
