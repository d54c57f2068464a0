"""What reading an index costs."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index, table


@pytest.fixture
def letters(engine: Engine) -> Engine:
    """Three letters, two of them long, with a local index by date that holds keys only."""
    by_date = {**index("by-date", "to", "date"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    engine.call("CreateTable", table("to", "id", name="Letters", defined=["to", "id", "date"], LocalSecondaryIndexes=[by_date]))
    for id_, length in (("1", 10), ("2", 5000), ("3", 9000)):
        item = {"to": {"S": "Ann"}, "id": {"S": id_}, "date": {"S": id_}, "text": {"S": "x" * length}}
        engine.call("PutItem", {"TableName": "Letters", "Item": item})
    return engine


def cost(engine: Engine, **more: Any) -> dict[str, Any]:
    """The units of reading Ann's letters by date."""
    values = {":to": {"S": "Ann"}}
    names = {"#to": "to", **more.pop("names", {})}
    condition = {"KeyConditionExpression": "#to = :to", "ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    answer = engine.call(
        "Query", {"TableName": "Letters", "IndexName": "by-date", "ReturnConsumedCapacity": "INDEXES", **condition, **more}
    )
    consumed: dict[str, Any] = answer["ConsumedCapacity"]
    return {
        "table": consumed["Table"]["CapacityUnits"],
        "index": consumed["LocalSecondaryIndexes"]["by-date"]["CapacityUnits"],
        "total": consumed["CapacityUnits"],
    }


def test_a_local_index_that_holds_enough_costs_nothing_in_the_table(letters: Engine) -> None:
    assert cost(letters) == {"table": 0.0, "index": 0.5, "total": 0.5}


def test_a_local_index_completed_from_the_table_costs_each_item_there(letters: Engine) -> None:
    assert cost(letters, Select="ALL_ATTRIBUTES", ConsistentRead=True) == {"table": 6.0, "index": 1.0, "total": 7.0}


def test_eventual_consistency_halves_what_completing_costs(letters: Engine) -> None:
    assert cost(letters, Select="ALL_ATTRIBUTES") == {"table": 3.0, "index": 0.5, "total": 3.5}


def test_only_the_rows_of_the_page_are_paid_for(letters: Engine) -> None:
    assert cost(letters, ProjectionExpression="#t", names={"#t": "text"}, Limit=2) == {"table": 1.5, "index": 0.5, "total": 2.0}
