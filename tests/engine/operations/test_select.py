"""What Select may be given with."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import refusal, table

REQUESTS: dict[str, dict[str, Any]] = {
    "Query": {"TableName": "Notes", "KeyConditionExpression": "id = :i", "ExpressionAttributeValues": {":i": {"S": "a"}}},
    "Scan": {"TableName": "Notes"},
}


@pytest.fixture
def notes(engine: Engine) -> Engine:
    engine.call("CreateTable", table("id", name="Notes"))
    return engine


def test_specific_attributes_must_be_named_and_query_says_so_in_an_envelope(notes: Engine) -> None:
    words = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
    messages = {operation: refusal(notes, operation, {**r, "Select": "SPECIFIC_ATTRIBUTES"}).message for operation, r in REQUESTS.items()}
    assert messages == {"Query": f"1 validation error detected: {words}", "Scan": words}


@pytest.mark.parametrize("operation", REQUESTS)
@pytest.mark.parametrize(
    ("select", "what"),
    [
        ("ALL_ATTRIBUTES", "ALL_ATTRIBUTES"),
        ("COUNT", "only the Count"),
        ("ALL_PROJECTED_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    ],
)
def test_attributes_are_named_for_specific_attributes_only(notes: Engine, operation: str, select: str, what: str) -> None:
    request = {**REQUESTS[operation], "Select": select, "ProjectionExpression": "title"}
    envelope = "1 validation error detected: " if operation == "Query" else ""
    assert refusal(notes, operation, request).message == f"{envelope}Cannot specify the ProjectionExpression when choosing to get {what}"


@pytest.mark.parametrize("operation", REQUESTS)
def test_projected_attributes_are_those_of_an_index(notes: Engine, operation: str) -> None:
    message = refusal(notes, operation, {**REQUESTS[operation], "Select": "ALL_PROJECTED_ATTRIBUTES"}).message
    envelope = "1 validation error detected: " if operation == "Query" else ""
    assert message == f"{envelope}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
