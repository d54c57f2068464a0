"""Requests that create tables, short to write."""

from collections.abc import Sequence
from typing import Any

import pytest

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError

ON_DEMAND: dict[str, Any] = {"BillingMode": "PAY_PER_REQUEST"}
UNITS: dict[str, Any] = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}


def keys(*names: str, hashes: int = 1) -> list[dict[str, str]]:
    """A key schema of so many hash attributes and then range attributes."""
    return [{"AttributeName": name, "KeyType": "HASH" if i < hashes else "RANGE"} for i, name in enumerate(names)]


def attributes(names: Sequence[str]) -> list[dict[str, str]]:
    """Definitions of attributes; `n:N` defines a number."""
    return [{"AttributeName": name.partition(":")[0], "AttributeType": name.partition(":")[2] or "S"} for name in names]


def index(name: str, *names: str, hashes: int = 1, **more: Any) -> dict[str, Any]:
    """An index over these attributes that projects everything."""
    return {"IndexName": name, "KeySchema": keys(*names, hashes=hashes), "Projection": {"ProjectionType": "ALL"}, **more}


def table(*names: str, name: str = "Music", defined: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """A CreateTable request for a table with this key, on demand unless it says otherwise."""
    billing = {} if "ProvisionedThroughput" in more or "BillingMode" in more else ON_DEMAND
    return {
        "TableName": name,
        "KeySchema": keys(*(n.partition(":")[0] for n in names)),
        "AttributeDefinitions": attributes(defined if defined is not None else names),
        **billing,
        **more,
    }


def refusal(engine: Engine, operation: str, request: dict[str, Any]) -> EngineError:
    """The error that an engine answers a request with."""
    with pytest.raises(EngineError) as caught:
        engine.call(operation, request)
    return caught.value


def described(engine: Engine, name: str = "Music") -> dict[str, Any]:
    """The description of a table as it is now."""
    answer: dict[str, Any] = engine.call("DescribeTable", {"TableName": name})["Table"]
    return answer
