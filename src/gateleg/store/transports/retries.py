"""Decide whether and when to resend a request. The transports do the waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateleg.net import is_throttled, may_pass
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.idempotence import is_idempotent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.net import CredentialSource, Deadline, Retries, RetryBudget, ServiceClock
    from gateleg.net.http import HttpError

#: Error codes that may mean that the local clock differs too much from that of the service.
SKEWED = frozenset({"InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "SignatureDoesNotMatch"})
EXPIRED = frozenset({"ExpiredTokenException", "ExpiredToken"})


class ErrorResponse(Exception):
    """The service answered an attempt with an error. `date` is the `Date` header of the response."""

    def __init__(self, error: ServiceError, date: str | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.date = date


@dataclass
class CallAttempts:
    """The retry state of one call."""

    operation: str
    request: dict[str, Any]
    policy: Retries
    budget: RetryBudget
    clock: ServiceClock
    source: CredentialSource
    deadline: Deadline | None = None
    attempts: int = field(default=0, init=False)
    _delays: Iterator[float] = field(init=False)
    _corrected: set[str] = field(default_factory=set, init=False)
    #: whether an attempt without a response may have been executed
    _doubtful: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._delays = self.policy.delays(self.deadline)

    def after(self, failure: HttpError | ErrorResponse) -> float:
        """The seconds to wait before the next attempt. If there is none, raises the error for the caller."""
        self.attempts += 1
        if isinstance(failure, ErrorResponse):
            return self._after_refusal(failure.error, failure.date)
        final = Unreachable(failure.message, self.attempts)
        if failure.sent:
            self._doubt(final)
        if failure.permanent:
            raise final from None
        if failure.stale and self.attempts == 1 < self.policy.attempts:
            return 0.0
        return self._delay(final)

    def _after_refusal(self, error: ServiceError, date: str | None) -> float:
        error.attempts = self.attempts
        if self._correct_cause(error, date):
            return 0.0
        if not is_throttled(error.code, error.status):
            if not may_pass(error.status):
                raise self._refused(error) from None
            self._doubt(error)
        return self._delay(error)

    def _doubt(self, final: Exception) -> None:
        """Handle an attempt that may have been executed: raise the error unless the request may be repeated."""
        if not is_idempotent(self.operation, self.request):
            raise final from None
        self._doubtful = True

    def _delay(self, final: Exception) -> float:
        delay = next(self._delays, None) if self.attempts < self.policy.attempts else None
        if delay is None or not self.budget.spend():
            raise final from None
        return delay

    def _correct_cause(self, error: ServiceError, date: str | None) -> bool:
        """Correct the clock or reload the credentials, if that may have caused the error; return whether to retry. Tries each once."""
        if error.code in SKEWED and "clock" not in self._corrected:
            self._corrected.add("clock")
            return self.clock.repair(date)
        if error.code in EXPIRED and "credentials" not in self._corrected:
            self._corrected.add("credentials")
            before = self.source.current()
            self.source.expire()
            return self.source.current() != before
        return False

    def _refused(self, error: ServiceError) -> Exception:
        if self._doubtful and error.code == "ConditionalCheckFailedException":
            return Unreachable(
                "An attempt got no response, and the next one failed its condition, possibly because the first was executed.",
                self.attempts,
            )
        return error
