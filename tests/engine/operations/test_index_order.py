"""The order in which an index answers items whose index keys are equal."""

from hashlib import md5
from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index, table

NAMES = [f"{letter}{number}" for letter in "abc" for number in range(6)]


def hashed(band: str, song: str) -> bytes:
    return md5(f"Outliers{band}{song}".encode()).digest()


@pytest.fixture
def songs(engine: Engine) -> Engine:
    """Songs of the same year and length, by three bands."""
    request = table(
        *("band", "song"),
        name="Songs",
        defined=["band", "song", "year", "length"],
        GlobalSecondaryIndexes=[index("years", "year"), index("lengths", "year", "length")],
        LocalSecondaryIndexes=[index("of-band", "band", "length")],
    )
    engine.call("CreateTable", request)
    for name in NAMES:
        item = {"band": {"S": name[0]}, "song": {"S": name[1]}, "year": {"S": "2002"}, "length": {"S": "3:10"}}
        engine.call("PutItem", {"TableName": "Songs", "Item": item})
    return engine


def in_pages(engine: Engine, limit: int, **more: Any) -> list[str]:
    """The names of all songs that a Query answers, read in pages."""
    found: list[str] = []
    request: dict[str, Any] = {"TableName": "Songs", "Limit": limit, **more}
    while True:
        answer = engine.call("Query", request)
        found += [item["band"]["S"] + item["song"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


BY_YEAR = {"IndexName": "years", "KeyConditionExpression": "#y = :y", "ExpressionAttributeNames": {"#y": "year"}}
BY_LENGTH = {
    "IndexName": "lengths",
    "KeyConditionExpression": "#y = :y AND #l BETWEEN :l AND :l",
    "ExpressionAttributeNames": {"#y": "year", "#l": "length"},
}


@pytest.mark.parametrize("limit", [1, 4, 100])
@pytest.mark.parametrize(
    "request_",
    [
        {**BY_YEAR, "ExpressionAttributeValues": {":y": {"S": "2002"}}},
        {**BY_LENGTH, "ExpressionAttributeValues": {":y": {"S": "2002"}, ":l": {"S": "3:10"}}},
    ],
    ids=["hash", "hash-and-range"],
)
def test_a_global_index_orders_equal_keys_by_the_hash_of_the_tables_key(songs: Engine, request_: dict[str, Any], limit: int) -> None:
    expected = sorted(NAMES, key=lambda name: hashed(name[0], name[1]))
    assert in_pages(songs, limit, **request_) == expected
    assert in_pages(songs, limit, ScanIndexForward=False, **request_) == expected[::-1]


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_a_local_index_orders_equal_keys_by_the_tables_range_key(songs: Engine, limit: int) -> None:
    request = {"IndexName": "of-band", "KeyConditionExpression": "band = :b", "ExpressionAttributeValues": {":b": {"S": "b"}}}
    assert in_pages(songs, limit, **request) == [name for name in NAMES if name[0] == "b"]


def test_an_item_keeps_its_place_among_equals_when_it_changes(songs: Engine) -> None:
    request = {**BY_YEAR, "ExpressionAttributeValues": {":y": {"S": "2002"}}}
    before = in_pages(songs, 100, **request)
    key = {"band": {"S": "b"}, "song": {"S": "3"}}
    title = {"AttributeUpdates": {"title": {"Value": {"S": "new"}}}}
    songs.call("UpdateItem", {"TableName": "Songs", "Key": key, **title})
    assert in_pages(songs, 100, **request) == before
