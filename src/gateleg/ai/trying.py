"""How long a call may take, and when it is tried again. Decisions only; the waiting is done by the drivers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from gateleg.ai.errors import ModelError, ModelFailed, ModelTimedOut, ModelUnreachable, RateLimited
from gateleg.ai.http.requests import Limits, Timeouts
from gateleg.ai.steps import Pause
from gateleg.store.transports.retries import Budget, Retries

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.ai.steps import Flow

R = TypeVar("R")
#: What may well go better a moment later. A call that took too long is not tried again: it would take too long again, and cost twice.
_WORTH_IT = (RateLimited, ModelFailed, ModelUnreachable)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a call's time."""

    timeouts: Timeouts
    end: float
    ticks: Callable[[], float] = time.monotonic

    def left(self) -> float:
        """The seconds that are left; an error when there are none."""
        left = self.end - self.ticks()
        if left <= 0:
            raise ModelTimedOut("The time for the call is over.")
        return left

    def limits(self) -> Limits:
        """What an attempt that begins now may take."""
        return Limits(self.timeouts.connect, self.timeouts.silence, self.left())

    def wait(self) -> float:
        """How long to wait for the next bytes."""
        return min(self.timeouts.silence, self.left())


@dataclass
class Trying:
    """How calls are tried: the waits double from `first` to `longest` seconds, each cut to a random part (see the store's `Retries`)."""

    timeouts: Timeouts = field(default_factory=Timeouts)
    retries: Retries = field(default_factory=lambda: Retries(attempts=4, first=0.5, longest=20.0, burst=20, rate=0.5))
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.retries)

    def deadline(self, seconds: float | None = None) -> Deadline:
        """The end of a call that begins now."""
        total = self.timeouts.total if seconds is None else seconds
        return Deadline(self.timeouts, self.retries.ticks() + total, self.retries.ticks)

    def attempts(self, attempt: Callable[[Deadline], Flow[R]], seconds: float | None = None) -> Flow[R]:
        """Try until it succeeds, or until there is no sense in going on; then the last failure is raised."""
        deadline, number = self.deadline(seconds), 0
        while True:
            number += 1
            try:
                return (yield from attempt(deadline))
            except ModelError as error:
                delay = self._delay(error, number, deadline)
                if delay is None:
                    raise
            yield Pause(delay)

    def _delay(self, error: ModelError, number: int, deadline: Deadline) -> float | None:
        if not isinstance(error, _WORTH_IT) or not error.passing or number >= self.retries.attempts:
            return None
        # The service knows best; a little is added so that all who wait for it do not come back at once.
        wanted = getattr(error, "retry_after", None)
        delay = self.retries.delay(number) + (wanted or 0.0)
        if self.retries.ticks() + delay >= deadline.end or not self.budget.spend():
            return None
        return delay
