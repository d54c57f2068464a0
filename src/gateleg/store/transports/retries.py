"""When to send a request again, and how long to wait before: decisions only, the waiting is done by the transports."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.repeats import repeatable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.store.transports.credentials import Source
    from gateleg.store.transports.signing import Clock

#: The service refused for want of capacity: nothing was done, and the same request may succeed soon.
THROTTLED = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "ThrottlingError",
        "Throttling",
        "RequestLimitExceeded",
        "RequestThrottledException",
        "TooManyRequestsException",
    }
)
#: The service may have found the time of the signature too far from its own.
SKEWED = frozenset({"InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch"})
EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken"})


class Failure(Exception):
    """An attempt that did not succeed."""

    def __init__(
        self,
        reason: str,
        *,
        sent: bool = True,
        stale: bool = False,
        hopeless: bool = False,
        error: ServiceError | None = None,
        date: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        #: False if the service cannot have had the whole request, so that it certainly did nothing
        self.sent = sent
        #: the connection had been idle, and the service may simply have closed it
        self.stale = stale
        #: the next attempt would fail in the same way
        self.hopeless = hopeless
        #: what the service answered
        self.error = error
        #: the service's time, as its answer has it
        self.date = date


@dataclass(frozen=True)
class Retries:
    """How often and how long. Each wait is a random part of a span that doubles from `first` to `longest` seconds.

    All calls of a transport share a budget of `burst` retries that grows by `rate` each second: when a service is down, calls fail soon
    instead of multiplying its load.
    """

    #: how often a request is sent at most
    attempts: int = 6
    first: float = 0.05
    longest: float = 5.0
    burst: int = 100
    rate: float = 10.0
    random: Callable[[], float] = random.SystemRandom().random
    ticks: Callable[[], float] = time.monotonic

    def delay(self, number: int) -> float:
        """The seconds to wait after the attempt of that number, counted from 1."""
        return self.random() * min(self.longest, self.first * 2.0 ** (number - 1))


class Budget:
    """The retries that a transport has left."""

    def __init__(self, policy: Retries) -> None:
        self._policy = policy
        self._left = float(policy.burst)
        self._seen = policy.ticks()
        self._lock = threading.Lock()

    def spend(self) -> bool:
        """Take one retry; False if there is none."""
        with self._lock:
            now = self._policy.ticks()
            self._left = min(self._policy.burst, self._left + (now - self._seen) * self._policy.rate)
            self._seen = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


@dataclass
class Trial:
    """One call that has met a failure, and what became of its attempts."""

    operation: str
    request: dict[str, Any]
    policy: Retries
    budget: Budget
    clock: Clock
    source: Source
    #: when the call must be over, in the policy's ticks
    deadline: float | None = None
    attempts: int = field(default=0, init=False)
    _mended: set[str] = field(default_factory=set, init=False)
    #: an attempt may have been carried out without an answer
    _doubtful: bool = field(default=False, init=False)

    def after(self, failure: Failure) -> float:
        """The seconds to wait before the next attempt. Raises what the caller is to see when there is none."""
        self.attempts += 1
        error = failure.error
        if error is not None:
            if self._mend(error, failure.date):
                return 0.0
            if error.code not in THROTTLED and error.status < 500:
                raise self._refused(error) from None
        if self._unknown(failure):
            if not repeatable(self.operation, self.request):
                raise self._final(failure) from None
            self._doubtful = True
        if failure.hopeless or self.attempts >= self.policy.attempts:
            raise self._final(failure) from None
        if failure.stale and self.attempts == 1:
            return 0.0
        delay = self.policy.delay(self.attempts)
        if (self.deadline is not None and self.policy.ticks() + delay >= self.deadline) or not self.budget.spend():
            raise self._final(failure) from None
        return delay

    def _unknown(self, failure: Failure) -> bool:
        """Whether the request may have been carried out."""
        if failure.error is not None:
            return failure.error.code not in THROTTLED
        return failure.sent

    def _mend(self, error: ServiceError, date: str | None) -> bool:
        """Whether the cause of a refusal is put right. Each cause is looked for once."""
        if error.code in SKEWED and "clock" not in self._mended:
            self._mended.add("clock")
            return self.clock.repair(date)
        if error.code in EXPIRED and "credentials" not in self._mended:
            self._mended.add("credentials")
            before = self.source.current()
            self.source.expire()
            return self.source.current() != before
        return False

    def _refused(self, error: ServiceError) -> Exception:
        if self._doubtful and error.code == "ConditionalCheckFailedException":
            return Unreachable(
                "An attempt got no answer, and the next one failed its condition, perhaps because the first had been carried out.",
                self.attempts,
            )
        error.attempts = self.attempts
        return error

    def _final(self, failure: Failure) -> Exception:
        if failure.error is not None:
            return self._refused(failure.error)
        return Unreachable(failure.reason, self.attempts)
