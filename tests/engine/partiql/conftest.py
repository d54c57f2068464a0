from collections.abc import Iterator
from typing import Any

import pytest

from gateleg.engine.engine import Engine

from .client import PartiQL


def _keys(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH" if i == 0 else "RANGE"} for i, name in enumerate(names)]


SONGS: dict[str, Any] = {
    "TableName": "Songs",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("artist", "title", "genre", "label")],
    "KeySchema": _keys("artist", "title"),
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-genre",
            "KeySchema": _keys("genre"),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["length"]},
        }
    ],
    "LocalSecondaryIndexes": [
        {"IndexName": "by-label", "KeySchema": _keys("artist", "label"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    ],
}
PLAIN: dict[str, Any] = {
    "TableName": "Plain",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
    "KeySchema": _keys("id"),
}


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def partiql(clock: Clock) -> Iterator[PartiQL]:
    with Engine(":memory:", clock=clock) as engine:
        engine.call("CreateTable", SONGS)
        engine.call("CreateTable", PLAIN)
        yield PartiQL(engine)
