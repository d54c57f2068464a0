"""What has another JSON type than it should have is refused before any value is judged."""

from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.engine.engine import Engine
from gateleg.engine.errors import condition_failed
from tests.engine.operations.requests import refusal, table

_BAD: dict[str, Any] = {"SS": []}
_WRONG: list[Any] = [
    {"L": {}},
    {"M": []},
    {"S": 1},
    {"N": 1},
    {"B": "x"},
    {"BOOL": 3},
    {"SS": [1]},
    {"NS": "1"},
    "x",
    {"M": {"y": {"S": 1}}},
]


@pytest.fixture
def music() -> Iterator[Engine]:
    with Engine() as engine:
        engine.call("CreateTable", table("a"))
        yield engine


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_wrong_type_beats_a_bad_value_before_it(music: Engine, wrong: Any) -> None:
    item = {"a": {"S": "x"}, "b": _BAD, "c": wrong}
    assert refusal(music, "PutItem", {"TableName": "Music", "Item": item}).code == "SerializationException"
    nested = {"a": {"S": "x"}, "b": {"M": {"b": _BAD, "c": wrong}}}
    assert refusal(music, "PutItem", {"TableName": "Music", "Item": nested}).code == "SerializationException"


@pytest.mark.parametrize("wrong", _WRONG)
def test_a_wrong_type_beats_faults_of_other_members(music: Engine, wrong: Any) -> None:
    for request in (
        {"TableName": "Music", "Key": {"a": _BAD}, "UpdateExpression": "no", "ExpressionAttributeValues": {":v": wrong}},
        {"TableName": "Nothing", "Key": {"a": {"S": "x"}}, "UpdateExpression": "SET b = :v", "ExpressionAttributeValues": {":v": wrong}},
    ):
        assert refusal(music, "UpdateItem", request).code == "SerializationException"


def test_a_bad_value_alone_is_judged(music: Engine) -> None:
    error = refusal(music, "PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}, "b": _BAD}})
    assert error.code == "ValidationException"


def test_nothing_is_too_deep_to_be_refused(music: Engine) -> None:
    value: dict[str, Any] = {"S": 1}
    for _ in range(500):
        value = {"L": [value]}
    assert refusal(music, "PutItem", {"TableName": "Music", "Item": {"a": {"S": "x"}, "b": value}}).code == "ValidationException"


def test_a_failed_condition_with_its_item_writes_message_with_a_capital() -> None:
    assert condition_failed({"a": {"S": "x"}}).body()["Message"] == "The conditional request failed"
    assert condition_failed().body()["message"] == "The conditional request failed"
