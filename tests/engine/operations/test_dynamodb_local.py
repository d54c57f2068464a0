from typing import Any

import pytest

from gateleg.engine import Engine, EngineError


def request(*definitions: str) -> dict[str, Any]:
    return {
        "TableName": "Lax",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in definitions],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    }


def test_unused_definitions_are_left_out_when_like_local() -> None:
    with Engine(like_local=True) as engine:
        created = engine.call("CreateTable", request("id", "unused"))
    assert [d["AttributeName"] for d in created["TableDescription"]["AttributeDefinitions"]] == ["id"]


def test_unused_definitions_are_refused_otherwise() -> None:
    with Engine() as engine, pytest.raises(EngineError, match="does not exactly match"):
        engine.call("CreateTable", request("id", "unused"))


def test_repeated_definitions_are_refused_in_the_words_of_dynamodb_local() -> None:
    with Engine(like_local=True) as engine, pytest.raises(EngineError, match="Cannot have two attributes with the same name"):
        engine.call("CreateTable", request("id", "id"))
