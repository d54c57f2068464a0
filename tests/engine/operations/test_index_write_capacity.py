"""What writes cost in indexes; the figures are those of DynamoDB itself."""

from typing import Any

import pytest

from gateleg.engine.engine import Engine
from tests.engine.operations.requests import index, table

KEY = {"band": {"S": "Low"}, "song": {"S": "1"}}
HELD = {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["held"]}}


@pytest.fixture
def songs(engine: Engine) -> Engine:
    """Songs with a global and a local index that hold one attribute beside the keys."""
    request = table(
        *("band", "song"),
        name="Songs",
        defined=["band", "song", "genre", "mood"],
        GlobalSecondaryIndexes=[{**index("genres", "genre"), **HELD}],
        LocalSecondaryIndexes=[{**index("moods", "band", "mood"), **HELD}],
    )
    engine.call("CreateTable", request)
    return engine


def song(**values: str) -> dict[str, Any]:
    """A song with some texts."""
    return {**KEY, **{name: {"S": value} for name, value in values.items()}}


def cost(engine: Engine, operation: str, **request: Any) -> tuple[float | None, float | None, float | None]:
    """What a write costs in the table, in the global and in the local index; None where it is not told."""
    consumed = engine.call(operation, {"TableName": "Songs", "ReturnConsumedCapacity": "INDEXES", **request})["ConsumedCapacity"]
    found = (
        consumed["Table"]["CapacityUnits"],
        consumed.get("GlobalSecondaryIndexes", {}).get("genres", {}).get("CapacityUnits"),
        consumed.get("LocalSecondaryIndexes", {}).get("moods", {}).get("CapacityUnits"),
    )
    assert consumed["CapacityUnits"] == sum(units for units in found if units is not None)
    return found


def put(engine: Engine, item: dict[str, Any]) -> tuple[float | None, float | None, float | None]:
    return cost(engine, "PutItem", Item=item)


def update(engine: Engine, **values: str) -> tuple[float | None, float | None, float | None]:
    return cost(engine, "UpdateItem", Key=KEY, AttributeUpdates={name: {"Value": {"S": value}} for name, value in values.items()})


def test_an_item_is_paid_for_in_the_indexes_that_hold_it(songs: Engine) -> None:
    assert put(songs, song(genre="g")) == (1, 1, None)
    assert put(songs, song(genre="g", mood="m")) == (1, None, 1)
    assert put(songs, song()) == (1, 1, 1)


def test_the_same_item_again_costs_nothing_in_indexes(songs: Engine) -> None:
    put(songs, song(genre="g", mood="m", held="h"))
    assert put(songs, song(held="h", mood="m", genre="g")) == (1, None, None)


def test_a_set_in_another_order_is_the_same(songs: Engine) -> None:
    put(songs, {**song(genre="g", mood="m"), "held": {"SS": ["a", "b", "c"]}})
    assert put(songs, {**song(genre="g", mood="m"), "held": {"SS": ["c", "a", "b"]}}) == (1, None, None)
    assert put(songs, {**song(genre="g", mood="m"), "held": {"SS": ["c", "a", "x"]}}) == (1, 1, 1)


def test_numbers_of_a_set_in_another_order_and_inside_a_map_are_the_same(songs: Engine) -> None:
    put(songs, {**song(genre="g"), "held": {"M": {"n": {"L": [{"NS": ["1", "2"]}]}}}})
    assert put(songs, {**song(genre="g"), "held": {"M": {"n": {"L": [{"NS": ["2.0", "1"]}]}}}}) == (1, None, None)


def test_an_attribute_that_an_index_does_not_hold_costs_nothing_there(songs: Engine) -> None:
    put(songs, song(genre="g", mood="m"))
    assert update(songs, other="o") == (1, None, None)
    assert update(songs, held="h") == (1, 1, 1)


def test_an_entry_is_sized_without_what_it_does_not_hold(songs: Engine) -> None:
    assert put(songs, song(genre="g", other="x" * 3000)) == (3, 1, None)


@pytest.mark.parametrize(("before", "after", "units"), [(3000, 1, 3), (1, 3000, 3), (1500, 1501, 2)])
def test_an_entry_that_stays_in_place_costs_the_larger_of_both(songs: Engine, before: int, after: int, units: int) -> None:
    put(songs, song(genre="g", mood="m", held="x" * before))
    assert update(songs, held="x" * after) == (units, units, units)


def test_an_entry_that_moves_costs_both_of_its_places(songs: Engine) -> None:
    put(songs, song(genre="g", held="x" * 1500))
    assert update(songs, genre="h") == (2, 4, None)
    assert update(songs, genre="i", held="x") == (2, 3, None)


def test_a_move_in_the_local_index_costs_both_of_its_places(songs: Engine) -> None:
    put(songs, song(mood="m", held="x" * 3000))
    assert update(songs, mood="n", held="x") == (3, None, 4)


def test_leaving_an_index_costs_the_entry_that_was(songs: Engine) -> None:
    put(songs, song(genre="g", held="x" * 3000))
    assert cost(songs, "UpdateItem", Key=KEY, AttributeUpdates={"genre": {"Action": "DELETE"}}) == (3, 3, None)
    put(songs, song(genre="g", held="x" * 3000))
    assert cost(songs, "DeleteItem", Key=KEY) == (3, 3, None)


def test_a_set_in_another_order_leaves_no_record_in_the_stream(engine: Engine) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    arn = engine.call("CreateTable", table("band", "song", name="Songs", StreamSpecification=stream))["TableDescription"]["LatestStreamArn"]
    for members in (["a", "b"], ["b", "a"], ["b", "c"]):
        engine.call("PutItem", {"TableName": "Songs", "Item": {**KEY, "held": {"SS": members}}})
    shard = engine.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]["ShardId"]
    place = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = engine.call("GetShardIterator", place)["ShardIterator"]
    records = engine.call("GetRecords", {"ShardIterator": iterator})["Records"]
    assert [record["dynamodb"]["NewImage"]["held"]["SS"] for record in records] == [["a", "b"], ["b", "c"]]
