from dataclasses import dataclass, field
from typing import Any

import pytest

from gateleg.net import Credentials, Deadline, Fixed, Retries, RetryBudget, ServiceClock
from gateleg.net.http import ConnectionLost, NotConnected
from gateleg.store.transports import ServiceError, Unreachable
from gateleg.store.transports.http import CallAttempts, ErrorResponse

PUT: dict[str, Any] = {"TableName": "t", "Item": {}}
COUNT: dict[str, Any] = {"UpdateExpression": "ADD n :one"}
LOST = ConnectionLost("lost")
UNSENT = ConnectionLost("unsent", sent=False)


@dataclass
class Desk:
    """Calls with a manual clock and without randomness."""

    now: float = 0.0
    policy: Retries = field(init=False)
    budget: RetryBudget = field(init=False)

    def __post_init__(self) -> None:
        self.use(Retries(attempts=4, first=0.1, longest=0.3))

    def use(self, policy: Retries) -> None:
        self.policy = Retries(policy.attempts, policy.first, policy.longest, policy.burst, policy.rate, lambda: 1.0, lambda: self.now)
        self.budget = RetryBudget(self.policy)

    def call(self, operation: str = "PutItem", request: dict[str, Any] = PUT, deadline: float | None = None) -> CallAttempts:
        source = Fixed(Credentials("k", "s"))
        until = None if deadline is None else Deadline(deadline, self.policy.ticks)
        return CallAttempts(operation, request, self.policy, self.budget, ServiceClock(lambda: 1_000_000.0), source, until)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def refusal(code: str, status: int = 400, date: str | None = None) -> ErrorResponse:
    return ErrorResponse(ServiceError(code, "why", status=status), date)


def test_the_span_doubles_up_to_the_longest(desk: Desk) -> None:
    call = desk.call()
    assert [call.after(LOST) for _ in range(3)] == [0.1, 0.2, 0.3]


def test_attempts_come_to_an_end(desk: Desk) -> None:
    call = desk.call()
    for _ in range(3):
        call.after(LOST)
    with pytest.raises(Unreachable, match="lost") as caught:
        call.after(LOST)
    assert caught.value.attempts == 4


@pytest.mark.parametrize("code", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"])
def test_throttled_requests_are_always_retried(desk: Desk, code: str) -> None:
    assert desk.call("UpdateItem", COUNT).after(refusal(code)) == 0.1


def test_too_many_requests_are_throttling_by_whatever_name(desk: Desk) -> None:
    assert desk.call("UpdateItem", COUNT).after(refusal("Http429", 429)) == 0.1


def test_service_errors_are_retried_if_that_is_safe(desk: Desk) -> None:
    assert desk.call("PutItem", PUT).after(refusal("InternalServerError", 500)) == 0.1
    with pytest.raises(ServiceError, match="InternalServerError"):
        desk.call("UpdateItem", COUNT).after(refusal("InternalServerError", 500))


def test_a_counter_update_with_a_lost_answer_is_not_retried(desk: Desk) -> None:
    with pytest.raises(Unreachable) as caught:
        desk.call("UpdateItem", COUNT).after(LOST)
    assert caught.value.attempts == 1


def test_requests_that_were_not_sent_are_always_retried(desk: Desk) -> None:
    assert desk.call("UpdateItem", COUNT).after(UNSENT) == 0.1


def test_a_refusal_is_final(desk: Desk) -> None:
    with pytest.raises(ServiceError, match="ValidationException") as caught:
        desk.call().after(refusal("ValidationException"))
    assert caught.value.attempts == 1


def test_a_condition_that_fails_at_once_is_an_error(desk: Desk) -> None:
    with pytest.raises(ServiceError, match="ConditionalCheckFailedException"):
        desk.call().after(refusal("ConditionalCheckFailedException"))


def test_a_condition_that_fails_after_a_lost_answer_is_inconclusive(desk: Desk) -> None:
    call = desk.call()
    call.after(LOST)
    with pytest.raises(Unreachable, match="possibly because the first"):
        call.after(refusal("ConditionalCheckFailedException"))


def test_a_condition_that_fails_after_throttling_is_conclusive(desk: Desk) -> None:
    call = desk.call()
    call.after(refusal("ThrottlingException"))
    with pytest.raises(ServiceError, match="ConditionalCheckFailedException") as caught:
        call.after(refusal("ConditionalCheckFailedException"))
    assert caught.value.attempts == 2


def test_a_closed_connection_is_replaced_at_once_and_once(desk: Desk) -> None:
    call = desk.call()
    stale = ConnectionLost("closed", stale=True)
    assert [call.after(stale), call.after(stale)] == [0.0, 0.1]


def test_an_untrusted_certificate_is_not_retried(desk: Desk) -> None:
    with pytest.raises(Unreachable, match="certificate"):
        desk.call().after(NotConnected("certificate", sent=False, permanent=True))


def test_a_wait_beyond_the_deadline_is_not_started(desk: Desk) -> None:
    call = desk.call(deadline=0.25)
    assert call.after(LOST) == 0.1
    desk.now = 0.1
    with pytest.raises(Unreachable):
        call.after(LOST)


def test_all_calls_share_a_budget_that_grows_with_time(desk: Desk) -> None:
    desk.use(Retries(burst=2, rate=1.0))
    for _ in range(2):
        desk.call().after(LOST)
    with pytest.raises(Unreachable):
        desk.call().after(LOST)
    desk.now = 1.0
    desk.call().after(LOST)
    with pytest.raises(Unreachable):
        desk.call().after(LOST)


def test_a_wrong_clock_is_corrected_without_using_the_retry_budget(desk: Desk) -> None:
    desk.use(Retries(burst=0))
    call = desk.call("UpdateItem", COUNT)
    assert call.after(refusal("InvalidSignatureException", date="Sat, 17 Jan 1970 13:46:40 GMT")) == 0.0
    assert call.clock.now() == 1_432_000.0


def test_a_signature_that_is_wrong_for_another_reason_is_an_error(desk: Desk) -> None:
    call = desk.call()
    with pytest.raises(ServiceError, match="InvalidSignatureException"):
        call.after(refusal("InvalidSignatureException", date="Mon, 12 Jan 1970 13:46:40 GMT"))


def test_a_clock_is_corrected_once_in_a_call(desk: Desk) -> None:
    call = desk.call()
    skewed = refusal("InvalidSignatureException", date="Sat, 17 Jan 1970 13:46:40 GMT")
    call.after(skewed)
    with pytest.raises(ServiceError):
        call.after(skewed)


def test_fixed_credentials_that_expire_are_an_error(desk: Desk) -> None:
    with pytest.raises(ServiceError, match="ExpiredTokenException"):
        desk.call().after(refusal("ExpiredTokenException"))
