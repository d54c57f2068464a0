from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.engine.capacity import read_units, write_units
from gateleg.engine.keys import count_partitions, segment_range
from tests.engine.operations.requests import UNITS, index
from tests.engine.world import Item, World, text

KEY = text(artist="Nina", title="x")


@pytest.fixture
def music(world: World) -> World:
    """A table with provisioned capacity and an index of each kind."""
    world.create(
        "artist",
        "title",
        defined=["artist", "title", "genre", "year"],
        GlobalSecondaryIndexes=[index("by-genre", "genre", ProvisionedThroughput=UNITS)],
        LocalSecondaryIndexes=[index("by-year", "artist", "year", Projection={"ProjectionType": "KEYS_ONLY"})],
        ProvisionedThroughput=UNITS,
    )
    return world


def sized(kilobytes: float, **more: str) -> Item:
    """An item of a little less than so many kilobytes."""
    return {**KEY, **text(**more), "filler": {"S": "x" * int(kilobytes * 1024 - 100)}}


def units(world: World, operation: str, mode: str = "TOTAL", **request: Any) -> Any:
    """The ConsumedCapacity of a request: its units alone if the total is asked for."""
    target = {} if "RequestItems" in request or "TransactItems" in request else {"TableName": "Music"}
    consumed = world.call(operation, **target, ReturnConsumedCapacity=mode, **request)["ConsumedCapacity"]
    return consumed["CapacityUnits"] if mode == "TOTAL" and isinstance(consumed, dict) else consumed


@pytest.mark.parametrize(("size", "expected"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (409_600, 100)])
def test_four_kilobytes_are_a_unit_to_read(size: int, expected: int) -> None:
    assert read_units(size, consistent=True) == expected
    assert read_units(size, consistent=False) == expected / 2


@pytest.mark.parametrize(("size", "expected"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (409_600, 400)])
def test_a_kilobyte_is_a_unit_to_write(size: int, expected: int) -> None:
    assert write_units(size) == expected


def test_capacity_is_told_only_if_asked(music: World) -> None:
    assert music.call("PutItem", TableName="Music", Item=KEY) == {}
    assert music.call("PutItem", TableName="Music", Item=KEY, ReturnConsumedCapacity="NONE") == {}


def test_a_get_costs_half_unless_it_is_consistent(music: World) -> None:
    music.put(sized(9))
    assert units(music, "GetItem", Key=KEY) == 1.5
    assert units(music, "GetItem", Key=KEY, ConsistentRead=True) == 3
    assert units(music, "GetItem", Key=KEY, ProjectionExpression="title") == 1.5


def test_a_get_of_nothing_costs_as_well(music: World) -> None:
    assert units(music, "GetItem", Key=KEY) == 0.5


def test_a_write_costs_the_larger_of_the_items(music: World) -> None:
    assert units(music, "PutItem", Item=sized(3)) == 3
    assert units(music, "PutItem", Item=sized(1)) == 3
    assert units(music, "UpdateItem", Key=KEY, AttributeUpdates={"filler": {"Value": sized(5)["filler"]}}) == 5
    assert units(music, "DeleteItem", Key=KEY) == 5
    assert units(music, "DeleteItem", Key=KEY) == 1


def test_the_indexes_of_a_write_are_told_apart(music: World) -> None:
    assert units(music, "PutItem", mode="INDEXES", Item=sized(3, genre="jazz", year="1965")) == {
        "TableName": "Music",
        "CapacityUnits": 7.0,
        "Table": {"CapacityUnits": 3.0},
        "LocalSecondaryIndexes": {"by-year": {"CapacityUnits": 1.0}},
        "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 3.0}},
    }


def test_an_index_that_did_not_change_costs_nothing(music: World) -> None:
    music.put({**KEY, **text(year="1965")})
    assert units(music, "UpdateItem", Key=KEY, AttributeUpdates={"label": {"Value": {"S": "Philips"}}}) == 1


def test_an_entry_that_moves_in_an_index_is_deleted_and_put(music: World) -> None:
    music.put({**KEY, **text(genre="jazz")})
    assert units(music, "UpdateItem", Key=KEY, AttributeUpdates={"genre": {"Value": {"S": "folk"}}}) == 3


def test_a_query_costs_the_sum_of_what_it_read(music: World) -> None:
    for title in "abcdef":
        music.put({**sized(1), "title": {"S": title}, "keep": {"BOOL": title == "a"}})
    asked: dict[str, Any] = {"KeyConditionExpression": "artist = :a", "ExpressionAttributeValues": {":a": {"S": "Nina"}}}
    assert units(music, "Query", **asked) == 1
    assert units(music, "Query", **asked, ConsistentRead=True) == 2
    values = {":a": {"S": "Nina"}, ":t": {"BOOL": True}}
    filtered = {**asked, "ExpressionAttributeValues": values, "FilterExpression": "keep = :t", "ProjectionExpression": "title"}
    assert units(music, "Query", **filtered, ConsistentRead=True) == 2


def test_a_query_of_an_index_is_told_apart(music: World) -> None:
    music.put({**KEY, **text(genre="jazz")})
    asked: dict[str, Any] = {"KeyConditionExpression": "genre = :g", "ExpressionAttributeValues": {":g": {"S": "jazz"}}}
    assert units(music, "Query", mode="INDEXES", IndexName="by-genre", **asked) == {
        "TableName": "Music",
        "CapacityUnits": 0.5,
        "Table": {"CapacityUnits": 0.0},
        "GlobalSecondaryIndexes": {"by-genre": {"CapacityUnits": 0.5}},
    }


def test_a_scan_of_a_provisioned_table_costs_what_it_read(music: World) -> None:
    music.put(sized(5))
    assert units(music, "Scan", ConsistentRead=True) == 2
    assert units(music, "Scan") == 1


def test_a_scan_of_an_on_demand_table_costs_for_each_of_its_four_partitions(world: World) -> None:
    world.create("artist")
    assert units(world, "Scan", ConsistentRead=True) == 4
    assert units(world, "Scan") == 2
    assert units(world, "Scan", Segment=0, TotalSegments=4) == 0.5


def test_pages_of_a_scan_cost_for_the_partitions_they_visit(world: World) -> None:
    world.create("artist")
    for number in range(40):
        world.put(text(artist=str(number)))
    first = world.call("Scan", TableName="Music", Limit=1, ReturnConsumedCapacity="TOTAL", ConsistentRead=True)
    assert first["ConsumedCapacity"]["CapacityUnits"] == 1
    assert units(world, "Scan", ExclusiveStartKey=first["LastEvaluatedKey"], ConsistentRead=True) == 4


@given(st.integers(1, 16), st.data())
def test_a_segment_lies_in_as_many_partitions_as_it_meets(total: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, total - 1))
    start, end = segment_range(number, total)
    expected = sum(1 for part in range(4) if part * total < (number + 1) * 4 and number * 4 < (part + 1) * total)
    assert count_partitions(start, end, 4) == expected


def test_a_batch_tells_the_units_of_each_table(music: World) -> None:
    music.create("id", name="Labels")
    writes = {"Music": [{"PutRequest": {"Item": sized(2)}}], "Labels": [{"PutRequest": {"Item": text(id="a")}}]}
    assert units(music, "BatchWriteItem", RequestItems=writes) == [
        {"TableName": "Music", "CapacityUnits": 2.0},
        {"TableName": "Labels", "CapacityUnits": 1.0},
    ]
    gets = {"Music": {"Keys": [KEY], "ConsistentRead": True}, "Labels": {"Keys": [text(id="a"), text(id="b")]}}
    assert units(music, "BatchGetItem", RequestItems=gets) == [
        {"TableName": "Music", "CapacityUnits": 1.0},
        {"TableName": "Labels", "CapacityUnits": 1.0},
    ]


def test_a_transaction_costs_twice(music: World) -> None:
    put = {"Put": {"TableName": "Music", "Item": sized(2)}}
    assert units(music, "TransactWriteItems", TransactItems=[put]) == [
        {"TableName": "Music", "CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}
    ]
    get = {"Get": {"TableName": "Music", "Key": KEY}}
    assert units(music, "TransactGetItems", TransactItems=[get]) == [{"TableName": "Music", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]


def told(units: float, kind: str) -> dict[str, float]:
    """Units of a transaction, which are told twice."""
    return {"CapacityUnits": units, f"{kind}CapacityUnits": units}


def test_a_transaction_costs_its_table_twice_and_its_indexes_once(music: World) -> None:
    put = {"Put": {"TableName": "Music", "Item": sized(3, genre="jazz", year="1965")}}
    assert units(music, "TransactWriteItems", mode="INDEXES", TransactItems=[put]) == [
        {
            "TableName": "Music",
            **told(10.0, "Write"),
            "Table": told(6.0, "Write"),
            "LocalSecondaryIndexes": {"by-year": told(1.0, "Write")},
            "GlobalSecondaryIndexes": {"by-genre": told(3.0, "Write")},
        }
    ]


@pytest.mark.parametrize("kind", ["Delete", "ConditionCheck"])
def test_an_action_with_only_a_key_is_charged_for_the_item_it_finds(music: World, kind: str) -> None:
    music.put(sized(3))
    action: dict[str, Any] = {"TableName": "Music", "Key": KEY}
    if kind == "ConditionCheck":
        action["ConditionExpression"] = "attribute_exists(artist)"
    assert units(music, "TransactWriteItems", TransactItems=[{kind: action}]) == [{"TableName": "Music", **told(6.0, "Write")}]


def test_a_repeated_transaction_costs_what_reading_its_items_does(music: World) -> None:
    music.put(sized(9))
    delete: dict[str, Any] = {"TransactItems": [{"Delete": {"TableName": "Music", "Key": KEY}}], "ClientRequestToken": "t"}
    assert units(music, "TransactWriteItems", **delete) == [{"TableName": "Music", **told(18.0, "Write")}]
    assert units(music, "TransactWriteItems", mode="INDEXES", **delete) == [
        {"TableName": "Music", **told(6.0, "Read"), "Table": told(6.0, "Read")}
    ]
    assert "ConsumedCapacity" not in music.call("TransactWriteItems", **delete)
