import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.engine import expiry
from gateleg.engine.maintenance import SWEEP_CHUNK
from tests.engine.operations.requests import index
from tests.engine.operations.test_streams import arn, records
from tests.engine.world import START, World, stream, text

YEAR = 365.25 * 86400


@pytest.fixture
def music(world: World) -> World:
    world.create("a")
    world.expire_by("t")
    return world


def put(world: World, key: str, expires: float | str) -> None:
    world.put({"a": {"S": key}, "t": {"N": str(expires)}})


def keys(world: World) -> str:
    return "".join(item["a"]["S"] for item in world.items())


def test_an_expired_item_is_visible_until_it_is_swept(music: World) -> None:
    put(music, "x", START - 1)
    assert keys(music) == "x"
    music.engine.maintain()
    assert keys(music) == ""


def test_an_item_goes_when_its_time_is_past(music: World) -> None:
    put(music, "x", START + 10)
    music.now += 10
    music.engine.maintain()
    assert keys(music) == "x"
    music.now += 1
    music.engine.maintain()
    assert keys(music) == ""


@pytest.mark.parametrize("value", [{"S": "1"}, {"NULL": True}, {"M": {"N": {"N": "1"}}}, {"L": [{"N": "1"}]}, {"NS": ["1"]}])
def test_an_attribute_that_is_no_number_does_not_expire(music: World, value: dict[str, object]) -> None:
    music.put({"a": {"S": "x"}, "t": value})
    music.put(text(a="y"))
    music.engine.maintain()
    assert keys(music) == "xy"


def test_an_item_of_long_ago_stays(music: World) -> None:
    put(music, "x", int(START - 5 * YEAR) - 1)
    put(music, "y", int(START - 5 * YEAR) + 1)
    music.engine.maintain()
    assert keys(music) == "x"


@pytest.mark.parametrize("expires", ["1699999999.5", "16999999.99e2", "1.699999999E9"])
def test_all_ways_to_write_a_number_expire(music: World, expires: str) -> None:
    put(music, "x", expires)
    music.engine.maintain()
    assert keys(music) == ""


def test_an_item_whose_time_was_put_off_stays(music: World) -> None:
    put(music, "x", START - 1)
    put(music, "x", START + 100)
    music.engine.maintain()
    assert keys(music) == "x"


def test_items_from_before_expiry_was_switched_on_expire(world: World) -> None:
    world.create("a")
    put(world, "x", START - 1)
    world.engine.maintain()
    assert keys(world) == "x"
    world.expire_by("t")
    world.engine.maintain()
    assert keys(world) == ""


def test_nothing_expires_once_it_is_switched_off(music: World) -> None:
    put(music, "x", START - 1)
    music.expire_by(None)
    music.engine.maintain()
    assert keys(music) == "x"


def test_another_attribute_can_be_named_afterwards(music: World) -> None:
    put(music, "x", START - 1)
    music.expire_by(None)
    music.expire_by("u")
    music.engine.maintain()
    assert keys(music) == "x"


def test_more_items_than_one_chunk_expire_in_one_round(music: World) -> None:
    for number in range(SWEEP_CHUNK + 1):
        put(music, f"{number:04d}", START - 1)
    music.engine.maintain()
    assert keys(music) == ""


def test_an_expired_item_leaves_its_indexes(world: World) -> None:
    world.create("a", defined=["a", "b"], GlobalSecondaryIndexes=[index("by-b", "b")])
    world.expire_by("t")
    world.put({**text(a="x", b="1"), "t": {"N": str(START - 1)}})
    world.engine.maintain()
    assert world.items(IndexName="by-b") == []


def test_the_service_is_named_in_the_record_of_an_expiry(world: World) -> None:
    world.create("a", **stream())
    world.expire_by("t")
    put(world, "x", START - 1)
    put(world, "y", START - 1)
    world.delete(text(a="y"))
    world.engine.maintain()
    by = {r["dynamodb"]["Keys"]["a"]["S"]: r.get("userIdentity") for r in records(world, arn(world)) if r["eventName"] == "REMOVE"}
    assert by == {"x": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, "y": None}


def test_expiry_by_the_key_works(world: World) -> None:
    world.create("t:N")
    world.expire_by("t")
    world.put({"t": {"N": str(int(START - 1))}})
    world.put({"t": {"N": str(int(START + 1))}})
    world.engine.maintain()
    assert world.items() == [{"t": {"N": str(int(START + 1))}}]


def test_looking_for_expired_items_reads_no_others(music: World) -> None:
    layout = music.engine.catalog.known()[0]
    moment = expiry._moment("t")
    plan = music.engine.database.rows(
        f"EXPLAIN QUERY PLAN SELECT k FROM {layout.name} WHERE {moment} < 5 AND {moment} >= 1 ORDER BY {moment} LIMIT 1"
    )
    assert plan[0][3].startswith(f"SEARCH {layout.name} USING INDEX expiry_{layout.table.id}")
    assert len(plan) == 1


@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda name: name != "a"))
def test_any_attribute_can_hold_the_time(name: str) -> None:
    world = World()
    world.create("a")
    world.expire_by(name)
    world.put({"a": {"S": "x"}, name: {"N": str(int(START - 1))}})
    world.put({"a": {"S": "y"}, name: {"N": str(int(START + 1))}})
    world.engine.maintain()
    left = world.items()
    world.engine.close()
    assert left == [{"a": {"S": "y"}, name: {"N": str(int(START + 1))}}]
