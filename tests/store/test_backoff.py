"""Backoff between retries."""

import pytest

from gateleg.net import Backoff
from gateleg.store.flow import Request
from gateleg.store.setup import is_transient, retry_conflicts
from gateleg.store.transports import ServiceError
from tests.store.doubles import play, quiet_setup, refusal


def test_conflict_is_retried_with_the_same_request() -> None:
    request = Request("PutItem", {"TableName": "t"})
    played = play(retry_conflicts(request, quiet_setup()), [refusal("TransactionConflictException"), {"done": True}])
    assert played.result == {"done": True}
    assert [each.payload for each in played.requests] == [request.payload] * 2
    assert len(played.pauses) == 1
    assert request.retries == 1


def test_permanent_error_is_not_retried() -> None:
    with pytest.raises(ServiceError):
        play(retry_conflicts(Request("PutItem", {}), quiet_setup()), [refusal("ValidationException")])


def test_endless_conflicts_are_an_error() -> None:
    asked: list[Request] = []

    def conflict(request: Request) -> ServiceError:
        asked.append(request)
        return refusal("TransactionConflictException")

    with pytest.raises(ServiceError):
        play(retry_conflicts(Request("PutItem", {}), quiet_setup(backoff=Backoff(tries=3))), conflict)
    assert len(asked) == 4


def test_canceled_transaction_is_transient_only_if_no_reason_depends_on_data() -> None:
    def canceled(*codes: str) -> ServiceError:
        return refusal("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in codes])

    assert is_transient(canceled("None", "TransactionConflict", "ThrottlingError"))
    assert not is_transient(canceled("TransactionConflict", "ConditionalCheckFailed"))
    assert not is_transient(canceled("None"))
