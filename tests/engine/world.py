"""An engine whose clock only moves when it is told to, and short words for what tests do with it."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateleg.engine.engine import Engine
from gateleg.engine.errors import EngineError
from tests.engine.operations.requests import table

Item = dict[str, Any]

START = 1_700_000_000.0


def content(item: Item) -> str:
    """What an item holds, whatever the order of its attributes: to sort by."""
    return json.dumps(item, sort_keys=True)


class World:
    """An engine in memory or on a file, and its time."""

    def __init__(self, path: str | Path = ":memory:", **options: Any) -> None:
        self.now = START
        options.setdefault("background", False)
        self.engine = Engine(str(path), clock=lambda: self.now, durability="relaxed", **options)

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        """Answer a request."""
        return self.engine.call(operation, request)

    def refusal(self, operation: str, **request: Any) -> EngineError:
        """The error that a request is answered with."""
        with pytest.raises(EngineError) as caught:
            self.engine.call(operation, request)
        return caught.value

    def create(self, *keys: str, **more: Any) -> None:
        """Create a table, by default one named Music."""
        self.engine.call("CreateTable", table(*keys, **more))

    def put(self, item: Item, name: str = "Music") -> None:
        """Put an item."""
        self.engine.call("PutItem", {"TableName": name, "Item": item})

    def delete(self, key: Item, name: str = "Music") -> None:
        """Delete an item."""
        self.engine.call("DeleteItem", {"TableName": name, "Key": key})

    def items(self, name: str = "Music", **more: Any) -> list[Item]:
        """All items of a table or an index, in the order of their keys."""
        found: list[Item] = []
        request: dict[str, Any] = {"TableName": name, **more}
        while True:
            answer = self.engine.call("Scan", request)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return sorted(found, key=content)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def expire_by(self, attribute: str | None, name: str = "Music") -> None:
        """Switch TTL on with an attribute, or off."""
        known = self.call("DescribeTimeToLive", TableName=name)["TimeToLiveDescription"].get("AttributeName")
        wanted = {"Enabled": attribute is not None, "AttributeName": attribute or known}
        self.call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=wanted)

    def recoverable(self, on: bool = True, name: str = "Music", **more: Any) -> dict[str, Any]:
        """Switch point-in-time recovery on or off."""
        wanted = {"PointInTimeRecoveryEnabled": on, **more}
        return self.call("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=wanted)

    def arn(self, name: str = "Music") -> str:
        """A table's ARN."""
        return self.engine.namespace.arn(f"table/{name}")


def stream(view: str = "NEW_AND_OLD_IMAGES") -> dict[str, Any]:
    """What CreateTable is told to enable a stream."""
    return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}


def text(**attributes: str) -> Item:
    """An item of texts."""
    return {name: {"S": value} for name, value in attributes.items()}
