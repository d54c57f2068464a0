"""Errors have a message, a reason and a fix, and reveal no data."""

import inspect
import pickle
from typing import Any

import pytest

from gateleg.model.errors import NotAnEntity, NotAQuery
from gateleg.store import Store, StoreError, errors
from gateleg.store.error_translation import translated
from gateleg.store.errors import redacted
from gateleg.store.flow import Request
from gateleg.store.transports import ServiceError, Unreachable
from tests.store.doubles import refusal

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, StoreError) and kind is not StoreError]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_distinct_code_and_fix(kind: type[StoreError]) -> None:
    assert kind.code != StoreError.code
    assert kind.fix != StoreError.fix
    assert kind.__doc__


def test_codes_are_distinct() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ResourceNotFoundException", 400, errors.TableMissing),
        ("ResourceInUseException", 400, errors.TableBusy),
        ("ProvisionedThroughputExceededException", 400, errors.Throttled),
        ("ThrottlingException", 400, errors.Throttled),
        ("RequestLimitExceeded", 400, errors.Throttled),
        ("LimitExceededException", 400, errors.QuotaExceeded),
        ("ItemCollectionSizeLimitExceededException", 400, errors.QuotaExceeded),
        ("TransactionConflictException", 400, errors.TransactionConflict),
        ("IdempotentParameterMismatchException", 400, errors.IdempotencyMismatch),
        ("AccessDeniedException", 400, errors.AccessDenied),
        ("UnrecognizedClientException", 400, errors.AccessDenied),
        ("ExpiredTokenException", 400, errors.AccessDenied),
        ("ValidationException", 400, errors.Refused),
        ("SomethingNewException", 400, errors.Refused),
        ("InternalServerError", 500, errors.ServiceFailed),
        ("ServiceUnavailable", 503, errors.ServiceFailed),
    ],
)
def test_service_codes_become_error_classes(code: str, status: int, kind: type[StoreError]) -> None:
    error = translated(ServiceError(code, "why", status=status), Request("GetItem", {"TableName": "t"}))
    assert type(error) is kind
    assert error.message == "GetItem on t: why."
    assert error.request == {"operation": "GetItem", "request": {"TableName": "t"}}


@pytest.mark.parametrize(
    "message",
    [
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes",
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of 1024 bytes",
    ],
)
def test_a_key_that_is_too_long_has_a_separate_error(message: str) -> None:
    assert type(translated(ServiceError("ValidationException", message), None)) is errors.KeyTooLong


def test_no_answer_has_a_separate_error() -> None:
    assert type(translated(Unreachable("connection refused"), None)) is errors.NoAnswer


def test_text_has_message_why_fix_and_code() -> None:
    error = errors.LostRace("It moved.")
    assert str(error) == f"It moved. {errors.LostRace.why} {errors.LostRace.fix} [lost-race]"


def test_errors_never_contain_values() -> None:
    request = Request(
        "TransactWriteItems",
        {
            "TransactItems": [
                {
                    "Put": {
                        "TableName": "t",
                        "Item": {"pk": {"S": "secret"}, "m": {"M": {"a": {"S": "secret"}}}, "l": {"L": [{"S": "secret"}]}},
                    }
                },
                {"Update": {"Key": {"pk": {"S": "secret"}}, "ExpressionAttributeValues": {":0": {"SS": ["secret"]}, ":1": {"BOOL": True}}}},
            ],
            "RequestItems": {"t": {"Keys": [{"pk": {"B": "secret"}}]}, "u": [{"DeleteRequest": {"Key": {"pk": {"N": "42"}}}}]},
            "ExclusiveStartKey": {"pk": {"S": "secret"}},
        },
    )
    error = errors.Refused("no", request=request)
    assert "secret" not in repr(error.request)
    assert "42" not in repr(error.request)
    assert "secret" not in str(error)


def test_redaction_keeps_expressions_and_types() -> None:
    plain = redacted({"UpdateExpression": "SET #a = :0", "ExpressionAttributeValues": {":0": {"L": [1, 2]}, ":1": {"NULL": True}}})
    assert plain == {
        "UpdateExpression": "SET #a = :0",
        "ExpressionAttributeValues": {":0": {"L": "2 elements"}, ":1": {"NULL": "..."}},
    }


def test_redaction_of_other_values_does_not_fail() -> None:
    assert redacted({"Key": "broken", "Item": {"a": "broken", "b": {}}}) == {"Key": "...", "Item": {"a": "...", "b": "..."}}


def test_service_error_shows_code_and_message() -> None:
    assert str(refusal("X")) == "X: refused"
    assert str(ServiceError("X")) == "X"


def test_errors_survive_a_process_boundary() -> None:
    error = errors.UniqueTaken("taken", constraint="Title.once", request=Request("GetItem", {"TableName": "t"}))
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.__dict__, str(copy)) == (type(error), error.__dict__, str(error))


@pytest.mark.parametrize("given", ["Note.of", 3, str])
def test_a_value_that_is_not_an_entity_is_named(given: Any) -> None:
    with Store.embedded() as store, pytest.raises(NotAnEntity, match="is not an entity"):
        store.put(given)


@pytest.mark.parametrize("question", ["Note.of", None, 3])
def test_a_value_that_is_not_a_pattern_is_named(question: Any) -> None:
    with Store.embedded() as store, pytest.raises(NotAQuery, match="neither a pattern nor a query"):
        list(store.query(question))
