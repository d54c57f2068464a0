"""How much of a page an item takes, and where pages end."""

from typing import Any

import pytest

from gateleg.engine.capacity import PAGE_BYTES, response_size
from gateleg.engine.engine import Engine
from gateleg.engine.values import item_size
from tests.engine.operations.requests import table


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        ({"S": ""}, 1),
        ({"S": "x" * 127}, 128),
        ({"S": "x" * 128}, 130),
        ({"S": "é" * 100}, 202),
        ({"N": "7"}, 3),
        ({"B": "AQI="}, 3),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 0),
        ({"SS": ["a", "bc"]}, 6),
        ({"BS": ["AQI=", "AQ=="]}, 6),
        ({"L": [{"BOOL": True}, {"S": "x"}]}, 8),
        ({"M": {"long name": {"S": "x"}}}, 7),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else str(value),
)
def test_a_value_takes_its_bytes_and_those_of_its_length(value: dict[str, Any], bytes_: int) -> None:
    empty = response_size({}, None)
    assert response_size({"attribute": value}, None) == empty + 1 + bytes_


def test_the_length_of_a_name_does_not_count() -> None:
    assert response_size({"a": {"N": "1"}}, None) == response_size({"a" * 200: {"N": "1"}}, None)


@pytest.mark.parametrize(("length", "chunks"), [(3060, 1), (3068, 2), (6200, 3)])
def test_each_three_kilobytes_carry_a_head_and_the_range_key(length: int, chunks: int) -> None:
    text = {"text": {"S": "x" * length}}
    content = 1 + length + 2
    assert response_size(text, None) == 2 + content + chunks * 18
    assert response_size({**text, "at": {"S": "12345"}}, "at") == 2 + content + chunks * 23


def fill(engine: Engine, count: int, item: dict[str, Any]) -> None:
    """A partition of so many items."""
    engine.call("CreateTable", table("list", "at", name="Notes"))
    for number in range(count):
        put = {**item, "list": {"S": "a"}, "at": {"S": f"{number:05}"}}
        engine.call("PutItem", {"TableName": "Notes", "Item": put})


def page(engine: Engine, operation: str, **more: Any) -> tuple[int, bool]:
    """How many items the first page goes through, and whether there may be more."""
    condition = {"KeyConditionExpression": "list = :l"} if operation == "Query" else {"FilterExpression": "list = :l"}
    names = {"ExpressionAttributeNames": {"#l": "list"}, "ExpressionAttributeValues": {":l": {"S": "a"}}}
    condition = {name: text.replace("list", "#l") for name, text in condition.items()}
    answer = engine.call(operation, {"TableName": "Notes", "Select": "COUNT", **condition, **names, **more})
    return answer["ScannedCount"], "LastEvaluatedKey" in answer


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_page_ends_with_the_item_that_fills_it(engine: Engine, operation: str) -> None:
    item = {"text": {"S": "x" * 50_000}}
    taken = response_size({**item, "list": {"S": "a"}, "at": {"S": "00000"}}, "at")
    fill(engine, 24, item)
    assert page(engine, operation) == (-(-PAGE_BYTES // taken), True)


def test_a_page_may_hold_more_bytes_than_a_megabyte_where_names_are_long(engine: Engine) -> None:
    item = {f"{number:03}" + "n" * 200: {"S": "x" * 300} for number in range(20)}
    billed = item_size({**item, "list": {"S": "a"}, "at": {"S": "00000"}})
    fill(engine, 180, item)
    scanned, more = page(engine, "Query")
    assert more
    assert scanned * billed > PAGE_BYTES * 1.3


def test_small_items_count_with_their_size(engine: Engine) -> None:
    item = {"text": {"S": "x" * 2000}}
    billed = item_size({**item, "list": {"S": "a"}, "at": {"S": "00000"}})
    fill(engine, 540, item)
    assert page(engine, "Query") == (-(-PAGE_BYTES // billed), True)


def test_pages_meet_every_item_once(engine: Engine) -> None:
    fill(engine, 60, {"text": {"S": "x" * 41_000}})
    found: list[str] = []
    request: dict[str, Any] = {"TableName": "Notes", "ProjectionExpression": "#a", "ExpressionAttributeNames": {"#a": "at"}}
    while True:
        answer = engine.call("Scan", request)
        found += [item["at"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert found == [f"{number:05}" for number in range(60)]
